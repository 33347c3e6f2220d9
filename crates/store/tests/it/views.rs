use crate::world::{UNICODE, World, at, bundle, permission, prompt, question, read, turn, write};
use domain::clarification::{Clarification, ClarificationStatus};
use domain::event::{EventKind, NewEvent};
use domain::executor::Executor;
use domain::ids::{QuestionId, TaskId, WorkspaceId};
use domain::permission::{Permission, PermissionStatus};
use domain::question::{ParentQuestion, QuestionStatus};
use domain::queue::{Lane, QueuedPrompt, QueuedState};
use domain::session::{Session, SessionState};
use domain::task::{Origin, PendingAction, Priority, Task, TaskState, TitleMode};
use domain::turn::{Turn, TurnState};
use domain::view::{Revision, SessionView, TaskView};
use store::Store;
use store::views::{AskingTask, TaskFilter, asking_tasks, sessions, task, tasks};

/// Where nothing is compared: revisions have a test of their own.
const NO_REVISION: Revision = Revision {
    epoch: 0,
    sequence: 0,
};

/// What a task without sessions looks like.
fn bare_view(task: &Task) -> TaskView {
    TaskView {
        id: task.id,
        workspace_id: task.workspace_id,
        workflow_id: task.workflow_id,
        workflow_step_id: task.workflow_step_id,
        title: task.title.clone(),
        description: task.description.clone(),
        state: task.state,
        priority: task.priority,
        position: task.position,
        wip_admitted: task.wip_admitted,
        queued_for_step_id: task.queued_for_step_id,
        queued_at: task.queued_at,
        pending_move_step_id: None,
        workflow_notice: None,
        blocked: false,
        blocked_reason: None,
        depends_on: Vec::new(),
        blocks: Vec::new(),
        start_when_unblocked: false,
        parent_id: task.parent_id,
        autopilot: task.autopilot,
        purpose: task.purpose,
        origin: task.origin,
        external_id: task.external_id.clone(),
        title_mode: task.title_mode,
        agent_profile_id: task.agent_profile_id,
        executor_profile_id: task.executor_profile_id,
        working_directory: task.working_directory.clone(),
        interrupted: task.interrupted_at.is_some(),
        archived_at: task.archived_at,
        created_at: task.created_at,
        updated_at: task.updated_at,
        primary_session_id: None,
        primary_session_state: None,
        primary_session_pending_action: None,
        task_pending_action: None,
        pending_action_revision: NO_REVISION,
        needs_operator: false,
        session_count: 0,
        queued_prompt_count: 0,
        primary_agent_name: None,
        primary_executor_id: None,
        primary_executor_profile_id: None,
        primary_executor_name: None,
        error_message: None,
        turn_started_at: None,
        repositories: Vec::new(),
        prs: Vec::new(),
    }
}

fn unmarked(view: TaskView) -> TaskView {
    TaskView {
        pending_action_revision: NO_REVISION,
        ..view
    }
}

/// The view of one task. A list, which gets it in another way, must show the same.
async fn view(store: &Store, id: TaskId) -> TaskView {
    let one = read(store, async |db| task(db, id).await).await.unwrap();
    let all = TaskFilter {
        include_archived: true,
        limit: 1_000,
        ..TaskFilter::default()
    };
    let listed = read(store, async |db| tasks(db, &all).await).await;
    assert_eq!(listed.iter().find(|task| task.id == id), Some(&one));
    unmarked(one)
}

async fn ids(store: &Store, filter: TaskFilter<'_>) -> Vec<TaskId> {
    read(store, async |db| tasks(db, &filter).await)
        .await
        .iter()
        .map(|task| task.id)
        .collect()
}

store::on_both_engines! {
    async fn a_task_view_shows_the_task_and_its_primary_session(db: TestDb) {
        let world = World::new(&db).await;
        let parent = world.add_task().await;
        let executor = crate::executors::executor_profile(UNICODE);
        write(&db.store, async |tx| store::executors::insert(tx, &executor).await).await.unwrap();
        let whole = Task {
            title: UNICODE.to_owned(),
            description: UNICODE.to_owned(),
            state: TaskState::Review,
            priority: Some(Priority::Low),
            position: 4,
            parent_id: Some(parent.id),
            autopilot: true,
            origin: Origin::Routine,
            external_id: Some("key".to_owned()),
            title_mode: TitleMode::Pending,
            agent_profile_id: Some(world.profile.id),
            executor_profile_id: Some(executor.id),
            working_directory: Some("/work".to_owned()),
            interrupted_at: Some(at(1)),
            archived_at: Some(at(2)),
            updated_at: at(3),
            ..world.task()
        };
        let whole = world.put_task(whole).await;
        assert_eq!(view(&db.store, parent.id).await, bare_view(&parent));
        assert_eq!(view(&db.store, whole.id).await, bare_view(&whole));
        assert_eq!(read(&db.store, async |db| task(db, TaskId::new()).await).await, None);

        let primary = Session {
            is_primary: true,
            state: SessionState::WaitingForInput,
            executor_profile_id: Some(executor.id),
            error_message: Some(UNICODE.to_owned()),
            ..world.session(&whole)
        };
        let primary = world.put_session(primary).await;
        let other = world.add_session(&whole).await;
        let over = Turn { state: TurnState::Completed, completed_at: Some(at(6)), ..turn(&primary) };
        world.put_turn(over).await;
        let open = world.put_turn(Turn { started_at: at(8), ..turn(&other) }).await;
        world.put_prompt(prompt(&primary, Lane::Normal)).await;
        world.put_prompt(prompt(&other, Lane::Normal)).await;
        let attempted =
            QueuedPrompt { state: QueuedState::Attempted, turn_id: Some(open.id), ..prompt(&other, Lane::Normal) };
        world.put_prompt(attempted).await;
        // Nobody but the two agents has to know of it.
        let asks = QueuedPrompt { question_id: Some(QuestionId::new()), ..prompt(&other, Lane::Normal) };
        world.put_prompt(asks).await;
        let answers = QueuedPrompt { answer_for_question_id: Some(QuestionId::new()), ..prompt(&primary, Lane::Normal) };
        world.put_prompt(answers).await;
        let expected = TaskView {
            primary_session_id: Some(primary.id),
            primary_session_state: Some(SessionState::WaitingForInput),
            session_count: 2,
            queued_prompt_count: 2,
            primary_agent_name: Some(world.agent.name.clone()),
            primary_executor_id: Some(Executor::Local),
            primary_executor_profile_id: Some(executor.id),
            primary_executor_name: Some(executor.name.clone()),
            error_message: Some(UNICODE.to_owned()),
            turn_started_at: Some(at(8)),
            ..bare_view(&whole)
        };
        assert_eq!(view(&db.store, whole.id).await, expected);
        assert_eq!(view(&db.store, parent.id).await, bare_view(&parent));
    }

    async fn edges_show_at_both_ends_with_what_they_are_about(db: TestDb) {
        let world = World::new(&db).await;
        let first = world.put_task(Task { title: "First".to_owned(), ..world.task() }).await;
        let done = world.put_task(Task { state: TaskState::Completed, position: 1, ..world.task() }).await;
        let waits = world.put_task(Task { position: 2, ..world.task() }).await;
        write(&db.store, async |tx| {
            store::dependencies::insert(tx, waits.id, first.id, at(1)).await?;
            store::dependencies::insert(tx, waits.id, done.id, at(2)).await?;
            store::launches::insert(tx, &crate::launches::launch(first.id)).await?;
            store::launches::insert(tx, &crate::launches::launch(waits.id)).await
        })
        .await
        .unwrap();
        let expected = TaskView {
            blocked: true,
            blocked_reason: Some("waits for \"First\" (CREATED)".to_owned()),
            depends_on: vec![first.id, done.id],
            start_when_unblocked: true,
            ..bare_view(&waits)
        };
        assert_eq!(view(&db.store, waits.id).await, expected);
        // A start that waits for something else than a task is not said to.
        assert_eq!(view(&db.store, first.id).await, TaskView { blocks: vec![waits.id], ..bare_view(&first) });
        assert_eq!(view(&db.store, done.id).await, TaskView { blocks: vec![waits.id], ..bare_view(&done) });

        let of = async |filter: TaskFilter<'_>| {
            let filter = TaskFilter { limit: 10, ..filter };
            let found = read(&db.store, async |db| tasks(db, &filter).await).await;
            found.into_iter().map(|task| task.id).collect::<Vec<_>>()
        };
        let filter = TaskFilter { predecessors_of: Some(waits.id), ..TaskFilter::default() };
        assert_eq!(of(filter).await, [first.id, done.id]);
        let filter = TaskFilter { dependants_of: Some(done.id), ..TaskFilter::default() };
        assert_eq!(of(filter).await, [waits.id]);
        // What a caller reaches counts before the page is cut.
        let somewhere = WorkspaceId::new();
        for (within, found) in [(&[][..], 0), (&[somewhere], 0), (&[somewhere, waits.workspace_id], 3)] {
            let filter = TaskFilter { within: Some(within), ..TaskFilter::default() };
            assert_eq!(of(filter).await.len(), found);
        }
        // A page shows the edges of its own tasks, also to tasks beyond it.
        let page = TaskFilter { limit: 1, ..TaskFilter::default() };
        let page = read(&db.store, async |db| tasks(db, &page).await).await;
        let page: Vec<TaskView> = page.into_iter().map(unmarked).collect();
        assert_eq!(page, [TaskView { blocks: vec![waits.id], ..bare_view(&first) }]);
        let page = TaskFilter { after: Some(done.id), by_age: true, limit: 5, ..TaskFilter::default() };
        let page: Vec<TaskView> = read(&db.store, async |db| tasks(db, &page).await).await.into_iter().map(unmarked).collect();
        assert_eq!(page, [expected]);
    }

    async fn a_move_that_waits_shows_on_its_task(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let pending = crate::moves::pending(&world, &session);
        write(&db.store, async |tx| store::moves::insert_pending(tx, &pending).await).await.unwrap();
        assert_eq!(view(&db.store, task.id).await.pending_move_step_id, Some(pending.step_id));
    }

    async fn what_is_pending_shows_on_its_session_and_on_its_task(db: TestDb) {
        let world = World::new(&db).await;
        let parent = world.add_task().await;
        let child = world.add_child(&parent).await;
        let primary = world.put_session(Session { is_primary: true, ..world.session(&child) }).await;
        let other = world.add_session(&child).await;
        let shown = async || {
            let view = view(&db.store, child.id).await;
            (view.primary_session_pending_action, view.task_pending_action, view.needs_operator)
        };
        let shown_by_session = async |session: &Session| {
            let views = read(&db.store, async |db| sessions(db, child.id).await).await;
            views.into_iter().find(|view| view.id == session.id).unwrap().pending_action
        };
        let (clarification, permitted) = (Some(PendingAction::Clarification), Some(PendingAction::Permission));
        assert_eq!(shown().await, (None, None, false));

        // Resolved rows are nothing pending.
        world.put_bundle(Clarification {
            status: ClarificationStatus::Answered,
            resolved_at: Some(at(1)),
            ..bundle(&primary, "over")
        }).await;
        world.put_permission(Permission {
            status: PermissionStatus::Cancelled,
            resolved_at: Some(at(1)),
            ..permission(&primary)
        }).await;
        world.put_question(ParentQuestion {
            status: QuestionStatus::Stale,
            resolved_at: Some(at(1)),
            ..question(&primary, parent.id)
        }).await;
        assert_eq!(shown().await, (None, None, false));

        // A child that waits for its parent needs no operator.
        world.put_question(question(&other, parent.id)).await;
        assert_eq!(shown().await, (None, clarification, false));
        assert_eq!(shown_by_session(&other).await, clarification);
        assert_eq!(shown_by_session(&primary).await, None);
        world.put_question(question(&primary, parent.id)).await;
        assert_eq!(shown().await, (clarification, clarification, false));
        assert_eq!(view(&db.store, parent.id).await.task_pending_action, None, "the parent itself asks nothing");

        world.put_bundle(bundle(&primary, "open")).await;
        assert_eq!(shown().await, (clarification, clarification, true));
        // A permission goes before a question.
        world.put_permission(permission(&other)).await;
        assert_eq!(shown().await, (clarification, permitted, true));
        assert_eq!(shown_by_session(&other).await, permitted);
        world.put_permission(permission(&primary)).await;
        assert_eq!(shown().await, (permitted, permitted, true));
        assert_eq!(shown_by_session(&primary).await, permitted);
    }

    async fn a_later_projection_has_a_later_revision(db: TestDb) {
        let world = World::new(&db).await;
        let (one, session) = world.add_conversation().await;
        let seen = async || {
            let of_task = read(&db.store, async |db| task(db, one.id).await).await.unwrap().pending_action_revision;
            let of_session = read(&db.store, async |db| sessions(db, one.id).await).await.remove(0).pending_action_revision;
            assert_eq!(of_task, of_session);
            of_task
        };
        let before = seen().await;
        assert!(before.epoch > 0);
        let event = NewEvent::new(EventKind::ClarificationChanged).session(session.id);
        write(&db.store, async |tx| store::events::append(tx, &event, at(1)).await.map(drop)).await.unwrap();
        let after = seen().await;
        assert!(after > before && after.replaces(before) && !before.replaces(after));
        assert_eq!(after.epoch, before.epoch);
    }

    async fn tasks_that_ask_something_of_the_operator_are_found(db: TestDb) {
        let world = World::new(&db).await;
        let (asks, session) = world.add_conversation().await;
        let (wants, other) = world.add_conversation().await;
        world.add_conversation().await;
        let archived = world.put_task(Task { archived_at: Some(at(1)), ..world.task() }).await;
        let of_archived = world.add_session(&archived).await;
        for session in [&session, &of_archived] {
            world.put_bundle(bundle(session, "call")).await;
        }
        world.put_permission(permission(&session)).await;
        world.put_permission(permission(&other)).await;
        let mut expected = [asks, wants].map(|task| AskingTask {
            id: task.id,
            title: task.title,
            workspace_id: task.workspace_id,
        });
        expected.sort_by_key(|task| task.id);
        assert_eq!(read(&db.store, async |db| asking_tasks(db).await).await, expected);
    }

    async fn tasks_are_filtered_by_everything_that_is_given(db: TestDb) {
        let world = World::new(&db).await;
        let elsewhere = World::beside(&db, "Other agent").await;
        let a = world.put_task(Task { position: 1, ..world.task() }).await;
        let b = world.put_task(Task { position: 0, parent_id: Some(a.id), ..world.task() }).await;
        let in_review = Task {
            workflow_step_id: world.steps[2].id,
            state: TaskState::Review,
            parent_id: Some(a.id),
            ..world.task()
        };
        let c = world.put_task(in_review).await;
        let archived = world.put_task(Task { archived_at: Some(at(1)), parent_id: Some(a.id), ..world.task() }).await;
        let d = world.put_task(elsewhere.task()).await;

        let all = TaskFilter { limit: 100, by_age: true, ..TaskFilter::default() };
        let here = TaskFilter { workspace_id: Some(world.workspace.id), ..all };
        let of = async |filter| ids(&db.store, filter).await;
        assert_eq!(of(all).await, [a.id, b.id, c.id, d.id]);
        assert_eq!(of(TaskFilter { include_archived: true, ..all }).await, [a.id, b.id, c.id, archived.id, d.id]);
        assert_eq!(of(here).await, [a.id, b.id, c.id]);
        assert_eq!(of(TaskFilter { workflow_id: Some(elsewhere.workflow.id), ..all }).await, [d.id]);
        assert_eq!(of(TaskFilter { workflow_step_id: Some(world.steps[2].id), ..all }).await, [c.id]);
        assert_eq!(of(TaskFilter { parent_id: Some(a.id), ..all }).await, [b.id, c.id]);
        assert_eq!(of(TaskFilter { state: Some(TaskState::Review), ..all }).await, [c.id]);
        let nothing = TaskFilter { state: Some(TaskState::Review), workflow_step_id: Some(world.steps[0].id), ..all };
        assert!(of(nothing).await.is_empty());
        assert_eq!(of(TaskFilter { after: Some(a.id), ..here }).await, [b.id, c.id]);
        assert_eq!(of(TaskFilter { after: Some(a.id), limit: 1, ..here }).await, [b.id]);
        let board = of(TaskFilter { by_age: false, ..here }).await;
        let first_step_first = world.steps[0].id < world.steps[2].id;
        assert_eq!(board, if first_step_first { [b.id, a.id, c.id] } else { [c.id, b.id, a.id] });
        let views = read(&db.store, async |db| tasks(db, &here).await).await;
        let views: Vec<_> = views.into_iter().map(unmarked).collect();
        assert_eq!(views, [bare_view(&a), bare_view(&b), bare_view(&c)]);
    }

    async fn a_session_view_shows_the_session_and_what_it_waits_for(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let whole = Session {
            name: Some(UNICODE.to_owned()),
            state: SessionState::Failed,
            is_primary: true,
            is_passthrough: true,
            workspace_path: Some("/work".to_owned()),
            error_message: Some(UNICODE.to_owned()),
            auto_run: false,
            plan_mode: true,
            session_mode: Some(UNICODE.to_owned()),
            started_at: Some(at(2)),
            completed_at: Some(at(3)),
            created_at: at(1),
            updated_at: at(4),
            ..world.session(&task)
        };
        let whole = world.put_session(whole).await;
        let bare = world.add_session(&task).await;
        let open = world.put_turn(Turn { started_at: at(5), ..turn(&bare) }).await;
        world.put_prompt(prompt(&bare, Lane::Express)).await;
        let attempted =
            QueuedPrompt { state: QueuedState::Attempted, turn_id: Some(open.id), ..prompt(&bare, Lane::Normal) };
        world.put_prompt(attempted).await;
        let shown = |session: &Session| SessionView {
            id: session.id,
            task_id: session.task_id,
            name: session.name.clone(),
            state: session.state,
            is_primary: session.is_primary,
            is_passthrough: session.is_passthrough,
            agent_profile_id: session.agent_profile_id,
            agent_name: world.agent.name.clone(),
            executor_id: Executor::Local,
            executor_profile_id: session.executor_profile_id,
            workspace_path: session.workspace_path.clone(),
            error_message: session.error_message.clone(),
            pending_action: None,
            pending_action_revision: NO_REVISION,
            auto_run: session.auto_run,
            plan_mode: session.plan_mode,
            session_mode: session.session_mode.clone(),
            queued_prompt_count: 0,
            turn_started_at: None,
            started_at: session.started_at,
            completed_at: session.completed_at,
            created_at: session.created_at,
            updated_at: session.updated_at,
        };
        let expected = [
            shown(&whole),
            SessionView { queued_prompt_count: 1, turn_started_at: Some(at(5)), ..shown(&bare) },
        ];
        let found = read(&db.store, async |db| sessions(db, task.id).await).await;
        let found: Vec<_> =
            found.into_iter().map(|view| SessionView { pending_action_revision: NO_REVISION, ..view }).collect();
        assert_eq!(found, expected, "newest first");
        assert!(read(&db.store, async |db| sessions(db, TaskId::new()).await).await.is_empty());
    }
}
