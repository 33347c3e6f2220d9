use crate::world::{World, execute, read, workspace, write};
use domain::task::Task;
use std::slice::from_ref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::{Engine, StoreError, Write, tasks, workspaces};
use tokio::sync::oneshot;

/// Longer than anything here takes; a test that waits so long has hung.
const LIMIT: Duration = Duration::from_secs(20);

store::on_both_engines! {
    async fn writers_take_turns_and_read_nothing_stale(db: TestDb) {
        const WRITERS: i64 = 8;
        const EACH: i64 = 10;
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let another = db.open_again().await;
        let inside = Arc::new(AtomicBool::new(false));
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let store = if writer % 2 == 0 { db.store.clone() } else { another.clone() };
                let inside = Arc::clone(&inside);
                tokio::spawn(async move {
                    for _ in 0..EACH {
                        let mut tx = store.write().await.unwrap();
                        assert!(!inside.swap(true, Ordering::SeqCst), "somebody else is writing");
                        let read = tasks::find(&mut tx, task.id).await.unwrap().unwrap();
                        let raised = Task { position: read.position + 1, ..read };
                        assert_eq!(tasks::update(&mut tx, &raised).await.unwrap(), Write::Changed);
                        inside.store(false, Ordering::SeqCst);
                        tx.commit().await.unwrap();
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.await.unwrap();
        }
        let end = read(&db.store, async |db| tasks::find(db, task.id).await).await.unwrap();
        assert_eq!((end.position, end.version), (WRITERS * EACH, WRITERS * EACH));
    }

    async fn a_snapshot_stays_at_its_moment_and_sees_only_what_was_committed(db: TestDb) {
        let (before, after) = (workspace("Before"), workspace("After"));
        write(&db.store, async |tx| workspaces::insert(tx, &before).await).await.unwrap();
        let mut tx = db.store.write().await.unwrap();
        workspaces::insert(&mut tx, &after).await.unwrap();
        assert_eq!(workspaces::list(&mut tx).await.unwrap().len(), 2, "a transaction sees its own");

        let mut snapshot = db.store.read().await.unwrap();
        assert_eq!(workspaces::list(&mut snapshot).await.unwrap(), from_ref(&before));
        tx.commit().await.unwrap();
        assert_eq!(workspaces::list(&mut snapshot).await.unwrap(), [before]);
        assert_eq!(read(&db.store, async |db| workspaces::list(db).await).await.len(), 2);
    }

    async fn more_readers_than_connections_wait_for_one_another(db: TestDb) {
        let world = World::new(&db).await;
        let readers: Vec<_> = (0..40)
            .map(|_| {
                let store = db.store.clone();
                tokio::spawn(async move { read(&store, async |db| workspaces::list(db).await).await })
            })
            .collect();
        for reader in readers {
            assert_eq!(reader.await.unwrap(), from_ref(&world.workspace));
        }
    }

    async fn a_dropped_transaction_leaves_no_trace_and_ends_its_turn(db: TestDb) {
        let mut tx = db.store.write().await.unwrap();
        workspaces::insert(&mut tx, &workspace("Dropped")).await.unwrap();
        drop(tx);
        let kept = workspace("Kept");
        let next = write(&db.store, async |tx| workspaces::insert(tx, &kept).await);
        tokio::time::timeout(LIMIT, next).await.unwrap().unwrap();
        assert_eq!(read(&db.store, async |db| workspaces::list(db).await).await, [kept]);
    }

    async fn a_cancelled_task_ends_its_turn(db: TestDb) {
        let (said, hears) = oneshot::channel();
        let holder = {
            let store = db.store.clone();
            tokio::spawn(async move {
                let mut tx = store.write().await.unwrap();
                workspaces::insert(&mut tx, &workspace("Cancelled")).await.unwrap();
                said.send(()).unwrap();
                std::future::pending::<()>().await;
                tx.commit().await.unwrap();
            })
        };
        hears.await.unwrap();
        // These wait for their turn and go away before it comes.
        let waiters: Vec<_> = (0..6)
            .map(|_| {
                let store = db.store.clone();
                tokio::spawn(async move { store.write().await.map(drop) })
            })
            .collect();
        tokio::task::yield_now().await;
        for waiter in waiters {
            waiter.abort();
        }
        holder.abort();
        let kept = workspace("Kept");
        let next = write(&db.store, async |tx| workspaces::insert(tx, &kept).await);
        tokio::time::timeout(LIMIT, next).await.unwrap().unwrap();
        assert_eq!(read(&db.store, async |db| workspaces::list(db).await).await, [kept]);
    }

    async fn a_commit_that_says_ok_has_written_everything(db: TestDb) {
        let first = workspace("First");
        let mut tx = db.store.write().await.unwrap();
        workspaces::insert(&mut tx, &first).await.unwrap();
        let twice = workspaces::insert(&mut tx, &first).await;
        assert!(matches!(twice, Err(StoreError::Unique(_))), "{twice:?}");
        let said_ok = tx.commit().await.is_ok();
        let stored = read(&db.store, async |db| workspaces::find(db, first.id).await).await;
        assert_eq!(stored.is_some(), said_ok);
        // The connection serves on.
        let second = workspace("Second");
        write(&db.store, async |tx| workspaces::insert(tx, &second).await).await.unwrap();
    }

    async fn what_was_committed_outlives_a_restart(mut db: TestDb) {
        let world = World::new(&db).await;
        let task = world.put_task(Task { title: "Kept".to_owned(), ..world.task() }).await;
        let mut tx = db.store.write().await.unwrap();
        workspaces::insert(&mut tx, &workspace("Not committed")).await.unwrap();
        drop(tx);
        db.reopen().await;
        assert_eq!(read(&db.store, async |db| tasks::find(db, task.id).await).await, Some(task));
        assert_eq!(read(&db.store, async |db| workspaces::list(db).await).await, [world.workspace]);
    }

    async fn a_closed_store_says_that_it_is_not_available(db: TestDb) {
        db.store.ping().await.unwrap();
        db.store.close().await;
        assert!(matches!(db.store.ping().await, Err(StoreError::Unavailable(_))));
        assert!(matches!(db.store.read().await.map(drop), Err(StoreError::Unavailable(_))));
        assert!(matches!(db.store.write().await.map(drop), Err(StoreError::Unavailable(_))));
    }

    async fn a_value_that_cannot_be_read_is_an_error_that_names_its_column(db: TestDb) {
        let world = World::new(&db).await;
        execute(&db.store, "update agents set args = '[1', updated_at = 5").await.unwrap();
        let outcome = store::agents::find(&mut db.store.read().await.unwrap(), world.agent.id).await;
        assert!(matches!(&outcome, Err(StoreError::Corrupt { column, .. }) if column == "args"), "{outcome:?}");
    }

    async fn only_a_light_transaction_does_not_wait_for_the_disk(db: TestDb) {
        let waits = async |tx: &mut store::Tx| match tx.engine() {
            Engine::Postgres => tx.fetch_raw("show synchronous_commit").await.unwrap()[0][0].as_deref() == Some("on"),
            Engine::Sqlite => tx.fetch_raw("pragma synchronous").await.unwrap()[0][0].as_deref() == Some("2"),
        };
        let mut light = db.store.write_rows_lightly().await.unwrap();
        assert_eq!(waits(&mut light).await, db.engine() == Engine::Sqlite);
        workspaces::insert(&mut light, &workspace("Light")).await.unwrap();
        light.commit().await.unwrap();
        assert_eq!(read(&db.store, async |db| workspaces::list(db).await).await.len(), 1, "it is seen at once");
        // The connection goes back to whoever wants it next.
        for _ in 0..3 {
            let mut next = db.store.write_rows().await.unwrap();
            assert!(waits(&mut next).await);
            next.commit().await.unwrap();
        }
    }
}
