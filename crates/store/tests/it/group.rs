//! Writers on SQLite that wait for one another share a commit.

use crate::world::{read, workspace, write};
use domain::view::WorkspaceView;
use std::time::Duration;
use store::testing::TestDb;
use store::{Options, Store, StoreError, workspaces};
use tokio::task::JoinHandle;

/// Longer than anything here takes.
const LIMIT: Duration = Duration::from_secs(20);

async fn names(store: &Store) -> Vec<String> {
    let mut names: Vec<String> = read(store, async |db| workspaces::list(db).await)
        .await
        .into_iter()
        .map(|workspace| workspace.name)
        .collect();
    names.sort();
    names
}

/// A writer in a task of its own that waits for its turn.
async fn queued(
    store: &Store,
    work: impl AsyncFnOnce(&Store) -> store::Result<()> + 'static,
) -> JoinHandle<store::Result<()>> {
    let store = store.clone();
    let writer = tokio::task::spawn_local(async move { work(&store).await });
    // It has run until it waits: there is one thread only.
    tokio::task::yield_now().await;
    writer
}

async fn add(store: &Store, name: &'static str) -> store::Result<()> {
    let row: WorkspaceView = workspace(name);
    let mut tx = store.write().await?;
    workspaces::insert(&mut tx, &row).await?;
    tx.commit().await
}

async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(LIMIT, what).await.expect("in time")
}

async fn locally<T>(work: impl Future<Output = T>) -> T {
    tokio::task::LocalSet::new().run_until(work).await
}

#[tokio::test]
async fn who_waits_joins_and_nobody_is_told_before_the_commit() {
    locally(async {
        let db = TestDb::sqlite().await;
        let mut first = db.store.write().await.unwrap();
        workspaces::insert(&mut first, &workspace("First"))
            .await
            .unwrap();
        let second = queued(&db.store, async |store| add(store, "Second").await).await;
        let third = queued(&db.store, async |store| {
            let mut tx = store.write().await?;
            // The first two are done, but neither is durable, so neither can be seen from outside, and both wait.
            assert_eq!(workspaces::list(&mut tx).await?.len(), 2);
            assert_eq!(names(store).await, [""; 0]);
            let settled = tokio::time::timeout(Duration::from_millis(1), store.settled()).await;
            assert!(settled.is_err(), "work is finished that is not durable");
            workspaces::insert(&mut tx, &workspace("Third")).await?;
            tx.commit().await
        })
        .await;
        in_time(first.commit()).await.unwrap();
        assert_eq!(
            names(&db.store).await,
            ["First", "Second", "Third"],
            "one commit for all"
        );
        in_time(second).await.unwrap().unwrap();
        in_time(third).await.unwrap().unwrap();
        in_time(db.store.settled()).await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn who_gives_up_takes_back_its_own_part_only() {
    locally(async {
        let db = TestDb::sqlite().await;
        let mut first = db.store.write().await.unwrap();
        workspaces::insert(&mut first, &workspace("First"))
            .await
            .unwrap();
        let given_up = queued(&db.store, async |store| {
            let mut tx = store.write().await?;
            let row = workspace("Given up");
            workspaces::insert(&mut tx, &row).await?;
            // A statement that fails, too.
            assert!(matches!(
                workspaces::insert(&mut tx, &row).await,
                Err(StoreError::Unique(_))
            ));
            Ok(())
        })
        .await;
        let third = queued(&db.store, async |store| add(store, "Third").await).await;
        in_time(first.commit()).await.unwrap();
        in_time(given_up).await.unwrap().unwrap();
        in_time(third).await.unwrap().unwrap();
        assert_eq!(names(&db.store).await, ["First", "Third"]);
    })
    .await;
}

#[tokio::test]
async fn a_writer_whose_caller_went_away_still_commits_for_the_others() {
    locally(async {
        let db = TestDb::sqlite().await;
        let held = db.store.write().await.unwrap();
        let first = queued(&db.store, async |store| add(store, "First").await).await;
        let second = queued(&db.store, async |store| add(store, "Second").await).await;
        drop(held);
        first.abort();
        in_time(second).await.unwrap().unwrap();
        assert!(names(&db.store).await.contains(&"Second".to_owned()));
        in_time(write(&db.store, async |tx| {
            workspaces::insert(tx, &workspace("Next")).await
        }))
        .await
        .unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_a_full_disk_whatever_was_acknowledged_is_there_and_nothing_else_is() {
    const WRITERS: usize = 24;
    let db = TestDb::sqlite().await;
    write(&db.store, async |tx| {
        workspaces::insert(tx, &workspace("Already there")).await
    })
    .await
    .unwrap();
    let used = read(&db.store, async |db| {
        db.fetch_raw("pragma page_count").await
    })
    .await;
    let used: u32 = used[0][0].as_deref().unwrap().parse().unwrap();
    db.store.close().await;
    let room = Store::open(&Options {
        max_pages: Some(used + 20),
        ..db.options().clone()
    })
    .await
    .unwrap();
    let writers: Vec<_> = (0..WRITERS)
        .map(|number| {
            let store = room.clone();
            tokio::spawn(async move {
                let mut kept = Vec::new();
                for turn in 0..10 {
                    let row = WorkspaceView {
                        name: format!("{number}.{turn} {}", "x".repeat(1_500)),
                        ..workspace("Large")
                    };
                    if write(&store, async |tx| workspaces::insert(tx, &row).await)
                        .await
                        .is_ok()
                    {
                        kept.push(row.name);
                    }
                }
                kept
            })
        })
        .collect();
    let mut acknowledged = vec!["Already there".to_owned()];
    for writer in writers {
        acknowledged.extend(in_time(writer).await.unwrap());
    }
    acknowledged.sort();
    assert!(
        acknowledged.len() > 1 && acknowledged.len() < WRITERS * 10,
        "the limit was met half-way"
    );
    assert_eq!(names(&room).await, acknowledged);
}
