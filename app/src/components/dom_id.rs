//! Ids for elements that refer to each other (`aria-describedby`, `for`, `popovertarget`).
//!
//! Only the reference matters, never the value: nothing looks an element up by such an id. The server's ids and those made later in
//! the browser have different first letters, since a page holds both. So an element with an id and the one that refers to it must be
//! made at the same time: what appears later, in the browser, cannot be referred to by what the server has rendered.

use leptos::prelude::*;

#[cfg(feature = "ssr")]
const SIDE: char = 's';
#[cfg(not(feature = "ssr"))]
const SIDE: char = 'b';

/// Counts the ids of one page.
#[derive(Debug, Clone, Copy)]
pub struct DomIds(StoredValue<u32>);

impl DomIds {
    /// Puts a fresh count into the context of the app.
    pub fn provide() {
        provide_context(Self(StoredValue::new(0)));
    }
}

/// An id that no other element of this page has.
///
/// # Panics
/// Outside of the app, where nobody has provided the count.
#[must_use]
pub fn dom_id() -> String {
    let DomIds(count) = expect_context();
    let next = count.try_update_value(|count| {
        *count += 1;
        *count
    });
    format!("{SIDE}{}", next.unwrap_or_default())
}
