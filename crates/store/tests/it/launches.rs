use crate::world::{UNICODE, World, at, read, write};
use domain::dependency::LaunchIntent;
use domain::ids::{SessionId, TaskId};
use domain::queue::QueuedBy;
use serde_json::json;
use store::launches::{DeferredLaunch, delete, find, insert, set_launched, set_prompt};

/// A start that waits, with nothing absent.
pub(crate) fn launch(task: TaskId) -> DeferredLaunch {
    DeferredLaunch {
        task_id: task,
        intent: LaunchIntent::Start,
        prompt: UNICODE.to_owned(),
        queued_by: QueuedBy::Agent,
        sender_task_id: Some(TaskId::new()),
        sender_session_id: Some(SessionId::new()),
        metadata: [("key".to_owned(), json!(UNICODE))].into_iter().collect(),
        launched: false,
        created_at: at(7),
    }
}

store::on_both_engines! {
    async fn a_start_waits_once_and_is_read_as_it_was_written(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await.id;
        let whole = launch(task);
        let waiting = async || read(&db.store, async |db| find(db, task).await).await;
        let put = async |launch: &DeferredLaunch| write(&db.store, async |tx| insert(tx, launch).await).await.unwrap();
        assert_eq!(waiting().await, None);
        assert!(put(&whole).await);
        let second = DeferredLaunch {
            intent: LaunchIntent::EnterStep,
            queued_by: QueuedBy::Workflow,
            sender_task_id: None,
            sender_session_id: None,
            ..whole.clone()
        };
        assert!(!put(&second).await, "the first one stays");
        assert_eq!(waiting().await.as_ref(), Some(&whole));

        write(&db.store, async |tx| {
            set_prompt(tx, task, "other words").await?;
            set_launched(tx, task, true).await
        })
        .await
        .unwrap();
        let changed = DeferredLaunch { prompt: "other words".to_owned(), launched: true, ..whole };
        assert_eq!(waiting().await.as_ref(), Some(&changed));
        write(&db.store, async |tx| set_launched(tx, task, false).await).await.unwrap();
        assert!(!waiting().await.unwrap().launched);
        let remove = async || write(&db.store, async |tx| delete(tx, task).await).await.unwrap();
        assert!(remove().await);
        assert!(!remove().await);
        assert!(put(&second).await);
        assert_eq!(waiting().await, Some(second));
        write(&db.store, async |tx| store::tasks::delete(tx, task).await).await.unwrap();
        assert_eq!(waiting().await, None);
    }
}
