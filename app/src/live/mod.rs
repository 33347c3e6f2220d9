//! Live updates: the event feed says what changed, whoever shows it reads it again.
//!
//! A view asks for the [`Topic`]s it depends on and puts their revision into the source of its resource:
//!
//! ```ignore
//! let live = use_live();
//! let task = Resource::new(move || live.revision(Topic::Task(id)), move |_| api::task(id));
//! ```
//!
//! Events carry no data, so losing or repeating one costs a read and nothing else. A burst of events becomes one revision.
//! After a lost connection the feed is taken up where it broke off; if it cannot be, every topic is revised once.

mod hub;
pub mod job;
mod link;
mod source;
mod tabs;
mod topic;

pub use hub::{Changed, Hub};
pub use link::Link;
pub use topic::Topic;

use domain::ids::SessionId;
use leptos::prelude::*;

/// Position in the event log that the page was rendered at, at the latest. The server reads it before it reads anything else
/// for the page and puts it into the context, so that no event falls between the rendering and the feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveCursor(pub i64);

/// The page's live connection.
#[derive(Debug, Clone, Copy)]
pub struct Live {
    hub: StoredValue<Hub>,
    link: RwSignal<Link>,
}

impl Live {
    /// Puts the live connection into the context of the app and opens it in the browser.
    pub fn provide() {
        let live = Self {
            hub: StoredValue::new(Hub::default()),
            link: RwSignal::new(Link::Opening),
        };
        provide_context(live);
        Effect::new(move |_| source::open(live));
    }

    /// Number that grows when something under the topic changed. Reading it subscribes to the topic.
    #[must_use]
    pub fn revision(self, topic: Topic) -> u64 {
        self.hub
            .try_update_value(|hub| hub.revision(topic))
            .map_or(0, |revision| revision.get())
    }

    /// What of a session's transcript changed since this was asked the last time.
    #[must_use]
    pub fn take_changed(self, session: SessionId) -> Changed {
        self.hub
            .try_update_value(|hub| hub.take_changed(session))
            .unwrap_or(Changed::Anything)
    }

    /// How the connection stands.
    #[must_use]
    pub fn link(self) -> Link {
        self.link.get()
    }

    /// For showing the states of the connection where there is none.
    #[cfg(feature = "gallery")]
    pub fn pretend(self, link: Link) {
        self.link.set(link);
    }
}

/// The page's live connection.
///
/// # Panics
/// Outside of the app, where nobody has provided it.
#[must_use]
pub fn use_live() -> Live {
    expect_context()
}
