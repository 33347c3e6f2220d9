use crate::world::{World, count, execute, read, workspace, write};
use std::path::PathBuf;
use std::sync::Arc;
use store::{Engine, Options, Store, StoreError, workspaces};
use tokio::sync::Barrier;

#[track_caller]
fn assert_config(outcome: store::Result<Store>) {
    match outcome {
        Err(StoreError::Config(_)) => {}
        other => panic!("expected a refusal, got {other:?}"),
    }
}

store::on_both_engines! {
    async fn opening_again_keeps_everything(mut db: TestDb) {
        let world = World::new(&db).await;
        let steps = count(&db.store, "_sqlx_migrations").await;
        assert!(steps >= 1);
        for _ in 0..3 {
            db.reopen().await;
        }
        assert_eq!(count(&db.store, "_sqlx_migrations").await, steps);
        assert_eq!(read(&db.store, async |db| workspaces::list(db).await).await, [world.workspace]);
    }

    async fn processes_that_open_a_new_database_at_once_all_find_it_ready(db: TestDb) {
        for _ in 0..4 {
            let folder = tempfile::tempdir().unwrap();
            let options = match db.engine() {
                Engine::Sqlite => Options::embedded(folder.path()),
                Engine::Postgres => {
                    let anew = "drop schema public cascade; create schema public";
                    execute(&db.store, anew).await.unwrap();
                    db.options().clone()
                }
            };
            let start = Arc::new(Barrier::new(6));
            let openings: Vec<_> = (0..6)
                .map(|number| {
                    let (options, start) = (options.clone(), Arc::clone(&start));
                    tokio::spawn(async move {
                        start.wait().await;
                        let store = Store::open(&options).await.unwrap();
                        let mut tx = store.write().await.unwrap();
                        workspaces::insert(&mut tx, &workspace(&format!("{number}"))).await.unwrap();
                        tx.commit().await.unwrap();
                        store
                    })
                })
                .collect();
            let mut stores = Vec::new();
            for opening in openings {
                stores.push(opening.await.unwrap());
            }
            for store in stores {
                assert_eq!(count(&store, "workspaces").await, 6);
                store.close().await;
            }
        }
    }

    async fn acknowledged_means_on_disk(db: TestDb) {
        let settings = match db.engine() {
            // 2 is FULL.
            Engine::Sqlite => [("pragma synchronous", "2"), ("pragma journal_mode", "wal"), ("pragma foreign_keys", "1")],
            Engine::Postgres => [
                ("select current_setting('synchronous_commit')", "on"),
                ("select current_setting('transaction_isolation')", "read committed"),
                ("select current_setting('transaction_read_only')", "off"),
            ],
        };
        for (question, expected) in settings {
            let answer = write(&db.store, async |tx| tx.fetch_raw(question).await).await.unwrap();
            assert_eq!(answer, [[Some(expected.to_owned())]], "{question}");
        }
    }

    async fn a_database_of_a_later_version_is_left_alone(db: TestDb) {
        execute(
            &db.store,
            "insert into _sqlx_migrations (version, description, success, checksum, execution_time) \
             select 999, 'later', success, checksum, 0 from _sqlx_migrations where version = 1",
        )
        .await
        .unwrap();
        db.store.close().await;
        let outcome = Store::open(db.options()).await;
        assert!(matches!(outcome, Err(StoreError::Migration(_))), "{outcome:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_data_folder_may_have_any_name_and_be_given_relatively() {
    let outer = tempfile::tempdir().unwrap();
    for name in [
        "plain",
        "with space",
        "per%20cent",
        "100%",
        "what?",
        "#1",
        "ünï🛫",
        "a'b\"c;d",
        "UPPER\\back",
    ] {
        let folder = outer.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        let up: PathBuf = std::env::current_dir()
            .unwrap()
            .components()
            .skip(1)
            .map(|_| "..")
            .collect();
        let relative = up.join(folder.strip_prefix("/").unwrap());
        for (round, path) in [&folder, &relative].into_iter().enumerate() {
            let store = Store::open(&Options::embedded(path)).await.unwrap();
            write(&store, async |tx| {
                workspaces::insert(tx, &workspace(name)).await
            })
            .await
            .unwrap();
            assert_eq!(
                count(&store, "workspaces").await,
                i64::try_from(round).unwrap() + 1,
                "{path:?}"
            );
            store.close().await;
        }
        let files: Vec<_> = std::fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(
            files,
            ["flightdeck.db"],
            "closing folds the log back into the file"
        );
    }
    assert_eq!(
        std::fs::read_dir(outer.path()).unwrap().count(),
        9,
        "nothing was made elsewhere"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_that_cannot_hold_a_database_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    assert_config(Store::open(&Options::embedded(&folder.path().join("missing"))).await);
    std::fs::write(
        folder.path().join("flightdeck.db"),
        "not a database, but long enough to have a header ".repeat(99),
    )
    .unwrap();
    assert_config(Store::open(&Options::embedded(folder.path())).await);
    for url in [
        "",
        "flightdeck.db",
        "mysql://localhost/flightdeck",
        "postgres://[",
        "sqlite://x?mode=sideways",
    ] {
        assert_config(Store::open(&Options::new(url)).await);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs FLIGHTDECK_TEST_POSTGRES_URL"]
async fn a_database_that_the_server_does_not_have_is_said_so() {
    let db = store::testing::TestDb::postgres().await;
    assert_config(Store::open(&Options::new(format!("{}_missing", db.url()))).await);
}
