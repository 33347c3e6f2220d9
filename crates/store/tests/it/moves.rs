use crate::world::{UNICODE, World, assert_unique, at, read, write};
use domain::ids::{MoveId, SessionId, TaskId};
use domain::moves::{EntryMarker, EntryOptions, PendingMove};
use domain::session::Session;
use domain::workflow::{MoveTrigger, Mover};
use store::moves::{
    all_pending, delete_pending, insert_pending, pending_of_session, pending_of_task, put_marker,
    take_marker,
};

/// A move of the session's task that waits, with nothing absent.
pub(crate) fn pending(world: &World, session: &Session) -> PendingMove {
    PendingMove {
        id: MoveId::new(),
        session_id: session.id,
        task_id: session.task_id,
        step_id: world.steps[2].id,
        position: Some(3),
        trigger: MoveTrigger::Manual,
        actor: Mover::Agent,
        sender_task_id: Some(TaskId::new()),
        sender_session_id: Some(SessionId::new()),
        entry_options: Some(options()),
        created_at: at(5),
    }
}

fn options() -> EntryOptions {
    EntryOptions {
        reset_context: true,
        instructions: Some(UNICODE.to_owned()),
        skip_step_prompt: true,
    }
}

store::on_both_engines! {
    async fn one_move_of_a_task_waits_and_is_read_as_it_was_written(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let second = world.add_session(&task).await;
        let whole = pending(&world, &session);
        let put = async |row: &PendingMove| write(&db.store, async |tx| insert_pending(tx, row).await).await;
        put(&whole).await.unwrap();
        let same_task = pending(&world, &second);
        assert_unique(put(&same_task).await);
        let (other_task, other_session) = world.add_conversation().await;
        let bare = PendingMove {
            position: None,
            actor: Mover::System,
            trigger: MoveTrigger::OnChildrenCompleted,
            sender_task_id: None,
            sender_session_id: None,
            entry_options: None,
            created_at: at(4),
            ..pending(&world, &other_session)
        };
        assert_unique(put(&PendingMove { id: whole.id, ..bare.clone() }).await);
        put(&bare).await.unwrap();

        let of_session = async |id| read(&db.store, async |db| pending_of_session(db, id).await).await;
        let of_task = async |id| read(&db.store, async |db| pending_of_task(db, id).await).await;
        assert_eq!(of_session(session.id).await.as_ref(), Some(&whole));
        assert_eq!(of_task(task.id).await.as_ref(), Some(&whole));
        assert_eq!(of_task(other_task.id).await.as_ref(), Some(&bare));
        assert_eq!(of_session(second.id).await, None);
        assert_eq!(read(&db.store, async |db| all_pending(db).await).await, [bare, whole]);
        let remove = async || write(&db.store, async |tx| delete_pending(tx, task.id).await).await.unwrap();
        assert!(remove().await);
        assert!(!remove().await);
        write(&db.store, async |tx| store::tasks::delete(tx, other_task.id).await).await.unwrap();
        assert!(read(&db.store, async |db| all_pending(db).await).await.is_empty());
    }

    async fn what_a_move_left_is_taken_once(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await.id;
        let first = EntryMarker {
            task_id: task,
            move_id: MoveId::new(),
            from_step_id: world.steps[0].id,
            step_id: world.steps[1].id,
            options: EntryOptions::default(),
            created_at: at(1),
        };
        let second = EntryMarker {
            move_id: MoveId::new(),
            from_step_id: world.steps[1].id,
            step_id: world.steps[2].id,
            options: options(),
            created_at: at(2),
            ..first.clone()
        };
        let take = async || write(&db.store, async |tx| take_marker(tx, task).await).await.unwrap();
        assert_eq!(take().await, None);
        write(&db.store, async |tx| {
            put_marker(tx, &first).await?;
            put_marker(tx, &second).await
        })
        .await
        .unwrap();
        assert_eq!(take().await, Some(second));
        assert_eq!(take().await, None);
    }
}
