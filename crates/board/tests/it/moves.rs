//! Moves of cards (task-domain section 7): at once or at the end of the turn, their options, and who loses.

use crate::puppet::{Puppet, note};
use crate::races::at_once;
use crate::world::{NODE, World, prompted, refused, soon};
use board::{Actor, Settings, TurnOutcome};
use domain::error::ErrorCode;
use domain::moves::{Disposition, EntryOptions};
use domain::params::{CreateTask, MessageTask, MoveTask, UpdateStep};
use domain::question::QuestionStatus;
use domain::session::SessionState;
use domain::task::TaskState;
use domain::view::TaskMoved;
use domain::workflow::{EnterAction, MoveAction};
use serde_json::json;

const OPERATOR: Actor = Actor::Operator;

/// A world whose Review starts an agent with words of its own.
async fn reviewing(db: store::testing::TestDb) -> World {
    let world = World::new(db).await;
    let mut events = world
        .steps
        .iter()
        .find(|s| s.name == "Review")
        .unwrap()
        .events
        .clone();
    events.on_enter = vec![EnterAction::AutoStartAgent];
    events.on_turn_start = Vec::new();
    let params = UpdateStep {
        prompt: Some("Review: {{task_prompt}}".to_owned()),
        events: Some(events),
        ..UpdateStep::default()
    };
    world
        .board()
        .step_update(&OPERATOR, world.step("Review"), params)
        .await
        .unwrap();
    world
}

/// Nothing moves by itself at the end of a turn.
async fn stay(world: &World, step: &str) {
    let mut events = world
        .steps
        .iter()
        .find(|s| s.name == step)
        .unwrap()
        .events
        .clone();
    events.on_turn_complete = Vec::new();
    let params = UpdateStep {
        events: Some(events),
        ..UpdateStep::default()
    };
    world
        .board()
        .step_update(&OPERATOR, world.step(step), params)
        .await
        .unwrap();
}

async fn move_as(
    world: &World,
    actor: Actor,
    puppet: &Puppet,
    params: &MoveTask,
) -> board::Result<TaskMoved> {
    world.board().task_move(&actor, puppet.task, params).await
}

async fn to(world: &World, puppet: &Puppet, step: &str) -> board::Result<TaskMoved> {
    move_as(world, OPERATOR, puppet, &MoveTask::to(world.step(step))).await
}

fn with(world: &World, step: &str, options: EntryOptions) -> MoveTask {
    MoveTask {
        entry_options: Some(options),
        ..MoveTask::to(world.step(step))
    }
}

fn handoff(text: &str) -> EntryOptions {
    EntryOptions {
        instructions: Some(text.to_owned()),
        ..EntryOptions::default()
    }
}

async fn history(world: &World) -> Vec<Vec<String>> {
    let rows = world
        .read(async |db| {
            db.fetch_raw("select move_trigger, actor, session_id, move_id from step_transitions order by created_at, id").await
        })
        .await;
    rows.into_iter()
        .map(|row| row.into_iter().map(Option::unwrap_or_default).collect())
        .collect()
}

/// A client with a token.
async fn outside(world: &World) -> Actor {
    let made = world.board().token_create(&Actor::Operator, "client").await;
    Actor::External {
        token: made.unwrap().info.id,
    }
}

store::on_both_engines! {
    async fn a_move_waits_for_the_end_of_the_turn_and_goes_before_what_waits(db: TestDb) {
        let world = reviewing(db).await;
        let puppet = world.working("Task").await;
        let moved = to(&world, &puppet, "Done").await.unwrap();
        assert_eq!(moved.disposition, Disposition::Deferred);
        assert!(moved.move_id.is_some() && moved.entry_options.is_none());
        assert_eq!(moved.task.workflow_step_id, world.step("In Progress"), "where it was");
        assert_eq!(moved.task.pending_move_step_id, Some(world.step("Done")));
        assert_eq!(moved.workflow_step.name, "In Progress");
        world.run().await;
        assert_eq!(puppet.step().await, "In Progress");
        puppet.operator_says("And then this.").await;
        puppet.end_turn().await;
        assert_eq!(puppet.step().await, "Done", "before the queue is drained, and not to Review");
        assert_eq!(puppet.card().await.pending_move_step_id, None);
        assert_eq!(world.count("pending_moves").await, 0);
        world.run().await;
        assert_eq!(puppet.texts().last().map(String::as_str), Some("And then this."));
        let first = history(&world).await.remove(0);
        assert_eq!((first[0].as_str(), first[1].as_str()), ("manual", "human"));
        assert_eq!(first[3], moved.move_id.unwrap().to_string());
    }

    async fn every_end_of_a_turn_carries_out_the_move(db: TestDb) {
        let world = World::new(db).await;
        for way in ["fails", "is cancelled", "stops", "dies", "restart"] {
            let puppet = world.working("Task").await;
            to(&world, &puppet, "Done").await.unwrap();
            match way {
                "fails" => puppet.end_turn_with(TurnOutcome::Failed("overloaded".to_owned())).await,
                "is cancelled" => puppet.end_turn_with(TurnOutcome::Cancelled).await,
                "stops" => drop(world.board().session_stop(&OPERATOR, puppet.session).await.unwrap()),
                "dies" => world.node().die(puppet.session).await.unwrap(),
                _ => drop(world.restart().await),
            }
            world.run().await;
            assert_eq!(puppet.step().await, "Done", "{way}");
            assert_eq!(world.count("pending_moves").await, 0, "{way}");
        }
    }

    async fn a_move_during_a_start_waits_for_the_turn_that_comes(db: TestDb) {
        let world = World::new(db).await;
        let created = world.create(prompted("Task")).await.unwrap();
        let puppet = world.puppet(created.task.id, created.session_id.unwrap());
        let delivery = world.node().take(puppet.session).await;
        assert_eq!(puppet.state().await, SessionState::Starting);
        assert_eq!(to(&world, &puppet, "Done").await.unwrap().disposition, Disposition::Deferred);
        world.node().hear(&delivery);
        world.board().prompt_accepted(delivery.turn, NODE).await.unwrap();
        puppet.end_turn().await;
        assert_eq!(puppet.step().await, "Done");
    }

    async fn a_start_that_fails_ends_the_wait_too(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Task").await;
        world.node().die(puppet.session).await.unwrap();
        world.node().break_agent(puppet.session);
        puppet.operator_says("Go on.").await;
        // Its agent is being started, which takes its time.
        let next = world.node().next(puppet.session).await.unwrap();
        assert!(matches!(next, board::Next::Launch(_)));
        assert_eq!(to(&world, &puppet, "Done").await.unwrap().disposition, Disposition::Deferred);
        world.board().session_failed(puppet.session, NODE, "no such program").await.unwrap();
        assert_eq!(puppet.step().await, "Done");
    }

    async fn only_one_move_waits(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let (one, two) = {
            let (first, second) = (puppet.clone(), puppet.clone());
            let (here, there) = (world.clone(), world.clone());
            soon(at_once(
                async move { to(&here, &first, "Done").await },
                async move { to(&there, &second, "Backlog").await },
            ))
            .await
        };
        let (won, lost) = if one.is_ok() { (one, two) } else { (two, one) };
        let target = won.unwrap().task.pending_move_step_id.unwrap();
        let refusal = refused(lost, ErrorCode::Conflict);
        assert!(refusal.message.contains("moves to"), "{}", refusal.message);
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.card().await.workflow_step_id, target);
        assert_eq!(world.count("step_transitions where move_id is not null").await, 1);
    }

    async fn of_two_moves_of_a_resting_card_both_are_done_in_some_order(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Task").await;
        let (first, second) = (puppet.clone(), puppet.clone());
        let (here, there) = (world.clone(), world.clone());
        let (one, two) = soon(at_once(
            async move { to(&here, &first, "Done").await },
            async move { to(&there, &second, "Backlog").await },
        ))
        .await;
        assert_eq!(one.unwrap().disposition, Disposition::Applied);
        assert_eq!(two.unwrap().disposition, Disposition::Applied);
        assert_eq!(world.count("step_transitions where move_trigger = 'manual'").await, 2);
    }

    async fn a_move_that_waits_can_be_taken_back(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let board = world.board();
        to(&world, &puppet, "Done").await.unwrap();
        refused(board.task_move_withdraw(&puppet.actor(), puppet.task).await, ErrorCode::Forbidden);
        assert!(board.task_move_withdraw(&OPERATOR, puppet.task).await.unwrap());
        assert!(!board.task_move_withdraw(&OPERATOR, puppet.task).await.unwrap());
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.step().await, "Review");
    }

    async fn a_card_that_is_there_already_is_left_alone(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let events = world.count("events").await;
        let here = MoveTask { position: Some(3), ..MoveTask::to(world.step("In Progress")) };
        for _ in 0..2 {
            let moved = move_as(&world, puppet.actor(), &puppet, &here).await.unwrap();
            assert_eq!((moved.disposition, moved.move_id), (Disposition::Applied, None));
            assert_eq!(moved.task, puppet.card().await);
        }
        assert_eq!(world.count("events").await, events);
        assert_eq!(world.count("step_transitions").await, 0);
        let optioned = with(&world, "In Progress", handoff("Go."));
        refused(move_as(&world, OPERATOR, &puppet, &optioned).await, ErrorCode::Validation);
        // Options that ask for nothing are none.
        let empty = MoveTask { prompt: Some(" ".to_owned()), ..with(&world, "In Progress", handoff(" \n ")) };
        move_as(&world, OPERATOR, &puppet, &empty).await.unwrap();
    }

    async fn options_belong_to_steps_that_start_something(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Task").await;
        let refusal = refused(move_as(&world, OPERATOR, &puppet, &with(&world, "Done", handoff("Go."))).await, ErrorCode::Validation);
        assert!(refusal.message.contains("\"Done\""));
        let both = MoveTask { prompt: Some("Go.".to_owned()), ..with(&world, "In Progress", handoff("Go.")) };
        refused(move_as(&world, OPERATOR, &puppet, &both).await, ErrorCode::Validation);
        assert_eq!(puppet.step().await, "Review");
    }

    async fn a_hand_off_stands_before_the_steps_words(db: TestDb) {
        let world = reviewing(db).await;
        stay(&world, "In Progress").await;
        let puppet = world.resting("Task").await;
        let moved = move_as(&world, OPERATOR, &puppet, &with(&world, "Review", handoff(" Look at x first. "))).await.unwrap();
        assert_eq!(moved.entry_options, Some(handoff("Look at x first.")));
        assert!(moved.move_id.is_some());
        world.run().await;
        assert_eq!(puppet.last_heard().text, "Look at x first.\n\nReview: Begin with Task.");
        assert_eq!(world.count("entry_markers").await, 0);
    }

    // What a move was given to say is not lost with the session that it was for.
    async fn a_hand_off_to_a_session_that_has_ended_waits_for_its_resumption(db: TestDb) {
        let world = reviewing(db).await;
        stay(&world, "In Progress").await;
        for stopped in [true, false] {
            let puppet = world.resting("Task").await;
            if stopped {
                world.board().session_stop(&OPERATOR, puppet.session).await.unwrap();
            } else {
                world.node().die(puppet.session).await.unwrap();
                world.node().break_agent(puppet.session);
                puppet.operator_says("Are you there?").await;
                world.run().await;
                assert_eq!(puppet.state().await, SessionState::Failed);
                world.node().mend_agent(puppet.session);
            }
            let moved = move_as(&world, OPERATOR, &puppet, &with(&world, "Review", handoff("Look at x first."))).await.unwrap();
            world.run().await;
            assert_eq!(moved.disposition, Disposition::Applied);
            assert!(!puppet.is_in_turn(), "a move does not bring back what has ended");
            let notice = puppet.card().await.workflow_notice.unwrap();
            assert!(notice.contains("resume"), "{notice}");
            world.board().session_resume(&OPERATOR, puppet.session).await.unwrap();
            world.run().await;
            while puppet.last_heard().text != "Look at x first.\n\nReview: Begin with Task." {
                puppet.end_turn().await;
                world.run().await;
            }
        }
    }

    async fn a_blank_answer_is_no_message_and_leaves_the_question_open(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        for blank in ["", "  "] {
            let params = MessageTask { reply_to_question_id: Some(blank.to_owned()), ..note(child.task, "SQLite") };
            refused(parent.send(params).await, ErrorCode::Validation);
        }
        assert_eq!(world.question_status(question).await, QuestionStatus::Pending);
        parent.reply(&child, question, "SQLite").await.unwrap();
    }

    async fn the_older_name_of_instructions_works(db: TestDb) {
        let world = reviewing(db).await;
        stay(&world, "In Progress").await;
        let puppet = world.resting("Task").await;
        let params = MoveTask { prompt: Some("Look.".to_owned()), ..MoveTask::to(world.step("Review")) };
        let moved = move_as(&world, OPERATOR, &puppet, &params).await.unwrap();
        assert_eq!(moved.entry_options, Some(handoff("Look.")));
        world.run().await;
        assert_eq!(puppet.last_heard().text, "Look.\n\nReview: Begin with Task.");
    }

    async fn the_steps_words_can_be_left_out(db: TestDb) {
        let world = reviewing(db).await;
        stay(&world, "In Progress").await;
        let puppet = world.resting("Task").await;
        let skip = EntryOptions { skip_step_prompt: true, ..handoff("Only this.") };
        move_as(&world, OPERATOR, &puppet, &with(&world, "Review", skip)).await.unwrap();
        world.run().await;
        assert_eq!(puppet.last_heard().text, "Only this.");
        puppet.end_turn().await;
        world.run().await;

        // Without a hand-off nothing starts, also where the task was never started.
        to(&world, &puppet, "Backlog").await.unwrap();
        let skip = EntryOptions { skip_step_prompt: true, ..EntryOptions::default() };
        move_as(&world, OPERATOR, &puppet, &with(&world, "Review", skip.clone())).await.unwrap();
        world.run().await;
        assert!(!puppet.is_in_turn());
        assert_eq!(puppet.texts().len(), 2);
        let card = CreateTask { start_agent: Some(false), ..prompted("New") };
        let new = world.create(card).await.unwrap().task.id;
        world.board().task_move(&OPERATOR, new, &with(&world, "In Progress", skip)).await.unwrap();
        world.run().await;
        assert_eq!(world.board().task_get(&OPERATOR, new).await.unwrap().session_count, 0);
    }

    async fn a_reset_begins_a_new_conversation_and_says_so(db: TestDb) {
        let world = reviewing(db).await;
        stay(&world, "In Progress").await;
        let puppet = world.resting("Task").await;
        let conversation = async || world.read(async |db| store::sessions::find(db, puppet.session).await).await.unwrap().provider_session_id;
        let before = conversation().await;
        let reset = EntryOptions { reset_context: true, ..EntryOptions::default() };
        move_as(&world, OPERATOR, &puppet, &with(&world, "Review", reset)).await.unwrap();
        world.run().await;
        assert_ne!(conversation().await, before);
        let heard = puppet.last_heard();
        assert_eq!(heard.text, "Review: Begin with Task.");
        assert!(heard.hidden().contains("new conversation"), "{}", heard.hidden());
        assert!(heard.hidden().contains("You work on the task"), "and what a first turn is told");
        // Once: the next prompt goes on with it.
        puppet.end_turn().await;
        world.run().await;
        let fresh = conversation().await;
        puppet.operator_says("Go on.").await;
        world.run().await;
        assert_eq!(conversation().await, fresh);
        assert!(!puppet.last_heard().hidden().contains("new conversation"));
        world.assert_heard_once();
    }

    async fn a_reset_survives_a_restart_before_its_entry(db: TestDb) {
        let world = reviewing(db).await;
        let puppet = world.working("Task").await;
        let reset = EntryOptions { reset_context: true, ..handoff("Afresh.") };
        let moved = move_as(&world, puppet.actor(), &puppet, &with(&world, "Review", reset.clone())).await.unwrap();
        assert_eq!((moved.disposition, moved.entry_options), (Disposition::Deferred, Some(reset)));
        // Between deferral and the end of the turn.
        world.restart().await;
        assert_eq!(puppet.step().await, "Review");
        // Between the move and the delivery of its entry.
        world.restart().await;
        world.run().await;
        let heard = puppet.last_heard();
        assert_eq!(heard.text, "Afresh.\n\nReview: Begin with Task.");
        assert!(heard.hidden().contains("new conversation"));
        world.assert_heard_once();
        let row = history(&world).await.pop().unwrap();
        assert_eq!(row, ["manual", "agent", &puppet.session.to_string(), &moved.move_id.unwrap().to_string()]);
    }

    async fn a_move_is_attributed_to_whoever_asked(db: TestDb) {
        let world = World::new(db).await;
        let other = world.working("Other").await;
        let puppet = world.resting("Task").await;
        move_as(&world, other.actor(), &puppet, &MoveTask::to(world.step("Done"))).await.unwrap();
        let external = outside(&world).await;
        move_as(&world, external, &puppet, &MoveTask::to(world.step("Backlog"))).await.unwrap();
        to(&world, &puppet, "Done").await.unwrap();
        let moves: Vec<_> = history(&world).await.into_iter().filter(|row| row[0] == "manual").collect();
        assert_eq!(moves[0][1..3], ["agent".to_owned(), other.session.to_string()]);
        assert_eq!(moves[1][1..3], ["system".to_owned(), String::new()]);
        assert_eq!(moves[2][1..3], ["human".to_owned(), String::new()]);
    }

    async fn archived_tasks_and_foreign_steps_are_refused(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        to(&world, &puppet, "Done").await.unwrap();
        world.board().task_archive(&OPERATOR, puppet.task).await.unwrap();
        world.run().await;
        assert_eq!(world.count("pending_moves").await, 0);
        assert_eq!(puppet.step().await, "In Progress", "an archived card moves no more");
        refused(to(&world, &puppet, "Done").await, ErrorCode::Conflict);
    }

    // Rulings 11, and a move while a question is pending.
    async fn a_gated_child_is_moved_by_its_operator_or_its_parent(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let question = child.ask("Which store?").await.unwrap().question_id;
        // In the asking turn: the move waits for its end. Anybody else's is refused.
        let stranger = world.working("Stranger").await;
        for actor in [stranger.actor(), Actor::System, outside(&world).await, child.actor()] {
            refused(move_as(&world, actor, &child, &MoveTask::to(world.step("Done"))).await, ErrorCode::Conflict);
        }
        let params = MoveTask::to(world.step("Backlog"));
        assert_eq!(move_as(&world, parent.actor(), &child, &params).await.unwrap().disposition, Disposition::Deferred);
        child.end_turn().await;
        world.run().await;
        assert_eq!(child.step().await, "Backlog");
        assert_eq!(world.question_status(question).await, QuestionStatus::Pending, "a step that starts nothing leaves it");
        let params = with(&world, "In Progress", handoff("Take SQLite."));
        move_as(&world, parent.actor(), &child, &params).await.unwrap();
        world.run().await;
        assert_eq!(world.question_status(question).await, QuestionStatus::Superseded);
        assert!(child.last_heard().text.starts_with("Take SQLite.\n\n"));
        refused(parent.reply(&child, question, "Late.").await, ErrorCode::Validation);
    }

    async fn a_move_of_a_strangers_waits_until_the_question_is_answered(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let stranger = world.working("Stranger").await;
        move_as(&world, stranger.actor(), &child, &MoveTask::to(world.step("Done"))).await.unwrap();
        // The turn that it waits for ends with a question.
        let question = child.ask_and_wait("Which store?").await;
        world.run().await;
        assert_eq!(child.step().await, "In Progress");
        world.restart().await;
        world.run().await;
        assert_eq!(child.step().await, "In Progress");
        let parent = world.primary(parent.task).await;
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        assert!(child.is_in_turn());
        child.end_turn().await;
        world.run().await;
        assert_eq!(child.step().await, "Done");
    }

    async fn a_move_of_a_strangers_goes_on_when_the_question_ends_without_a_turn(db: TestDb) {
        let world = World::new(db).await;
        let (_parent, child) = world.family().await;
        let stranger = world.working("Stranger").await;
        let waiting = async || {
            move_as(&world, stranger.actor(), &child, &MoveTask::to(world.step("Done"))).await.unwrap();
            child.ask_and_wait("Which store?").await;
            world.run().await;
            assert_eq!(child.step().await, "In Progress");
        };
        // The operator ends the wait: nothing is said to the child.
        waiting().await;
        world.board().session_cancel(&OPERATOR, child.session).await.unwrap();
        world.run().await;
        assert_eq!(child.step().await, "Done");

        // The operator says something instead, and takes it back before it is heard.
        child.operator_says("Go on.").await;
        world.run().await;
        waiting().await;
        let said = child.operator_says("Never mind.").await;
        assert_eq!(child.step().await, "In Progress", "a turn follows");
        world.board().prompt_remove(&OPERATOR, said.queue_entry_id.unwrap()).await.unwrap();
        assert_eq!(child.step().await, "Done");
        world.run().await;
    }

    async fn agents_that_move_a_task_in_a_loop_are_stopped(db: TestDb) {
        let world = World::with(db, Settings { max_automatic_moves: 4, ..Settings::default() }).await;
        let other = world.working("Other").await;
        let puppet = world.resting("Task").await;
        let mut steps = ["Done", "Backlog"].iter().cycle();
        // One move of the workflow's is counted already.
        for _ in 0..3 {
            let params = MoveTask::to(world.step(steps.next().unwrap()));
            move_as(&world, other.actor(), &puppet, &params).await.unwrap();
        }
        let params = MoveTask::to(world.step("Backlog"));
        let refusal = refused(move_as(&world, other.actor(), &puppet, &params).await, ErrorCode::RateLimited);
        assert_eq!(refusal.details, Some(json!({"retry_after_ms": 60_000})));
        move_as(&world, OPERATOR, &puppet, &params).await.unwrap();
        world.clock.advance(60_001);
        move_as(&world, other.actor(), &puppet, &MoveTask::to(world.step("Done"))).await.unwrap();
    }

    async fn a_workflow_that_is_stopped_says_so_on_the_card_until_it_is_moved(db: TestDb) {
        let world = World::with(db, Settings { max_automatic_moves: 2, ..Settings::default() }).await;
        for (step, target) in [("In Progress", "Review"), ("Review", "In Progress")] {
            let mut events = world.steps.iter().find(|s| s.name == step).unwrap().events.clone();
            events.on_enter = vec![EnterAction::AutoStartAgent];
            events.on_turn_complete = vec![MoveAction::MoveToStep { step_id: world.step(target) }.into()];
            let params = UpdateStep { events: Some(events), ..UpdateStep::default() };
            world.board().step_update(&OPERATOR, world.step(step), params).await.unwrap();
        }
        let puppet = world.working("Task").await;
        while puppet.is_in_turn() {
            assert_eq!(puppet.card().await.workflow_notice, None);
            puppet.end_turn().await;
            world.run().await;
        }
        let notice = puppet.card().await.workflow_notice.unwrap();
        assert!(notice.contains("2 times") && notice.contains("\"Review\""), "{notice}");
        assert_eq!(puppet.card().await.state, TaskState::Review);
        to(&world, &puppet, "Done").await.unwrap();
        assert_eq!(puppet.card().await.workflow_notice, None);
    }
}
