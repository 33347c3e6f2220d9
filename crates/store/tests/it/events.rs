use crate::world::{World, at, read, write};
use domain::event::{Event, EventKind, NewEvent};
use domain::ids::{SessionId, TaskId};
use std::collections::BTreeSet;
use std::time::Duration;
use store::Store;
use store::events::{append, bounds, prune, since};

async fn after(store: &Store, position: i64, limit: i64) -> Vec<Event> {
    read(store, async |db| since(db, position, limit).await).await
}

async fn log(store: &Store, millis: i64) -> i64 {
    write(store, async |tx| {
        append(tx, &NewEvent::new(EventKind::TaskUpdated), at(millis)).await
    })
    .await
    .unwrap()
}

store::on_both_engines! {
    async fn an_event_is_read_as_it_was_appended(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = (TaskId::new(), SessionId::new());
        let mut expected = Vec::new();
        for (number, kind) in EventKind::ALL.iter().enumerate() {
            let new = match number % 2 {
                0 => NewEvent::new(*kind),
                _ => NewEvent::new(*kind).workspace(world.workspace.id).task(task).session(session).subject("ü"),
            };
            let created_at = at(i64::try_from(number).unwrap());
            let id = write(&db.store, async |tx| append(tx, &new, created_at).await).await.unwrap();
            expected.push(Event {
                id,
                kind: new.kind,
                workspace_id: new.workspace_id,
                task_id: new.task_id,
                session_id: new.session_id,
                subject_id: new.subject_id,
                created_at,
            });
        }
        assert!(expected.is_sorted_by(|a, b| a.id < b.id));
        assert_eq!(after(&db.store, 0, 1_000).await, expected);
        assert_eq!(after(&db.store, expected[3].id, 2).await, expected[4..6]);
        let last = expected.len() - 1;
        assert!(after(&db.store, expected[last].id, 10).await.is_empty());
        let ends = read(&db.store, async |db| bounds(db).await).await;
        assert_eq!(ends, (expected[0].id, expected[last].id));
    }

    async fn an_empty_log_has_zero_bounds(db: TestDb) {
        assert_eq!(read(&db.store, async |db| bounds(db).await).await, (0, 0));
        assert_eq!(write(&db.store, async |tx| prune(tx, at(1)).await).await.unwrap(), 0);
        assert!(after(&db.store, 0, 10).await.is_empty());
    }

    async fn pruning_keeps_the_newest_so_that_positions_go_on(mut db: TestDb) {
        let first = log(&db.store, 1).await;
        log(&db.store, 2).await;
        let last = log(&db.store, 3).await;
        assert_eq!(write(&db.store, async |tx| prune(tx, at(2)).await).await.unwrap(), 1);
        assert_eq!(read(&db.store, async |db| bounds(db).await).await, (first + 1, last));
        assert_eq!(write(&db.store, async |tx| prune(tx, at(100)).await).await.unwrap(), 1);
        assert_eq!(read(&db.store, async |db| bounds(db).await).await, (last, last));
        db.reopen().await;
        assert!(log(&db.store, 4).await > last);
    }

    async fn a_reader_misses_nothing_while_eight_writers_commit(db: TestDb) {
        const WRITERS: i64 = 8;
        const EACH: i64 = 25;
        let another = db.open_again().await;
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let store = if writer % 2 == 0 { db.store.clone() } else { another.clone() };
                tokio::spawn(async move {
                    let mut committed = Vec::new();
                    for number in 0..EACH {
                        let mut tx = store.write().await.unwrap();
                        let event = NewEvent::new(EventKind::TaskUpdated).subject(format!("{writer}/{number}"));
                        let mut ids = vec![append(&mut tx, &event, at(number)).await.unwrap()];
                        if number % 3 == 0 {
                            ids.push(append(&mut tx, &event, at(number)).await.unwrap());
                        }
                        // Some stay open longer than others: who appends first must not commit last.
                        for _ in 0..(writer * 7 + number) % 4 {
                            bounds(&mut tx).await.unwrap();
                        }
                        // Every fifth transaction ends in nothing and may leave a gap.
                        if number % 5 != 4 {
                            tx.commit().await.unwrap();
                            committed.extend(ids);
                        }
                    }
                    committed
                })
            })
            .collect();

        // Reads on until it has seen the mark that is set after the writers are done.
        let reader = {
            let store = db.store.clone();
            tokio::spawn(async move {
                let mut seen: Vec<i64> = Vec::new();
                loop {
                    let position = seen.last().copied().unwrap_or(0);
                    for event in after(&store, position, 7).await {
                        seen.push(event.id);
                        if event.kind == EventKind::WorkspaceUpdated {
                            return seen;
                        }
                    }
                    tokio::task::yield_now().await;
                }
            })
        };

        let mut committed = BTreeSet::new();
        for writer in writers {
            committed.extend(writer.await.unwrap());
        }
        let mark = write(&db.store, async |tx| append(tx, &NewEvent::new(EventKind::WorkspaceUpdated), at(0)).await);
        committed.insert(mark.await.unwrap());
        let seen = tokio::time::timeout(Duration::from_secs(60), reader).await.unwrap().unwrap();
        assert!(seen.is_sorted_by(|a, b| a < b), "the log only grows at its end");
        assert_eq!(seen, committed.into_iter().collect::<Vec<_>>());
    }
}
