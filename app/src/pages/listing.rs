//! A list that is paged and kept current: which rows there are, in which order, and when they are read again. The address holds what is
//! asked for, so that it can be linked to and needs no script. A list under the pointer keeps its order until the pointer leaves.

use crate::error::AppError;
use crate::live::{Topic, use_live};
use leptos::prelude::*;
use leptos::task::spawn_local;
use leptos_router::hooks::use_query_map;
use leptos_router::params::ParamsMap;
use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

/// Rows of one reading.
const PAGE: i64 = 50;
/// Rows that are read again at once; what was added below them stays as it was read.
const MOST: i64 = 200;
/// How long to wait after a read that failed.
const AGAIN: Duration = Duration::from_secs(3);
/// How long to wait where it is about words that come many times a second.
const SOON: Duration = Duration::from_secs(1);

/// What can be listed.
pub(super) trait Rows: 'static {
    /// What of it is asked for.
    type Asked: Clone + Default + PartialEq + Send + Sync + 'static;
    /// By which a row is known.
    type Key: Copy + Ord + Send + Sync + 'static;
    /// A row.
    type Row: Clone + PartialEq + Send + Sync + 'static;
    /// Where a page ended.
    type Cursor: Clone + PartialEq + Send + Sync + 'static;

    /// What says that rows changed.
    const TOPIC: Topic;

    /// What the address asks for.
    fn asked(query: &ParamsMap) -> Self::Asked;
    /// By what this row is known.
    fn key(row: &Self::Row) -> Self::Key;
    /// Reads a page of so many rows, after a cursor.
    fn read(
        asked: Self::Asked,
        cursor: Option<Self::Cursor>,
        limit: i64,
    ) -> impl Future<Output = Result<Page<Self>, AppError>>;
}

/// Rows, and where the next page begins.
pub(super) type Page<L> = (Vec<<L as Rows>::Row>, Option<<L as Rows>::Cursor>);

/// A list as it is shown.
pub(super) struct Listing<L: Rows> {
    pub(super) asked: Memo<L::Asked>,
    pub(super) order: RwSignal<Vec<L::Key>>,
    pub(super) next: RwSignal<Option<L::Cursor>>,
    pub(super) failure: RwSignal<Option<AppError>>,
    pub(super) reading: RwSignal<bool>,
    rows: StoredValue<BTreeMap<L::Key, ArcRwSignal<L::Row>>>,
    /// Where they belong, once the pointer has left.
    due: StoredValue<Option<Vec<L::Key>>>,
    pointed_at: StoredValue<bool>,
    again: StoredValue<bool>,
    /// A read is on its way.
    soon: StoredValue<bool>,
}

impl<L: Rows> Clone for Listing<L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L: Rows> Copy for Listing<L> {}

impl<L: Rows> Listing<L> {
    /// A list that begins with this page, and is read again when its topic changes or the address asks for something else.
    pub(super) fn open(first: Page<L>) -> Self {
        let query = use_query_map();
        let listing = Self {
            asked: Memo::new(move |_| query.with(L::asked)),
            order: RwSignal::new(Vec::new()),
            next: RwSignal::new(None),
            failure: RwSignal::new(None),
            reading: RwSignal::new(false),
            rows: StoredValue::new(BTreeMap::new()),
            due: StoredValue::new(None),
            pointed_at: StoredValue::new(false),
            again: StoredValue::new(false),
            soon: StoredValue::new(false),
        };
        listing.take(first, true);
        let live = use_live();
        Effect::new(move |before: Option<(L::Asked, u64)>| {
            let now = (listing.asked.get(), live.revision(L::TOPIC));
            if let Some((asked, revision)) = &before {
                if *asked != now.0 {
                    // Other rows: what is pointed at is not worth keeping.
                    listing.pointed_at.set_value(false);
                    listing.read();
                } else if *revision != now.1 {
                    listing.read();
                }
            }
            now
        });
        listing
    }

    /// A row, to be read as it changes.
    pub(super) fn row(self, key: L::Key) -> Option<ArcRwSignal<L::Row>> {
        self.rows.with_value(|rows| rows.get(&key).cloned())
    }

    /// Whether only some of the rows are asked for.
    pub(super) fn is_filtered(self) -> bool {
        self.asked.with(|asked| *asked != L::Asked::default())
    }

    /// The pointer is over the list.
    pub(super) fn point_at(self) {
        self.pointed_at.set_value(true);
    }

    /// The pointer has left.
    pub(super) fn settle(self) {
        self.pointed_at.set_value(false);
        if let Some(order) = self.due.try_update_value(Option::take).flatten() {
            self.order.set(order);
        }
    }

    /// Takes rows over: those that are there are told what changed, the order follows unless it is pointed at.
    fn take(self, (page, next): Page<L>, whole: bool) {
        let mut order: Vec<L::Key> = page.iter().map(L::key).collect();
        let known = self.rows.try_update_value(|rows| {
            for row in page {
                match rows.get(&L::key(&row)) {
                    Some(known) => {
                        if known.with_untracked(|known| *known != row) {
                            known.set(row);
                        }
                    }
                    None => {
                        rows.insert(L::key(&row), ArcRwSignal::new(row));
                    }
                }
            }
        });
        if known.is_none() {
            return;
        }
        let shown = self.order.get_untracked();
        if !whole {
            let fresh: Vec<L::Key> = shown
                .iter()
                .copied()
                .filter(|key| !order.contains(key))
                .collect();
            order.splice(0..0, fresh);
        }
        self.next.set(next);
        if self.pointed_at.get_value() && whole && !shown.is_empty() {
            self.due.set_value(Some(order));
        } else if shown != order {
            self.order.set(order);
        }
    }

    /// Reads again as many rows as are shown.
    pub(super) fn read(self) {
        if self.reading.get_untracked() {
            self.again.set_value(true);
            return;
        }
        self.reading.set(true);
        let asked = self.asked.get_untracked();
        let shown = i64::try_from(self.order.with_untracked(Vec::len)).unwrap_or(MOST);
        spawn_local(async move {
            let read = L::read(asked.clone(), None, shown.clamp(PAGE, MOST)).await;
            let still = self.asked.try_with_untracked(|now| *now == asked);
            match read {
                Ok(page) if still == Some(true) => {
                    self.failure.set(None);
                    self.take(page, true);
                }
                Ok(_) => {}
                Err(error) => {
                    let _ = self.failure.try_set(Some(error));
                    set_timeout(move || self.read_if_there(), AGAIN);
                }
            }
            let _ = self.reading.try_set(false);
            if self.again.try_update_value(std::mem::take) == Some(true) {
                self.read_if_there();
            }
        });
    }

    /// Reads again in a moment, however often this is asked for until then.
    pub(super) fn read_soon(self) {
        if self
            .soon
            .try_update_value(|soon| std::mem::replace(soon, true))
            != Some(false)
        {
            return;
        }
        set_timeout(
            move || {
                let _ = self.soon.try_set_value(false);
                self.read_if_there();
            },
            SOON,
        );
    }

    fn read_if_there(self) {
        if !self.reading.is_disposed() {
            self.read();
        }
    }

    /// Reads the next page.
    pub(super) fn more(self) {
        let cursor = self.next.get_untracked();
        if cursor.is_none() || self.reading.get_untracked() {
            return;
        }
        self.reading.set(true);
        let asked = self.asked.get_untracked();
        spawn_local(async move {
            match L::read(asked, cursor, PAGE).await {
                Ok(page) if !self.reading.is_disposed() => self.take(page, false),
                Ok(_) => {}
                Err(error) => {
                    let _ = self.failure.try_set(Some(error));
                }
            }
            let _ = self.reading.try_set(false);
        });
    }
}

/// The address of a list with these parts of a query; those that are empty are left out.
pub(super) fn address(
    path: &str,
    pairs: impl IntoIterator<Item = (&'static str, Option<String>)>,
) -> String {
    let query: Vec<String> = pairs
        .into_iter()
        .filter_map(|(name, value)| {
            let value = value?.trim().to_owned();
            (!value.is_empty())
                .then(|| format!("{name}={}", leptos_router::location::Url::escape(&value)))
        })
        .collect();
    if query.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", query.join("&"))
    }
}
