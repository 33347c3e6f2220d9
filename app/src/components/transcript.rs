//! A conversation that grows while it is read.
//!
//! Each message has a signal of its own: a piece that an agent adds to its answer renders that one message again, and nothing else.
//! Whoever reads at the end stays at the end; whoever has scrolled up is left alone and offered the way down.

use super::button::{Button, Weight};
use super::glyph::Glyph;
use crate::i18n::{t, use_locale};
use leptos::html::Div;
use leptos::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;
use wasm_bindgen::JsCast;

/// Something with an id and a place in the transcript.
pub trait Entry: Clone + PartialEq + Send + Sync + 'static {
    /// What tells one from the others.
    type Id: Copy + Ord + Hash + Debug + Send + Sync + 'static;
    /// Its id.
    fn id(&self) -> Self::Id;
    /// Its place; grows.
    fn seq(&self) -> i64;
}

/// The messages of one conversation as signals.
#[derive(Debug)]
pub struct Transcript<T: Entry> {
    order: RwSignal<Vec<T::Id>>,
    entries: StoredValue<BTreeMap<T::Id, ArcRwSignal<T>>>,
}

impl<T: Entry> Clone for Transcript<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Entry> Copy for Transcript<T> {}

impl<T: Entry> Default for Transcript<T> {
    fn default() -> Self {
        Self {
            order: RwSignal::new(Vec::new()),
            entries: StoredValue::new(BTreeMap::new()),
        }
    }
}

impl<T: Entry> Transcript<T> {
    /// Takes in messages, new and changed ones in any order. Only what is different is told to anybody.
    pub fn merge(self, messages: Vec<T>) {
        let mut added = false;
        self.entries.update_value(|entries| {
            for message in messages {
                match entries.get(&message.id()) {
                    Some(known) => {
                        if known.with_untracked(|known| *known != message) {
                            known.set(message);
                        }
                    }
                    None => {
                        entries.insert(message.id(), ArcRwSignal::new(message));
                        added = true;
                    }
                }
            }
        });
        if added {
            self.order.set(self.sorted());
        }
    }

    /// As [`Self::merge`], for an answer that comes when the transcript may be gone with its page.
    pub fn try_merge(self, messages: Vec<T>) {
        if !self.entries.is_disposed() && !self.order.is_disposed() {
            self.merge(messages);
        }
    }

    /// Forgets everything.
    pub fn clear(self) {
        let _ = self.entries.try_update_value(BTreeMap::clear);
        let _ = self.order.try_set(Vec::new());
    }

    /// The first message, if there is one and the transcript is still there.
    #[must_use]
    pub fn first(self) -> Option<T::Id> {
        self.order
            .try_with_untracked(|order| order.first().copied())
            .flatten()
    }

    /// Whether the end of what is here and the beginning of `messages`, which are in order, leave no hole between them.
    #[must_use]
    pub fn joins(self, messages: &[T]) -> bool {
        let Some(first) = messages.first() else {
            return true;
        };
        self.entries
            .try_with_value(|entries| entries.contains_key(&first.id()))
            .unwrap_or(false)
    }

    /// The messages in order, as ids.
    #[must_use]
    pub fn ids(self) -> Vec<T::Id> {
        self.order.get()
    }

    /// One message.
    #[must_use]
    pub fn entry(self, id: T::Id) -> Option<ArcRwSignal<T>> {
        self.entries.with_value(|entries| entries.get(&id).cloned())
    }

    /// The highest place so far: from where to read on.
    #[must_use]
    pub fn last_seq(self) -> Option<i64> {
        self.entries.with_value(|entries| {
            entries
                .values()
                .map(|entry| entry.with_untracked(Entry::seq))
                .max()
        })
    }

    fn sorted(self) -> Vec<T::Id> {
        self.entries.with_value(|entries| {
            let mut places: Vec<(i64, T::Id)> = entries
                .iter()
                .map(|(id, entry)| (entry.with_untracked(Entry::seq), *id))
                .collect();
            places.sort_unstable();
            places.into_iter().map(|(_, id)| id).collect()
        })
    }
}

/// Within this distance of the end, in CSS pixels, the reader is at the end.
const AT_END: i32 = 48;
/// Within this distance of the beginning, earlier messages are wanted.
const NEAR_TOP: i32 = 200;

/// The scrolling column with the messages in it.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the macro hands properties over by value"
)]
#[component]
pub fn TranscriptList<T, F, V>(
    /// The messages.
    transcript: Transcript<T>,
    /// How one is shown.
    render: F,
    /// Somebody has scrolled up to the beginning.
    #[prop(optional)]
    on_top: Option<Callback<()>>,
    /// Stands before the first message.
    #[prop(optional, into)]
    head: ViewFn,
    /// Stands after the last message.
    #[prop(optional, into)]
    tail: ViewFn,
) -> impl IntoView
where
    T: Entry,
    F: Fn(ArcRwSignal<T>) -> V + Clone + Send + Sync + 'static,
    V: IntoView + 'static,
{
    let locale = use_locale();
    let column = NodeRef::<Div>::new();
    let at_end = RwSignal::new(true);
    let to_end = move || {
        if let Some(column) = column.get_untracked() {
            column.set_scroll_top(column.scroll_height());
        }
    };
    // After the messages are in the page, which a frame later they are.
    let follow = move || {
        if at_end.get_untracked() {
            request_animation_frame(to_end);
        }
    };
    let has_news = RwSignal::new(false);
    Effect::new(move |before: Option<Option<T::Id>>| {
        let last = transcript.order.with(|order| order.last().copied());
        if before.is_some_and(|before| before != last) && !at_end.get_untracked() {
            has_news.set(true);
        }
        follow();
        last
    });
    Effect::new(move |_| {
        if at_end.get() {
            has_news.set(false);
        }
    });

    view! {
        <div
            node_ref=column
            class="transcript"
            data-testid="chat-transcript"
            tabindex="0"
            role="log"
            aria-label=t!(locale, chat.transcript)
            on:scroll=move |_| {
                if let Some(column) = column.get_untracked() {
                    let left = column.scroll_height() - column.client_height() - column.scroll_top();
                    at_end.set(left <= AT_END);
                    if column.scroll_top() <= NEAR_TOP && let Some(on_top) = on_top {
                        on_top.run(());
                    }
                }
            }
        >
            {head.run()}
            <ol class="transcript-column">
                <For
                    each=move || transcript.ids()
                    key=|id| *id
                    children=move |id| {
                        let shown = transcript.entry(id).map(|entry| {
                            let grown = entry.clone();
                            Effect::new(move |_| {
                                grown.track();
                                follow();
                            });
                            render(entry)
                        });
                        view! { <li>{shown}</li> }
                    }
                />
            </ol>
            {tail.run()}
            <Show when=move || !at_end.get()>
                <div class="transcript-end">
                    <Button weight=Weight::Plain glyph=Glyph::ChevronDown on_press=Callback::new(move |()| to_end())>
                        {move || if has_news.get() { t!(locale, chat.new_messages) } else { t!(locale, chat.to_end) }}
                    </Button>
                </div>
            </Show>
        </div>
    }
    .into_any()
}

/// Where on the screen the first message stands.
#[derive(Debug)]
pub struct Place {
    message: web_sys::Element,
    top: f64,
}

impl Place {
    /// Where it stands now; `None` when there is none.
    #[must_use]
    pub fn note() -> Option<Self> {
        let message = document()
            .query_selector(".transcript-column > li")
            .ok()??;
        let top = message.get_bounding_client_rect().top();
        Some(Self { message, top })
    }

    /// Scrolls by as much as the message was moved. Browsers that did so themselves have nothing left to do.
    pub fn restore(self) {
        let moved = self.message.get_bounding_client_rect().top() - self.top;
        if let Ok(Some(column)) = self.message.closest(".transcript")
            && let Some(column) = column.dyn_ref::<web_sys::Element>()
        {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a distance on the screen, in whole pixels"
            )]
            column.set_scroll_top(column.scroll_top() + moved.round() as i32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ids::MessageId;

    #[derive(Debug, Clone, PartialEq)]
    struct Line(MessageId, i64, &'static str);

    impl Entry for Line {
        type Id = MessageId;
        fn id(&self) -> MessageId {
            self.0
        }
        fn seq(&self) -> i64 {
            self.1
        }
    }

    #[test]
    fn a_piece_of_an_answer_touches_its_own_message_only() {
        let owner = Owner::new();
        owner.set();
        let (a, b) = (MessageId::new(), MessageId::new());
        let transcript = Transcript::<Line>::default();
        transcript.merge(vec![Line(b, 2, "b"), Line(a, 1, "a")]);
        assert_eq!(transcript.order.get_untracked(), [a, b]);
        assert_eq!(transcript.last_seq(), Some(2));

        let order_runs = counting(move || transcript.order.track());
        let first = transcript.entry(a).unwrap();
        let a_runs = counting(move || first.track());
        transcript.merge(vec![Line(a, 1, "a"), Line(b, 2, "b and more")]);
        assert_eq!((order_runs(), a_runs()), (1, 1));
        assert_eq!(transcript.entry(b).unwrap().get_untracked().2, "b and more");

        let c = MessageId::new();
        transcript.merge(vec![Line(c, 3, "c")]);
        assert_eq!((order_runs(), a_runs()), (2, 1));
        assert_eq!(transcript.first(), Some(a));
        assert!(transcript.joins(&[Line(c, 3, "c")]));
        assert!(!transcript.joins(&[Line(MessageId::new(), 9, "after a hole")]));
        transcript.clear();
        assert_eq!(order_runs(), 3);
    }

    /// How often something that reads with `track` would have run by now.
    fn counting(track: impl Fn() + Send + Sync + 'static) -> impl Fn() -> usize {
        let memo = Memo::new(move |runs: Option<&usize>| {
            track();
            runs.map_or(1, |runs| runs + 1)
        });
        move || memo.get_untracked()
    }
}
