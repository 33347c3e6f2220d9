//! Who depends on what: one revision a topic, and the topics that wait for the next round of telling.

use super::topic::{self, Topic};
use domain::event::{Event, EventKind};
use domain::ids::{MessageId, SessionId};
use leptos::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Revisions of the topics that some view has asked for.
#[derive(Debug, Default)]
pub struct Hub {
    revisions: BTreeMap<Topic, ArcRwSignal<u64>>,
    changed: BTreeSet<Topic>,
    messages: BTreeMap<SessionId, Changed>,
    last_id: Option<i64>,
}

/// What of a transcript changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changed {
    /// These messages, new or old.
    Messages(BTreeSet<MessageId>),
    /// Anything, as far as we know.
    Anything,
}

impl Hub {
    /// The revision of a topic.
    pub fn revision(&mut self, topic: Topic) -> ArcReadSignal<u64> {
        self.revisions.entry(topic).or_default().read_only()
    }

    /// The id of the newest event heard of; where to take the feed up again.
    #[must_use]
    pub const fn last_id(&self) -> Option<i64> {
        self.last_id
    }

    /// Starts the feed after this event.
    pub fn start_at(&mut self, id: i64) {
        self.last_id = Some(id);
    }

    /// Notes an event. Answers whether somebody shows what it is about; they are told by [`Self::tell`].
    pub fn note(&mut self, event: &Event) -> bool {
        if self.last_id.is_some_and(|last| event.id <= last) {
            return false;
        }
        self.last_id = Some(event.id);
        self.note_message(event);
        let shown = topic::of(event)
            .into_iter()
            .filter(|topic| self.revisions.contains_key(topic));
        let before = self.changed.len();
        self.changed.extend(shown);
        self.changed.len() > before
    }

    /// Notes that something happened that is in no event. Answers whether somebody shows it.
    pub fn note_topic(&mut self, topic: Topic) -> bool {
        self.revisions.contains_key(&topic) && self.changed.insert(topic)
    }

    /// Notes that anything may have changed: the feed had a gap.
    pub fn note_gap(&mut self) {
        self.changed.extend(self.revisions.keys());
        for topic in self.revisions.keys() {
            if let Topic::Transcript(session) = topic {
                self.messages.insert(*session, Changed::Anything);
            }
        }
    }

    /// What of a session's transcript changed since it was asked the last time, so that a streaming answer costs one message and not
    /// all of them.
    pub fn take_changed(&mut self, session: SessionId) -> Changed {
        self.messages
            .remove(&session)
            .unwrap_or(Changed::Messages(BTreeSet::new()))
    }

    fn note_message(&mut self, event: &Event) {
        let (EventKind::MessageAdded | EventKind::MessageUpdated, Some(session)) =
            (event.kind, event.session_id)
        else {
            return;
        };
        if !self.revisions.contains_key(&Topic::Transcript(session)) {
            return;
        }
        let changed = self
            .messages
            .entry(session)
            .or_insert(Changed::Messages(BTreeSet::new()));
        match (
            changed,
            event.subject_id.as_deref().and_then(|id| id.parse().ok()),
        ) {
            (Changed::Messages(ids), Some(id)) => {
                ids.insert(id);
            }
            (changed, None) => *changed = Changed::Anything,
            (Changed::Anything, Some(_)) => {}
        }
    }

    /// The signals to raise for all that was noted since the last time. Raise them when the hub is no longer borrowed: whoever is
    /// told may ask the hub for another topic.
    #[must_use]
    pub fn tell(&mut self) -> Vec<ArcRwSignal<u64>> {
        std::mem::take(&mut self.changed)
            .iter()
            .filter_map(|topic| self.revisions.get(topic).cloned())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::time::Timestamp;

    fn chunk(id: i64, session: SessionId) -> Event {
        Event {
            id,
            kind: EventKind::MessageUpdated,
            workspace_id: None,
            task_id: None,
            session_id: Some(session),
            subject_id: None,
            created_at: Timestamp::from_millis(id),
        }
    }

    fn raise(hub: &mut Hub) -> usize {
        let signals = hub.tell();
        signals.iter().for_each(|revision| *revision.write() += 1);
        signals.len()
    }

    #[test]
    fn a_burst_becomes_one_revision() {
        let owner = Owner::new();
        owner.set();
        let session = SessionId::new();
        let mut hub = Hub::default();
        let revision = hub.revision(Topic::Transcript(session));
        assert!(hub.note(&chunk(1, session)));
        assert!(!hub.note(&chunk(2, session)), "already waiting to be told");
        assert_eq!(raise(&mut hub), 1);
        assert_eq!(revision.get_untracked(), 1);
        assert_eq!(raise(&mut hub), 0);
    }

    #[test]
    fn replayed_events_are_heard_once_and_nobody_is_told_of_what_nobody_shows() {
        let owner = Owner::new();
        owner.set();
        let (shown, other) = (SessionId::new(), SessionId::new());
        let mut hub = Hub::default();
        let _revision = hub.revision(Topic::Transcript(shown));
        hub.start_at(5);
        assert!(!hub.note(&chunk(5, shown)));
        assert!(!hub.note(&chunk(6, other)));
        assert_eq!(hub.last_id(), Some(6));
        assert!(hub.note(&chunk(7, shown)));
    }

    #[test]
    fn a_transcript_is_told_which_messages_changed() {
        let owner = Owner::new();
        owner.set();
        let (session, message) = (SessionId::new(), MessageId::new());
        let mut hub = Hub::default();
        let _revision = hub.revision(Topic::Transcript(session));
        for id in 1..4 {
            hub.note(&Event {
                subject_id: Some(message.to_string()),
                ..chunk(id, session)
            });
        }
        assert_eq!(
            hub.take_changed(session),
            Changed::Messages(BTreeSet::from([message]))
        );
        assert_eq!(
            hub.take_changed(session),
            Changed::Messages(BTreeSet::new())
        );
        hub.note_gap();
        hub.note(&Event {
            subject_id: Some(message.to_string()),
            ..chunk(4, session)
        });
        assert_eq!(hub.take_changed(session), Changed::Anything);
    }

    #[test]
    fn jobs_are_told_of_without_an_event_when_somebody_shows_them() {
        let owner = Owner::new();
        owner.set();
        let mut hub = Hub::default();
        assert!(!hub.note_topic(Topic::Jobs));
        let revision = hub.revision(Topic::Jobs);
        assert!(hub.note_topic(Topic::Jobs));
        assert!(!hub.note_topic(Topic::Jobs), "already waiting to be told");
        assert_eq!(raise(&mut hub), 1);
        assert_eq!((revision.get_untracked(), hub.last_id()), (1, None));
    }

    #[test]
    fn a_gap_revises_everything_shown() {
        let owner = Owner::new();
        owner.set();
        let mut hub = Hub::default();
        let _both = (hub.revision(Topic::Setup), hub.revision(Topic::Attention));
        hub.note_gap();
        assert_eq!(raise(&mut hub), 2);
    }
}
