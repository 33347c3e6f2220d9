//! Cards move as their workflow says: when a turn begins and when it ends, and not while anybody is being asked.

use crate::puppet::choice;
use crate::world::{World, prompted, refused};
use board::{Actor, Settings, TurnOutcome};
use domain::clarification::ClarificationAnswer;
use domain::error::ErrorCode;
use domain::ids::{TaskId, WorkspaceId};
use domain::message::MessageType;
use domain::moves::Disposition;
use domain::params::{BoardOf, CreateTask, MoveTask};
use domain::task::TaskState;
use domain::workflow::{EnterAction, MoveAction, StepEvents};
use serde_json::json;

/// What a step does. No tool edits workflows yet.
async fn set_events(world: &World, step: &str, events: &StepEvents) {
    let events = serde_json::to_string(events).unwrap();
    world
        .execute(&format!(
            "update steps set events = '{events}' where id = '{}'",
            world.step(step)
        ))
        .await;
}

async fn set_step(world: &World, step: &str, assignment: &str) {
    world
        .execute(&format!(
            "update steps set {assignment} where id = '{}'",
            world.step(step)
        ))
        .await;
}

fn to(world: &World, step: &str) -> MoveTask {
    MoveTask::to(world.step(step))
}

store::on_both_engines! {
    async fn a_card_goes_through_the_kanban_steps(db: TestDb) {
        let world = World::new(db).await;
        let card = CreateTask { start_agent: Some(false), ..prompted("Task") };
        let task = world.create(card).await.unwrap().task;
        assert_eq!(task.workflow_step_id, world.step("Backlog"));
        world.board().prompt_task(&Actor::Operator, task.id, "Go.", None).await.unwrap();
        world.run().await;
        let puppet = world.primary(task.id).await;
        assert_eq!(puppet.step().await, "In Progress");
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.step().await, "Review");
        puppet.operator_says("Once more.").await;
        assert_eq!(puppet.step().await, "Review", "when the turn begins, not when the words are stored");
        world.run().await;
        assert_eq!(puppet.step().await, "In Progress");
        puppet.end_turn().await;
        world.run().await;
        world.board().task_move(&Actor::Operator, task.id, &to(&world, "Done")).await.unwrap();
        world.run().await;
        assert!(!puppet.is_in_turn(), "Done starts nothing");
        puppet.operator_says("One thing more.").await;
        world.run().await;
        assert_eq!(puppet.step().await, "In Progress");

        let moves = world
            .read(async |db| {
                db.fetch_raw("select move_trigger, actor from step_transitions order by created_at, id").await
            })
            .await;
        let moves: Vec<_> = moves.iter().map(|m| m[0].as_deref().unwrap()).collect();
        assert_eq!(moves, ["on_turn_start", "auto_complete", "on_turn_start", "auto_complete", "manual", "on_turn_start"]);
    }

    // D16
    async fn a_pending_question_keeps_the_card_where_it_is(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        assert_eq!(child.step().await, "In Progress");
        assert_eq!(parent.step().await, "Review", "the parent's own card moves");
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        assert_eq!(child.step().await, "In Progress");
        child.end_turn().await;
        world.run().await;
        assert_eq!(child.step().await, "Review");
    }

    // D16: a signal that was given before the question is dropped.
    async fn a_signal_given_before_a_question_does_not_survive_it(db: TestDb) {
        let world = World::new(db).await;
        set_step(&world, "In Progress", "auto_advance_requires_signal = 1").await;
        let (parent, child) = world.family().await;
        assert!(world.board().step_complete(&child.actor(), "Done.", None, None).await.unwrap().accepted);
        let question = child.ask_and_wait("Really?").await;
        world.run().await;
        parent.end_turn().await;
        parent.reply(&child, question, "No, the tests fail.").await.unwrap();
        world.run().await;
        child.end_turn().await;
        world.run().await;
        assert_eq!(child.step().await, "In Progress");
    }

    async fn an_open_question_to_the_operator_keeps_the_card_where_it_is(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let board = world.board();
        let bundle = board.ask_operator(&puppet.actor(), &choice("Which?"), &json!({})).await.unwrap();
        board.clarification_detach(bundle).await.unwrap();
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.step().await, "In Progress");
        let skip = ClarificationAnswer { rejected: true, ..ClarificationAnswer::default() };
        board.clarification_respond(&Actor::Operator, bundle, &skip).await.unwrap();
        puppet.operator_says("Go on.").await;
        world.run().await;
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.step().await, "Review");
    }

    async fn an_operators_cancel_counts_where_the_step_says_so(db: TestDb) {
        let world = World::new(db).await;
        let counts = world.working("Counts").await;
        world.board().session_cancel(&Actor::Operator, counts.session).await.unwrap();
        world.run().await;
        assert_eq!(counts.step().await, "Review");

        set_step(&world, "In Progress", "cancel_triggers_turn_complete = 0").await;
        let does_not = world.working("Does not").await;
        world.board().session_cancel(&Actor::Operator, does_not.session).await.unwrap();
        world.run().await;
        assert_eq!(does_not.step().await, "In Progress");
        assert_eq!(does_not.card().await.state, TaskState::Review);
    }

    async fn a_cancel_that_nobody_asked_for_and_a_failure_move_no_card(db: TestDb) {
        let world = World::new(db).await;
        for outcome in [TurnOutcome::Cancelled, TurnOutcome::Failed("overloaded".to_owned())] {
            let puppet = world.working("Task").await;
            puppet.end_turn_with(outcome).await;
            world.run().await;
            assert_eq!(puppet.step().await, "In Progress");
            assert_eq!(puppet.card().await.state, TaskState::Review);
        }
    }

    async fn a_step_that_needs_a_signal_waits_for_it(db: TestDb) {
        let world = World::new(db).await;
        set_step(&world, "In Progress", "auto_advance_requires_signal = 1").await;
        let puppet = world.working("Task").await;
        assert!(puppet.last_heard().hidden().contains("step_complete_kandev"));
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.step().await, "In Progress");

        puppet.operator_says("Go on.").await;
        world.run().await;
        let board = world.board();
        let done = board.step_complete(&puppet.actor(), " All done. ", Some("Look at x."), Some(" ")).await.unwrap();
        assert!(done.accepted);
        assert_eq!(done.step_id, Some(world.step("In Progress")));
        let again = board.step_complete(&puppet.actor(), "All done.", None, None).await.unwrap();
        assert_eq!((again.accepted, again.reason.as_deref()), (false, Some("already_signaled")));
        assert_eq!(puppet.step().await, "In Progress", "when the turn ends, not before");
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.step().await, "Review");
        assert_eq!(world.count("step_signals").await, 0, "it was used");
    }

    // Task-domain 2.3: what one step's agent hands over is what the next one's begins with.
    async fn what_a_step_hands_over_stands_before_the_words_of_the_next(db: TestDb) {
        let world = World::new(db).await;
        set_step(&world, "In Progress", "auto_advance_requires_signal = 1").await;
        let starts = StepEvents { on_enter: vec![EnterAction::AutoStartAgent], ..StepEvents::default() };
        set_events(&world, "Review", &starts).await;
        set_step(&world, "Review", "prompt = 'Review it.', wip_limit = 1").await;
        let done = async |puppet: &crate::puppet::Puppet, handoff| {
            world.board().step_complete(&puppet.actor(), "All done.", handoff, None).await.unwrap();
            puppet.end_turn().await;
            world.run().await;
        };
        let first = world.working("First").await;
        done(&first, Some(" Look at x. ")).await;
        assert_eq!(first.step().await, "Review");
        assert_eq!(first.last_heard().text, "Handed over from \"In Progress\":\nLook at x.\n\nReview it.");

        // A full step takes the card without starting it: the words wait with it, also through a crash.
        let second = world.working("Second").await;
        done(&second, Some("Look at y.")).await;
        assert_eq!((second.step().await.as_str(), second.card().await.wip_admitted), ("Review", false));
        assert!(!second.is_in_turn());
        world.restart().await;
        first.operator_says("Enough.").await;
        world.board().task_move(&Actor::Operator, first.task, &to(&world, "Done")).await.unwrap();
        world.run().await;
        first.end_turn_if_open().await;
        world.run().await;
        assert!(second.card().await.wip_admitted);
        assert!(second.last_heard().text.starts_with("Handed over from \"In Progress\":\nLook at y."));

        // Without words there is nothing to hand over, and a step that starts nothing has nobody to hand it to.
        second.end_turn().await;
        world.run().await;
        set_events(&world, "Review", &StepEvents::default()).await;
        set_step(&world, "Review", "wip_limit = 0").await;
        let third = world.working("Third").await;
        done(&third, Some("Nobody reads this.")).await;
        assert_eq!((third.step().await.as_str(), third.texts().len()), ("Review", 1));
        assert_eq!(world.count("entry_markers").await, 0);
    }

    async fn a_message_before_the_move_cancels_the_signal(db: TestDb) {
        let world = World::new(db).await;
        set_step(&world, "In Progress", "auto_advance_requires_signal = 1").await;
        let puppet = world.working("Task").await;
        world.board().step_complete(&puppet.actor(), "All done.", None, None).await.unwrap();
        puppet.operator_says("Not yet, look at y too.").await;
        puppet.end_turn().await;
        world.run().await;
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.step().await, "In Progress");
    }

    async fn signals_are_of_agents_with_live_sessions_and_have_words(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let board = world.board();
        refused(board.step_complete(&Actor::Operator, "Done.", None, None).await, ErrorCode::Forbidden);
        refused(board.step_complete(&puppet.actor(), "  ", None, None).await, ErrorCode::Validation);
        board.session_stop(&Actor::Operator, puppet.session).await.unwrap();
        refused(board.step_complete(&puppet.actor(), "Done.", None, None).await, ErrorCode::Conflict);
        // Where no signal is needed it changes nothing.
        let other = world.working("Other").await;
        board.step_complete(&other.actor(), "Done.", None, None).await.unwrap();
        other.end_turn().await;
        world.run().await;
        assert_eq!(other.step().await, "Review");
    }

    // Two steps that send the card to one another at every start of a turn.
    async fn a_workflow_that_moves_in_a_loop_is_stopped(db: TestDb) {
        let world = World::with(db, Settings { max_automatic_moves: 5, ..Settings::default() }).await;
        let loops = |target| StepEvents {
            on_turn_start: vec![MoveAction::MoveToStep { step_id: target }],
            ..StepEvents::default()
        };
        set_events(&world, "In Progress", &loops(world.step("Review"))).await;
        set_events(&world, "Review", &loops(world.step("In Progress"))).await;
        let puppet = world.working("Task").await;
        for n in 0..10 {
            puppet.end_turn().await;
            puppet.operator_says(&n.to_string()).await;
            world.run().await;
        }
        assert_eq!(world.count("step_transitions").await, 5);
        assert!(puppet.is_in_turn(), "only the card stays, the work goes on");

        world.clock.advance(60_001);
        puppet.end_turn().await;
        puppet.operator_says("later").await;
        world.run().await;
        assert_eq!(world.count("step_transitions").await, 6);
    }

    // Task-domain 1.5: on_enter runs when a turn's end brings the card into a step.
    async fn a_step_entered_at_the_end_of_a_turn_starts_its_own_work(db: TestDb) {
        let world = World::new(db).await;
        let mut review = world.steps.iter().find(|s| s.name == "Review").unwrap().events.clone();
        review.on_enter = vec![EnterAction::AutoStartAgent];
        review.on_turn_complete = vec![MoveAction::MoveToNext.into()];
        set_events(&world, "Review", &review).await;
        set_step(&world, "Review", "prompt = 'Review this: {{task_prompt}}'").await;
        let puppet = world.working("Task").await;
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.step().await, "Review");
        assert_eq!(puppet.last_heard().text, "Review this: Begin with Task.");
        let told = puppet.messages_of(MessageType::Message).await;
        let by = |at: usize| told[at].metadata.get("queued_by").cloned();
        assert_eq!((by(0), by(1)), (None, Some(json!("workflow"))), "nobody said it");
        assert!(puppet.is_in_turn());
        assert_eq!(puppet.card().await.state, TaskState::InProgress);
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.step().await, "Done");
        assert_eq!(puppet.card().await.state, TaskState::Review);
    }

    async fn two_steps_that_start_each_other_are_stopped_by_the_cap(db: TestDb) {
        let world = World::with(db, Settings { max_automatic_moves: 4, ..Settings::default() }).await;
        let loops = |target| StepEvents {
            on_enter: vec![EnterAction::AutoStartAgent],
            on_turn_complete: vec![MoveAction::MoveToStep { step_id: target }.into()],
            ..StepEvents::default()
        };
        set_events(&world, "In Progress", &loops(world.step("Review"))).await;
        set_events(&world, "Review", &loops(world.step("In Progress"))).await;
        let puppet = world.working("Task").await;
        let mut turns = 1;
        while puppet.is_in_turn() {
            puppet.end_turn().await;
            world.run().await;
            turns += 1;
            assert!(turns < 20, "the loop goes on");
        }
        assert_eq!(world.count("step_transitions").await, 4);
        assert_eq!(puppet.card().await.state, TaskState::Review);
    }

    async fn entering_a_step_that_starts_gives_the_task_its_first_prompt_word_for_word(db: TestDb) {
        let world = World::new(db).await;
        let words = "  Two lines,\nindented as written.\n";
        let card = CreateTask { start_agent: Some(false), description: words.to_owned(), ..prompted("Task") };
        let task = world.create(card).await.unwrap().task.id;
        world.board().task_move(&Actor::Operator, task, &to(&world, "In Progress")).await.unwrap();
        world.run().await;
        let puppet = world.primary(task).await;
        assert_eq!(puppet.texts(), [words]);
        assert_eq!(puppet.step().await, "In Progress");
        // Coming back to it says that, and moving within it says nothing.
        puppet.end_turn().await;
        world.run().await;
        world.board().task_move(&Actor::Operator, task, &to(&world, "In Progress")).await.unwrap();
        world.run().await;
        assert!(puppet.last_heard().text.contains("In Progress"));
        let place = MoveTask { position: Some(0), ..to(&world, "In Progress") };
        world.board().task_move(&Actor::Operator, task, &place).await.unwrap();
        world.run().await;
        assert_eq!(puppet.texts().len(), 2);
    }

    async fn a_card_without_words_or_at_work_is_moved_and_starts_nothing(db: TestDb) {
        let world = World::new(db).await;
        let card = CreateTask { title: "Bare".to_owned(), ..CreateTask::default() };
        let bare = world.create(card).await.unwrap().task.id;
        world.board().task_move(&Actor::Operator, bare, &to(&world, "In Progress")).await.unwrap();
        world.run().await;
        assert_eq!(world.count("sessions").await, 0);

        let busy = world.working("Busy").await;
        let moved = world.board().task_move(&Actor::Operator, busy.task, &to(&world, "Done")).await.unwrap();
        assert_eq!(moved.disposition, Disposition::Deferred);
        world.run().await;
        assert_eq!(busy.step().await, "In Progress", "until its turn has ended");
        busy.end_turn().await;
        world.run().await;
        assert_eq!(busy.step().await, "Done");
        assert_eq!(busy.texts().len(), 1);
    }

    async fn cards_keep_the_places_they_are_given(db: TestDb) {
        let world = World::new(db).await;
        let mut cards = Vec::new();
        for title in ["a", "b", "c"] {
            let card = CreateTask { title: title.to_owned(), ..CreateTask::default() };
            cards.push(world.create(card).await.unwrap().task.id);
        }
        let front = MoveTask { position: Some(0), ..to(&world, "Backlog") };
        world.board().task_move(&Actor::Operator, cards[2], &front).await.unwrap();
        let shown = world.board().board_view(&Actor::Operator, None, None).await.unwrap().tasks;
        let titles: Vec<_> = shown.iter().map(|t| t.title.as_str()).collect();
        assert_eq!(titles, ["c", "a", "b"]);
        let beyond = MoveTask { position: Some(99), ..to(&world, "Backlog") };
        world.board().task_move(&Actor::Operator, cards[2], &beyond).await.unwrap();
        let shown = world.board().board_view(&Actor::Operator, None, None).await.unwrap().tasks;
        let titles: Vec<_> = shown.iter().map(|t| t.title.as_str()).collect();
        assert_eq!(titles, ["a", "b", "c"]);
    }

    async fn the_board_beside_a_page_is_that_of_its_task_or_workspace_or_the_oldest(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let away = board.workspace_create(&Actor::Operator, "Away", "").await.unwrap();
        let card = CreateTask { title: "There".to_owned(), workspace_id: Some(away.id), ..CreateTask::default() };
        let there = world.create(card).await.unwrap().task.id;
        let first = board.workspace_list(&Actor::Operator).await.unwrap()[0].id;
        for (task, workspace, shown) in [
            (None, None, first),
            (None, Some(away.id), away.id),
            (Some(there), Some(first), away.id),
            (Some(TaskId::new()), Some(away.id), away.id),
            (Some(TaskId::new()), Some(WorkspaceId::new()), first),
        ] {
            let view = board.workbench_view(&Actor::Operator, BoardOf { task, workspace }, None).await.unwrap();
            assert_eq!(view.board.workspace.id, shown);
            assert_eq!(view.workspaces.len(), 2);
            assert_eq!(view.board.tasks.len(), usize::from(shown == away.id));
        }
    }

    async fn a_move_to_a_foreign_or_unknown_step_or_of_an_archived_card_is_refused(db: TestDb) {
        let world = World::new(db).await;
        let card = CreateTask { title: "Card".to_owned(), ..CreateTask::default() };
        let card = world.create(card).await.unwrap().task.id;
        let other = world.board().workspace_create(&Actor::Operator, "Other", "").await.unwrap();
        let foreign = world.board().workflow_list(&Actor::Operator, other.id).await.unwrap().remove(0);
        let operator = Actor::Operator;
        let mut wrong = MoveTask { workflow_id: Some(foreign.workflow.id), ..MoveTask::to(foreign.steps[0].id) };
        refused(world.board().task_move(&operator, card, &wrong).await, ErrorCode::Validation);
        wrong.workflow_id = None;
        refused(world.board().task_move(&operator, card, &wrong).await, ErrorCode::Validation);
        wrong.workflow_id = Some(domain::ids::WorkflowId::new());
        refused(world.board().task_move(&operator, card, &wrong).await, ErrorCode::Validation);
        world.board().task_archive(&operator, card).await.unwrap();
        refused(world.board().task_move(&operator, card, &to(&world, "Done")).await, ErrorCode::Conflict);
        assert_eq!(world.count("step_transitions").await, 0);
    }
}
