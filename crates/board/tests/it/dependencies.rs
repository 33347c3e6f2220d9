//! Tasks that wait for tasks (task-domain 1.6): what blocks them, circles, and the start that is made once.

use crate::puppet::note;
use crate::races::at_once;
use crate::world::{World, prompted, refused, soon};
use board::Actor;
use domain::error::ErrorCode;
use domain::ids::TaskId;
use domain::params::{CreateTask, MoveTask, UpdateTask};
use domain::task::TaskState;
use domain::view::TaskView;
use serde_json::json;

const OPERATOR: Actor = Actor::Operator;

async fn card(world: &World, task: TaskId) -> TaskView {
    world.board().task_get(&OPERATOR, task).await.unwrap()
}

/// A task that rests and starts nothing.
async fn idle(world: &World, title: &str) -> TaskId {
    let params = CreateTask {
        title: title.to_owned(),
        ..CreateTask::default()
    };
    world.create(params).await.unwrap().task.id
}

/// A task that is to start when `predecessors` are COMPLETED.
async fn waiting(world: &World, title: &str, predecessors: &[TaskId]) -> TaskId {
    let params = CreateTask {
        blocked_by: predecessors.to_vec(),
        ..prompted(title)
    };
    let created = world.create(params).await.unwrap();
    assert_eq!(created.session_id, None, "nothing starts yet");
    created.task.id
}

async fn set(world: &World, task: TaskId, state: &str) {
    let params = UpdateTask {
        state: Some(state.to_owned()),
        ..UpdateTask::default()
    };
    world
        .board()
        .task_update(&OPERATOR, task, params)
        .await
        .unwrap();
    world.run().await;
}

async fn add(world: &World, task: TaskId, on: TaskId) -> board::Result<domain::view::Dependencies> {
    world.board().dependency_add(&OPERATOR, task, on).await
}

store::on_both_engines! {
    async fn a_task_with_predecessors_starts_once_when_the_last_is_completed(db: TestDb) {
        let world = World::new(db).await;
        let (a, b) = (idle(&world, "A").await, idle(&world, "B").await);
        let task = waiting(&world, "Task", &[b, a, b]).await;
        world.run().await;
        let view = card(&world, task).await;
        assert!(view.blocked && view.start_when_unblocked);
        assert_eq!(view.state, TaskState::Created);
        assert_eq!(view.session_count, 0);
        let mut expected = vec![a, b];
        expected.sort_unstable();
        assert_eq!(view.depends_on, expected);
        assert_eq!(card(&world, a).await.blocks, [task]);
        let reason = view.blocked_reason.unwrap();
        assert!(reason.contains("\"A\"") && reason.contains("\"B\""), "{reason}");

        set(&world, a, "done").await;
        let view = card(&world, task).await;
        assert_eq!((view.session_count, view.blocked), (0, true));
        assert!(!view.blocked_reason.unwrap().contains("\"A\""));

        set(&world, b, "done").await;
        let puppet = world.primary(task).await;
        assert_eq!(puppet.texts(), ["Begin with Task."]);
        let view = card(&world, task).await;
        assert_eq!((view.blocked, view.blocked_reason, view.start_when_unblocked), (false, None, false));
        assert_eq!(view.depends_on, expected, "the edges stay");

        // Opened and completed once more: it was started already.
        puppet.end_turn().await;
        set(&world, b, "open").await;
        assert!(card(&world, task).await.blocked);
        set(&world, b, "done").await;
        assert_eq!(puppet.texts().len(), 1);
    }

    async fn only_completed_unblocks(db: TestDb) {
        let world = World::new(db).await;
        for (state, word) in [("FAILED", "FAILED"), ("CANCELLED", "CANCELLED"), ("REVIEW", "REVIEW"), ("BLOCKED", "BLOCKED")] {
            let first = idle(&world, "First").await;
            let task = waiting(&world, "Task", &[first]).await;
            set(&world, first, state).await;
            let view = card(&world, task).await;
            assert_eq!((view.blocked, view.session_count), (true, 0), "{state}");
            let reason = view.blocked_reason.unwrap();
            assert!(reason.contains("\"First\"") && reason.contains(word), "{reason}");
        }
        let first = idle(&world, "First").await;
        let task = waiting(&world, "Task", &[first]).await;
        world.board().task_archive(&OPERATOR, first).await.unwrap();
        world.run().await;
        let view = card(&world, task).await;
        assert!(view.blocked_reason.unwrap().contains("archived"));
        assert_eq!(view.session_count, 0);
        world.board().task_unarchive(&OPERATOR, first).await.unwrap();
        set(&world, first, "done").await;
        assert_eq!(card(&world, task).await.session_count, 1);
    }

    async fn deleting_a_predecessor_removes_the_edge_and_starts_nothing(db: TestDb) {
        let world = World::new(db).await;
        let (a, b) = (idle(&world, "A").await, idle(&world, "B").await);
        let one = waiting(&world, "One", &[a]).await;
        let two = waiting(&world, "Two", &[a, b]).await;
        world.board().task_delete(&OPERATOR, a).await.unwrap();
        world.run().await;
        let view = card(&world, one).await;
        assert_eq!((view.blocked, view.session_count), (false, 0));
        assert!(view.depends_on.is_empty() && !view.start_when_unblocked);
        // The other one still waits for B, and starts with it.
        set(&world, b, "done").await;
        assert_eq!(card(&world, two).await.session_count, 1);
        assert_eq!(card(&world, one).await.session_count, 0);
    }

    async fn removing_the_last_edge_frees_a_task_and_starts_nothing(db: TestDb) {
        let world = World::new(db).await;
        let first = idle(&world, "First").await;
        let task = waiting(&world, "Task", &[first]).await;
        let board = world.board();
        let left = board.dependency_remove(&OPERATOR, task, first).await.unwrap();
        assert_eq!((left.depends_on.as_slice(), left.blocked), ([].as_slice(), false));
        let again = board.dependency_remove(&OPERATOR, task, first).await.unwrap();
        assert_eq!(again, left, "an edge that is not there is a success");
        world.run().await;
        assert_eq!(card(&world, task).await.session_count, 0);
        // By hand it starts.
        board.prompt_task(&OPERATOR, task, "Go.", None).await.unwrap();
        world.run().await;
        assert_eq!(world.primary(task).await.texts(), ["Go."]);
    }

    async fn circles_are_refused_with_their_path(db: TestDb) {
        let world = World::new(db).await;
        let (a, b, c) = (idle(&world, "A").await, idle(&world, "B").await, idle(&world, "C").await);
        assert_eq!(add(&world, a, b).await.unwrap().depends_on, [b]);
        assert_eq!(add(&world, b, c).await.unwrap().depends_on, [c]);
        let refusal = refused(add(&world, c, a).await, ErrorCode::Validation);
        assert_eq!(refusal.details, Some(json!({"path": [c, a, b, c]})));
        assert!(refusal.message.contains("\"C\" → \"A\" → \"B\" → \"C\""), "{}", refusal.message);
        refused(add(&world, a, a).await, ErrorCode::Validation);
        assert_eq!(add(&world, a, b).await.unwrap().depends_on, [b], "saying it again changes nothing");
        assert_eq!(add(&world, a, c).await.unwrap().depends_on, [b, c], "a second way is no circle");
        assert_eq!(world.count("task_dependencies").await, 3);
        refused(add(&world, a, TaskId::new()).await, ErrorCode::NotFound);
        refused(add(&world, TaskId::new(), a).await, ErrorCode::NotFound);
        let elsewhere = world.board().workspace_create(&OPERATOR, "Elsewhere", "").await.unwrap();
        let foreign = CreateTask { workspace_id: Some(elsewhere.id), title: "F".to_owned(), ..CreateTask::default() };
        let foreign = world.create(foreign).await.unwrap().task.id;
        refused(add(&world, a, foreign).await, ErrorCode::Validation);
    }

    async fn of_two_edges_that_close_a_circle_together_one_is_refused(db: TestDb) {
        let world = World::new(db).await;
        for _ in 0..5 {
            let (a, b) = (idle(&world, "A").await, idle(&world, "B").await);
            let (one, two) = soon(at_once(
                { let world = world.clone(); async move { add(&world, a, b).await } },
                { let world = world.clone(); async move { add(&world, b, a).await } },
            ))
            .await;
            assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
        }
        assert_eq!(world.count("task_dependencies").await, 5);
    }

    async fn a_creation_with_a_bad_predecessor_leaves_nothing(db: TestDb) {
        let world = World::new(db).await;
        let unknown = CreateTask { blocked_by: vec![TaskId::new()], ..prompted("Task") };
        refused(world.create(unknown).await, ErrorCode::NotFound);
        assert_eq!(world.count("tasks").await, 0);
    }

    async fn completed_predecessors_hold_nothing_up(db: TestDb) {
        let world = World::new(db).await;
        let first = idle(&world, "First").await;
        set(&world, first, "done").await;
        let params = CreateTask { blocked_by: vec![first], ..prompted("Task") };
        let created = world.create(params.clone()).await.unwrap();
        assert!(created.session_id.is_some());
        let edges_only = CreateTask { start_when_unblocked: Some(false), ..params };
        assert_eq!(world.create(edges_only).await.unwrap().session_id, None);
    }

    async fn edges_only_start_nothing_by_themselves(db: TestDb) {
        let world = World::new(db).await;
        let first = idle(&world, "First").await;
        let params = CreateTask {
            blocked_by: vec![first],
            start_when_unblocked: Some(false),
            ..prompted("Task")
        };
        let task = world.create(params).await.unwrap().task;
        assert!(task.blocked && !task.start_when_unblocked);
        set(&world, first, "done").await;
        assert_eq!(card(&world, task.id).await.session_count, 0);
    }

    async fn a_start_by_hand_consumes_the_one_that_waits(db: TestDb) {
        let world = World::new(db).await;
        let first = idle(&world, "First").await;
        let task = waiting(&world, "Task", &[first]).await;
        world.board().prompt_task(&OPERATOR, task, "Begin anyway.", None).await.unwrap();
        world.run().await;
        let puppet = world.primary(task).await;
        assert!(!card(&world, task).await.start_when_unblocked);
        puppet.end_turn().await;
        set(&world, first, "done").await;
        assert_eq!(puppet.texts(), ["Begin anyway."]);
    }

    async fn a_start_that_fails_is_kept_and_made_by_a_resume(db: TestDb) {
        let world = World::new(db).await;
        let first = idle(&world, "First").await;
        let task = waiting(&world, "Task", &[first]).await;
        // Its session is made with the start, so it fails on its way up.
        let params = UpdateTask { state: Some("done".to_owned()), ..UpdateTask::default() };
        world.board().task_update(&OPERATOR, first, params).await.unwrap();
        let session = card(&world, task).await.primary_session_id.unwrap();
        world.node().break_agent(session);
        world.run().await;
        let view = card(&world, task).await;
        assert_eq!(view.state, TaskState::Failed);
        assert!(view.start_when_unblocked, "it is still wanted");
        world.node().mend_agent(session);
        // The predecessor is completed anew: the same start is tried again, not another one.
        set(&world, first, "open").await;
        set(&world, first, "done").await;
        let puppet = world.primary(task).await;
        assert_eq!(puppet.texts(), ["Begin with Task."]);
        assert!(!card(&world, task).await.start_when_unblocked);
        world.assert_heard_once();
    }

    async fn a_start_under_way_at_a_crash_is_made_once(db: TestDb) {
        let world = World::new(db).await;
        let first = idle(&world, "First").await;
        let task = waiting(&world, "Task", &[first]).await;
        let done = UpdateTask { state: Some("done".to_owned()), ..UpdateTask::default() };
        world.board().task_update(&OPERATOR, first, done).await.unwrap();
        let session = card(&world, task).await.primary_session_id.unwrap();
        // The agent has the prompt, and the power goes before anybody notes it.
        let delivery = world.node().take(session).await;
        world.node().hear(&delivery);
        world.restart().await;
        world.run().await;
        assert!(!card(&world, task).await.start_when_unblocked);
        assert_eq!(world.count("deferred_launches").await, 0);
        world.assert_heard_once();
    }

    async fn the_prompt_of_a_start_can_be_taken_back(db: TestDb) {
        let world = World::new(db).await;
        let first = idle(&world, "First").await;
        let task = waiting(&world, "Task", &[first]).await;
        let done = UpdateTask { state: Some("done".to_owned()), ..UpdateTask::default() };
        world.board().task_update(&OPERATOR, first, done).await.unwrap();
        let waiting = world.primary(task).await;
        let rows = world.read(async |db| store::queue::list(db, waiting.session).await).await;
        world.board().prompt_remove(&OPERATOR, rows[0].id).await.unwrap();
        world.run().await;
        assert_eq!(world.count("deferred_launches").await, 0);
        assert!(world.primary(task).await.texts().is_empty());
    }

    async fn the_words_of_a_start_that_failed_can_be_changed(db: TestDb) {
        let world = World::new(db).await;
        let first = idle(&world, "First").await;
        let task = waiting(&world, "Task", &[first]).await;
        let done = UpdateTask { state: Some("done".to_owned()), ..UpdateTask::default() };
        world.board().task_update(&OPERATOR, first, done).await.unwrap();
        let session = card(&world, task).await.primary_session_id.unwrap();
        world.node().break_agent(session);
        world.run().await;
        world.node().mend_agent(session);
        let words = UpdateTask { deferred_launch_prompt: Some("Otherwise.".to_owned()), ..UpdateTask::default() };
        world.board().task_update(&OPERATOR, task, words).await.unwrap();
        set(&world, first, "open").await;
        set(&world, first, "done").await;
        assert_eq!(world.primary(task).await.texts(), ["Otherwise."]);
    }

    async fn the_words_of_a_start_that_waits_can_be_changed(db: TestDb) {
        let world = World::new(db).await;
        let first = idle(&world, "First").await;
        let task = waiting(&world, "Task", &[first]).await;
        let change = |title: &str| UpdateTask {
            title: Some(title.to_owned()),
            deferred_launch_prompt: Some("Begin otherwise.".to_owned()),
            ..UpdateTask::default()
        };
        let board = world.board();
        assert_eq!(board.task_update(&OPERATOR, task, change("New")).await.unwrap().title, "New");
        set(&world, first, "done").await;
        assert_eq!(world.primary(task).await.texts(), ["Begin otherwise."]);
        refused(board.task_update(&OPERATOR, task, change("Late")).await, ErrorCode::Conflict);
        assert_eq!(card(&world, task).await.title, "New", "all or nothing");
        refused(board.task_update(&OPERATOR, first, change("None")).await, ErrorCode::Conflict);
    }

    async fn a_start_that_waits_survives_a_restart_and_names_its_sender(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.working("Parent").await;
        let first = parent.create(CreateTask { start_agent: Some(false), ..prompted("First") }).await.unwrap().task.id;
        let second = CreateTask { blocked_by: vec![first], ..prompted("Second") };
        let task = parent.create(second).await.unwrap().task.id;
        world.restart().await;
        world.run().await;
        set(&world, first, "done").await;
        let puppet = world.primary(task).await;
        assert_eq!(puppet.texts(), ["Begin with Second."]);
        let message = puppet.transcript().await.remove(0);
        assert_eq!(message.metadata["sender_task_id"], json!(parent.task));
    }

    async fn an_agent_says_it_of_its_own_task_only(db: TestDb) {
        let world = World::new(db).await;
        let first = idle(&world, "First").await;
        let puppet = world.working("Task").await;
        let board = world.board();
        board.dependency_add(&puppet.actor(), puppet.task, first).await.unwrap();
        assert!(puppet.card().await.blocked && puppet.is_in_turn(), "what runs is not stopped");
        refused(board.dependency_add(&puppet.actor(), first, puppet.task).await, ErrorCode::Forbidden);
        refused(board.dependency_remove(&puppet.actor(), first, puppet.task).await, ErrorCode::Forbidden);
        let related = board.task_related(&puppet.actor(), puppet.task, false).await.unwrap();
        assert_eq!(related.depends_on[0].id, first);
        assert_eq!(related.blockers, related.depends_on);
        assert!(related.blocks.is_empty() && related.blocked_by.is_empty());
        let related = board.task_related(&puppet.actor(), first, true).await.unwrap();
        assert_eq!(related.blocks[0].id, puppet.task);
        assert_eq!(related.blocks[0].description.as_deref(), Some("Begin with Task."));
        assert_eq!(related.blocked_by, related.blocks);
        assert!(related.depends_on.is_empty());
        let page = board.task_page(&OPERATOR, puppet.task).await.unwrap();
        assert_eq!(page.depends_on[0].title, "First");
        assert_eq!(board.dependency_list(&OPERATOR, puppet.task).await.unwrap().depends_on, [first]);
    }

    async fn a_blocked_card_that_enters_a_step_that_starts_does_so_when_it_is_free(db: TestDb) {
        let world = World::new(db).await;
        let first = idle(&world, "First").await;
        let params = CreateTask {
            blocked_by: vec![first],
            start_agent: Some(false),
            ..prompted("Task")
        };
        let task = world.create(params).await.unwrap().task.id;
        let board = world.board();
        board.task_move(&OPERATOR, task, &MoveTask::to(world.step("In Progress"))).await.unwrap();
        world.run().await;
        let view = card(&world, task).await;
        assert_eq!(view.workflow_step_id, world.step("In Progress"));
        assert_eq!((view.session_count, view.start_when_unblocked), (0, true));
        set(&world, first, "done").await;
        assert_eq!(world.primary(task).await.texts(), ["Begin with Task."]);
    }

    async fn a_blocked_task_takes_messages_once_it_was_started(db: TestDb) {
        let world = World::new(db).await;
        let first = idle(&world, "First").await;
        let task = waiting(&world, "Task", &[first]).await;
        let other = world.working("Other").await;
        refused(other.send(note(task, "Hello?")).await, ErrorCode::NotFound);
        set(&world, first, "done").await;
        other.send(note(task, "Hello.")).await.unwrap();
    }

    async fn an_archived_dependant_starts_when_it_is_back(db: TestDb) {
        let world = World::new(db).await;
        let first = idle(&world, "First").await;
        let task = waiting(&world, "Task", &[first]).await;
        world.board().task_archive(&OPERATOR, task).await.unwrap();
        set(&world, first, "done").await;
        assert_eq!(card(&world, task).await.session_count, 0);
        world.board().task_unarchive(&OPERATOR, task).await.unwrap();
        world.run().await;
        assert_eq!(world.primary(task).await.texts(), ["Begin with Task."]);
    }
}
