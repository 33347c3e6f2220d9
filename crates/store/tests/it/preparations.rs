use crate::executors::executor_profile;
use crate::world::{UNICODE, World, assert_unique, at, read, write};
use domain::effect::EffectKind;
use domain::executor::{Preparation, PreparationState};
use domain::ids::{ExecutorProfileId, PreparationId, SessionId, TaskId};
use domain::session::Session;
use domain::task::Task;
use store::Store;
use store::preparations::{
    abandon, claim, delete, insert, is_left, is_worked_in, leave, of_folder, underway, update,
};

/// A folder that has been prepared.
pub(crate) fn preparation(profile: ExecutorProfileId, folder: &str) -> Preparation {
    Preparation {
        id: PreparationId::new(),
        node: "here".to_owned(),
        folder: folder.to_owned(),
        executor_profile_id: profile,
        state: PreparationState::Prepared,
        session_id: None,
        task_id: None,
        cleanup_script: "rm x".to_owned(),
        cleanup_seconds: 7,
        created_at: at(0),
        updated_at: at(0),
    }
}

async fn profile(store: &Store) -> ExecutorProfileId {
    let profile = executor_profile("Local");
    write(store, async |tx| {
        store::executors::insert(tx, &profile).await
    })
    .await
    .unwrap();
    profile.id
}

async fn put(store: &Store, preparation: &Preparation) {
    write(store, async |tx| insert(tx, preparation).await)
        .await
        .unwrap();
}

async fn found(store: &Store, one: &Preparation) -> Option<Preparation> {
    read(store, async |db| {
        of_folder(db, &one.node, &one.folder, one.executor_profile_id).await
    })
    .await
}

store::on_both_engines! {
    async fn a_preparation_is_read_as_it_was_written_and_is_one_a_folder_and_node(db: TestDb) {
        let store = &db.store;
        let id = profile(store).await;
        let session = SessionId::new();
        let whole = Preparation {
            state: PreparationState::Preparing,
            session_id: Some(session),
            cleanup_script: UNICODE.to_owned(),
            created_at: at(1),
            updated_at: at(2),
            ..preparation(id, UNICODE)
        };
        put(store, &whole).await;
        put(store, &Preparation { node: "there".to_owned(), ..preparation(id, UNICODE) }).await;
        put(store, &preparation(id, "/other")).await;
        assert_unique(write(store, async |tx| insert(tx, &preparation(id, UNICODE)).await).await);
        assert_eq!(found(store, &whole).await, Some(whole.clone()));
        assert_eq!(read(store, async |db| underway(db, whole.id, session).await).await, Some(whole.clone()));
        assert_eq!(read(store, async |db| underway(db, whole.id, SessionId::new()).await).await, None);
        let done = Preparation { state: PreparationState::Prepared, session_id: None, updated_at: at(3), ..whole };
        write(store, async |tx| update(tx, &done).await).await.unwrap();
        assert_eq!(found(store, &done).await, Some(done.clone()));
        write(store, async |tx| delete(tx, done.id).await).await.unwrap();
        assert_eq!(found(store, &done).await, None);
    }

    async fn a_folder_is_worked_in_by_tasks_on_the_board_with_the_same_profile(db: TestDb) {
        let world = World::new(&db).await;
        let (store, id) = (&db.store, profile(&db.store).await);
        let task = || Task { executor_profile_id: Some(id), working_directory: Some("/work".to_owned()), ..world.task() };
        let first = world.put_task(task()).await;
        world.put_task(Task { archived_at: Some(at(1)), ..task() }).await;
        world.put_task(Task { executor_profile_id: None, ..task() }).await;
        world.put_task(Task { working_directory: Some("/else".to_owned()), ..task() }).await;
        let worked = async |except: TaskId| read(store, async |db| is_worked_in(db, "/work", id, except).await).await;
        assert!(!worked(first.id).await);
        assert!(worked(TaskId::new()).await);
    }

    async fn a_folder_that_was_left_is_claimed_once_when_its_agents_are_gone(db: TestDb) {
        let world = World::new(&db).await;
        let (store, id) = (&db.store, profile(&db.store).await);
        let session = |task: &Task| Session { holder: Some("here".to_owned()), lease_until: Some(at(9)), ..world.session(task) };
        let task = world.add_task().await;
        let held = world.put_session(session(&task)).await;
        let here = preparation(id, "/work");
        let plain = Preparation { node: "there".to_owned(), cleanup_script: String::new(), ..preparation(id, "/work") };
        let other = preparation(id, "/other");
        for one in [&here, &plain, &other] {
            put(store, one).await;
        }
        assert!(write(store, async |tx| leave(tx, "/work", id, task.id, at(1)).await).await.unwrap());
        assert_eq!(found(store, &plain).await, None, "there is nothing to run");
        assert_eq!(found(store, &other).await, Some(other.clone()));
        let waits = async || read(store, async |db| is_left(db, "here").await).await;
        assert!(waits().await);
        let claimed = async || write(store, async |tx| claim(tx, "here", at(2)).await).await.unwrap();
        write(store, async |tx| store::effects::insert(tx, EffectKind::StopProcess, task.id, held.id, None, at(1)).await).await.unwrap();
        assert_eq!(claimed().await, None, "an agent is to be ended");
        write(store, async |tx| store::effects::delete(tx, EffectKind::StopProcess, held.id, None).await).await.unwrap();
        assert_eq!(claimed().await, None, "an agent is alive");
        // With the task goes what was known of its sessions.
        write(store, async |tx| store::tasks::delete(tx, task.id).await).await.unwrap();
        assert_eq!(write(store, async |tx| claim(tx, "there", at(2)).await).await.unwrap(), None, "it is another's");
        let expected = Preparation { state: PreparationState::Cleaning, task_id: Some(task.id), updated_at: at(2), ..here };
        assert_eq!(claimed().await, Some(expected));
        assert_eq!(claimed().await, None);
        assert!(!waits().await);
        assert!(!write(store, async |tx| leave(tx, "/work", id, task.id, at(3)).await).await.unwrap(), "it is being cleaned up");
        assert!(write(store, async |tx| abandon(tx, "there").await).await.unwrap().is_empty());
        assert_eq!(write(store, async |tx| abandon(tx, "here").await).await.unwrap(), ["/work"]);
        assert_eq!(read(store, async |db| store::executors::usage(db, id).await).await.folders, 1);
    }
}
