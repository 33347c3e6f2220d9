//! A disk that is full, rehearsed by a limit on the file's pages (rulings 45).

use crate::world::{World, message, read, workspace, write};
use domain::message::Message;
use domain::session::Session;
use store::messages::{Window, append, page};
use store::testing::TestDb;
use store::{Options, Store, StoreError, workspaces};

async fn transcript(store: &Store, session: &Session) -> Vec<Message> {
    read(store, async |db| {
        page(db, session.id, Window::Newest, &[], i64::MAX).await
    })
    .await
    .0
}

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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_half_written_when_the_disk_is_full() {
    // Texts of a row that fits into a page and of one that needs many, alone in a transaction and behind others: SQLite
    // takes back the statement in some of these cases and the whole transaction in others.
    for (size, rows) in [
        (10, 1),
        (10, 40),
        (3_000, 1),
        (3_000, 5),
        (100_000, 1),
        (100_000, 3),
    ] {
        let mut db = TestDb::sqlite().await;
        let world = World::new(&db).await;
        let (_, session) = world.add_conversation().await;
        let store = with_room(&db, 60).await;
        let text = "x".repeat(size);
        let mut kept = Vec::new();
        let refused = loop {
            let before = kept.len();
            let outcome = write(&store, async |tx| {
                for _ in 0..rows {
                    let mut message = message(&session, &text);
                    message.seq = append(tx, &message).await?;
                    kept.push(message);
                }
                Ok(())
            })
            .await;
            if let Err(error) = outcome {
                kept.truncate(before);
                break error;
            }
            assert!(kept.len() < 100_000, "the limit is not heeded");
        };
        assert!(
            matches!(refused, StoreError::Full(_)),
            "{size} x {rows}: {refused:?}"
        );
        assert_eq!(transcript(&store, &session).await, kept, "{size} x {rows}");

        // It goes on refusing what does not fit, and does what fits.
        let again = write(&store, async |tx| {
            append(tx, &message(&session, &"y".repeat(500_000))).await
        })
        .await;
        assert!(
            matches!(again, Err(StoreError::Full(_))),
            "{size} x {rows}: {again:?}"
        );
        assert_eq!(transcript(&store, &session).await, kept);
        let freed = write(&store, async |tx| {
            tx.execute_raw("delete from messages").await
        })
        .await
        .unwrap();
        assert_eq!(usize::try_from(freed).unwrap(), kept.len());
        write(&store, async |tx| {
            append(tx, &message(&session, "small")).await
        })
        .await
        .unwrap();
        let more = workspace("More");
        write(&store, async |tx| workspaces::insert(tx, &more).await)
            .await
            .unwrap();
        store.close().await;

        db.reopen().await;
        assert_eq!(transcript(&db.store, &session).await.len(), 1);
        assert_eq!(
            read(&db.store, async |db| workspaces::find(db, more.id).await).await,
            Some(more)
        );
        let check = read(&db.store, async |db| {
            db.fetch_raw("pragma integrity_check").await
        })
        .await;
        assert_eq!(check, [[Some("ok".to_owned())]]);
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
