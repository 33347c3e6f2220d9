use crate::world::{UNICODE, World, assert_invariant, assert_unique, at, read, write};
use domain::executor::{Executor, ExecutorConfig, ExecutorProfile, ExecutorProfileUse, McpPolicy};
use domain::ids::ExecutorProfileId;
use store::executors::{delete, find, insert, list, update, usage};

pub(crate) fn executor_profile(name: &str) -> ExecutorProfile {
    ExecutorProfile {
        id: ExecutorProfileId::new(),
        executor_id: Executor::Local,
        name: name.to_owned(),
        mcp_policy: McpPolicy::All,
        prepare_script: String::new(),
        cleanup_script: String::new(),
        config: ExecutorConfig::default(),
        created_at: at(0),
        updated_at: at(0),
    }
}

store::on_both_engines! {
    async fn an_executor_profile_is_read_as_it_was_written(db: TestDb) {
        let store = &db.store;
        let bare = executor_profile("Bare");
        write(store, async |tx| insert(tx, &bare).await).await.unwrap();
        let whole = ExecutorProfile {
            mcp_policy: McpPolicy::RemoteOnly,
            prepare_script: UNICODE.to_owned(),
            cleanup_script: UNICODE.to_owned(),
            config: ExecutorConfig { prepare_timeout_seconds: Some(5), cleanup_timeout_seconds: None },
            created_at: at(1),
            updated_at: at(2),
            ..executor_profile(UNICODE)
        };
        write(store, async |tx| insert(tx, &whole).await).await.unwrap();
        assert_unique(write(store, async |tx| insert(tx, &executor_profile("Bare")).await).await);
        assert_eq!(read(store, async |db| list(db).await).await, [bare.clone(), whole.clone()]);
        let changed = ExecutorProfile { id: bare.id, created_at: bare.created_at, name: "Other".to_owned(), ..whole.clone() };
        write(store, async |tx| update(tx, &changed).await).await.unwrap();
        assert_eq!(read(store, async |db| find(db, bare.id).await).await, Some(changed.clone()));
        let taken = ExecutorProfile { name: UNICODE.to_owned(), ..changed };
        assert_unique(write(store, async |tx| update(tx, &taken).await).await);
        write(store, async |tx| delete(tx, bare.id).await).await.unwrap();
        assert_eq!(read(store, async |db| find(db, bare.id).await).await, None);
        assert_eq!(read(store, async |db| find(db, whole.id).await).await, Some(whole));
    }

    async fn an_executor_profile_goes_when_no_task_has_it(db: TestDb) {
        let world = World::new(&db).await;
        let profile = executor_profile("Used");
        write(&db.store, async |tx| insert(tx, &profile).await).await.unwrap();
        let used = async || read(&db.store, async |db| usage(db, profile.id).await).await;
        assert_eq!(used().await, ExecutorProfileUse::default());
        let task = domain::task::Task { executor_profile_id: Some(profile.id), ..world.task() };
        let task = world.put_task(task).await;
        let session = domain::session::Session { executor_profile_id: Some(profile.id), ..world.session(&task) };
        world.put_session(session).await;
        let folder = crate::preparations::preparation(profile.id, "/work");
        write(&db.store, async |tx| store::preparations::insert(tx, &folder).await).await.unwrap();
        assert_eq!(used().await, ExecutorProfileUse { tasks: 1, folders: 1 });
        assert_invariant(write(&db.store, async |tx| delete(tx, profile.id).await).await);
        write(&db.store, async |tx| {
            store::tasks::delete(tx, task.id).await?;
            store::preparations::delete(tx, folder.id).await?;
            delete(tx, profile.id).await
        }).await.unwrap();
    }
}
