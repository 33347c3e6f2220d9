//! A disk that is full, rehearsed by a limit on the file's pages (rulings 45).

use crate::world::{World, count, message, read, workspace, write};
use domain::session::Session;
use domain::view::WorkspaceView;
use store::testing::TestDb;
use store::{Options, Result, Store, StoreError, Tx, messages, workspaces};

/// The database of `db`, opened anew with room for `pages` more pages.
async fn with_room(db: &TestDb, pages: u32) -> Store {
    let used = read(&db.store, async |db| {
        db.fetch_raw("pragma page_count").await
    })
    .await;
    let used: u32 = used[0][0].as_deref().unwrap().parse().unwrap();
    db.store.close().await;
    Store::open(&Options {
        max_pages: Some(used + pages),
        ..db.options().clone()
    })
    .await
    .unwrap()
}

/// Fills the disk with `add`, checks that nothing of the refused transaction is there and that the store serves on.
async fn fill(rows: usize, size: usize, add: impl AsyncFn(&mut Tx, &Session, &str) -> Result<()>) {
    let what = format!("{rows} rows of {size} bytes");
    let mut db = TestDb::sqlite().await;
    let world = World::new(&db).await;
    let (_, session) = world.add_conversation().await;
    let room = with_room(&db, 60).await;
    let stored =
        async |store: &Store| count(store, "messages").await + count(store, "workspaces").await;
    let text = "x".repeat(size);
    let mut expected = stored(&room).await;
    let refused = loop {
        let outcome = write(&room, async |tx| {
            for _ in 0..rows {
                add(tx, &session, &text).await?;
            }
            Ok(())
        })
        .await;
        if let Err(error) = outcome {
            break error;
        }
        expected += i64::try_from(rows).unwrap();
        assert!(expected < 100_000, "the limit is not heeded");
    };
    assert!(
        matches!(refused, StoreError::Full(_)),
        "{what}: {refused:?}"
    );
    assert_eq!(stored(&room).await, expected, "{what}");

    // It goes on refusing what does not fit, and does what fits.
    let too_much = "y".repeat(500_000);
    for _ in 0..3 {
        let again = write(&room, async |tx| add(tx, &session, &too_much).await).await;
        assert!(
            matches!(again, Err(StoreError::Full(_))),
            "{what}: {again:?}"
        );
        assert_eq!(stored(&room).await, expected, "{what}");
    }
    write(&room, async |tx| {
        tx.execute_raw("delete from messages").await
    })
    .await
    .unwrap();
    write(&room, async |tx| {
        tx.execute_raw("delete from workspaces where name = 'More'")
            .await
    })
    .await
    .unwrap();
    write(&room, async |tx| add(tx, &session, "small").await)
        .await
        .unwrap();
    assert_eq!(stored(&room).await, 2, "{what}");
    room.close().await;

    db.reopen().await;
    assert_eq!(stored(&db.store).await, 2, "{what}");
    let check = read(&db.store, async |db| {
        db.fetch_raw("pragma integrity_check").await
    })
    .await;
    assert_eq!(check, [[Some("ok".to_owned())]], "{what}");
}

/// SQLite takes back only the statement when it is one that returns something, and the whole transaction when it is a plain
/// one; small rows fit into a page and large ones need many.
const SHAPES: [(usize, usize); 5] = [(1, 10), (40, 10), (1, 3_000), (1, 100_000), (3, 100_000)];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_returns_something_meets_a_full_disk() {
    for (rows, size) in SHAPES {
        fill(rows, size, async |tx, session, text| {
            messages::append(tx, &message(session, text))
                .await
                .map(drop)
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plain_statement_meets_a_full_disk() {
    for (rows, size) in SHAPES {
        fill(rows, size, async |tx, _, text| {
            let more = WorkspaceView {
                description: text.to_owned(),
                ..workspace("More")
            };
            workspaces::insert(tx, &more).await
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_database_on_a_full_disk_is_refused_and_can_be_made_later() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::embedded(folder.path());
    let outcome = Store::open(&Options {
        max_pages: Some(5),
        ..options.clone()
    })
    .await;
    assert!(matches!(outcome, Err(StoreError::Full(_))), "{outcome:?}");
    let store = Store::open(&options).await.unwrap();
    write(&store, async |tx| {
        workspaces::insert(tx, &workspace("Home")).await
    })
    .await
    .unwrap();
}
