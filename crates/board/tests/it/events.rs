//! The feed of facts: in the order of commits, woken after them, with something to read for everything that changed.

use crate::world::{World, prompted, soon};
use board::{Actor, Settings, Topic};
use domain::event::EventKind;
use std::collections::HashSet;

store::on_both_engines! {
    async fn a_reader_misses_nothing_and_reads_in_order(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let (_, start) = board.events_bounds().await.unwrap();
        let reader = tokio::spawn({
            let board = board.clone();
            async move {
                let mut changes = board.signals().subscribe(Topic::Events);
                let mut read = Vec::new();
                let mut position = start;
                // The last of what is done below.
                while !read.contains(&EventKind::TaskDeleted) {
                    for event in board.events_since(&Actor::Operator, position).await.unwrap() {
                        assert!(event.id > position);
                        position = event.id;
                        read.push(event.kind);
                    }
                    if !read.contains(&EventKind::TaskDeleted) {
                        changes.changed().await.unwrap();
                    }
                }
                read
            }
        });
        let (parent, child, question) = world.waiting_family().await;
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        board.task_delete(&Actor::Operator, parent.task).await.unwrap();
        let read: HashSet<EventKind> = soon(reader).await.unwrap().into_iter().collect();
        for kind in [
            EventKind::TaskCreated,
            EventKind::TaskUpdated,
            EventKind::TaskStateChanged,
            EventKind::SessionStateChanged,
            EventKind::MessageAdded,
            EventKind::MessageUpdated,
            EventKind::TurnStarted,
            EventKind::TurnCompleted,
            EventKind::QueueChanged,
            EventKind::ParentQuestionChanged,
        ] {
            assert!(read.contains(&kind), "{kind}");
        }
    }

    async fn a_question_that_ends_is_news_to_child_and_parent(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        let (_, start) = world.board().events_bounds().await.unwrap();
        parent.reply(&child, question, "SQLite.").await.unwrap();
        let events = world.board().events_since(&Actor::Operator, start).await.unwrap();
        let concerned: HashSet<_> = events
            .iter()
            .filter(|e| e.kind == EventKind::ParentQuestionChanged)
            .filter_map(|e| e.task_id)
            .collect();
        assert_eq!(concerned, HashSet::from([parent.task, child.task]));
    }

    async fn a_lost_transaction_wakes_nobody_and_tells_nothing(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let bounds = board.events_bounds().await.unwrap();
        let changes = board.signals().subscribe(Topic::Events);
        let bad = domain::params::CreateTask { start_agent: Some(true), description: String::new(), ..prompted("Task") };
        assert!(world.create(bad).await.is_err());
        assert_eq!(board.events_bounds().await.unwrap(), bounds);
        assert!(!changes.has_changed().unwrap());
        world.create(prompted("Task")).await.unwrap();
        assert!(changes.has_changed().unwrap());
    }

    async fn old_events_are_dropped_and_positions_go_on(db: TestDb) {
        let world = World::new(db).await;
        world.create(prompted("Old")).await.unwrap();
        let (_, last) = world.board().events_bounds().await.unwrap();
        assert_eq!(world.board().events_prune().await.unwrap(), 0, "not old enough");
        world.clock.advance(Settings::default().events_kept_ms + 1);
        let dropped = world.board().events_prune().await.unwrap();
        assert!(dropped > 0);
        assert_eq!(world.board().events_bounds().await.unwrap(), (last, last));
        world.create(prompted("New")).await.unwrap();
        assert!(world.board().events_bounds().await.unwrap().1 > last);
    }
}
