//! What a step has other agents do beside the task's own (task-domain 1.5).

use crate::puppet::Puppet;
use crate::world::{World, prompted, refused};
use board::{Actor, TurnOutcome};
use domain::document::Decision;
use domain::error::ErrorCode;
use domain::ids::{ProfileId, TaskId};
use domain::moves::EntryOptions;
use domain::params::{CreateTask, MoveTask, UpdateStep};
use domain::task::Purpose;
use domain::workflow::{EnterAction, ParticipantsRun, QueuedRun, StepEvents};

const OPERATOR: Actor = Actor::Operator;

async fn enters(world: &World, step: &str, on_enter: Vec<EnterAction>) {
    let params = UpdateStep {
        events: Some(StepEvents {
            on_enter,
            ..StepEvents::default()
        }),
        ..UpdateStep::default()
    };
    let board = world.board();
    board
        .step_update(&OPERATOR, world.step(step), params)
        .await
        .unwrap();
}

/// Another session of the worker's task, at work too.
async fn helper(world: &World, worker: &Puppet) -> Puppet {
    let helper = worker.sibling().await;
    helper.operator_says("Help.").await;
    world.run().await;
    assert!(helper.is_in_turn());
    helper
}

/// The sessions of a task that are called so.
async fn called(world: &World, task: TaskId, name: &str) -> Vec<Puppet> {
    let sessions = world.board().session_list(&OPERATOR, task).await.unwrap();
    sessions
        .into_iter()
        .filter(|session| session.name.as_deref() == Some(name))
        .map(|session| world.puppet(task, session.id))
        .collect()
}

fn run(agent_profile_id: Option<ProfileId>, prompt: Option<&str>) -> QueuedRun {
    QueuedRun {
        agent_profile_id,
        prompt: prompt.map(str::to_owned),
    }
}

store::on_both_engines! {
    async fn work_is_reviewed_in_a_session_that_later_reviews_go_on_in(db: TestDb) {
        let world = World::new(db).await;
        enters(&world, "Review", vec![EnterAction::RunCodeReview(QueuedRun::default())]).await;
        let worker = world.working("Task").await;
        worker.end_turn().await;
        world.run().await;
        let reviews = called(&world, worker.task, "Code review").await;
        let [reviewer] = &reviews[..] else { panic!("{} reviews", reviews.len()) };
        assert!(reviewer.is_in_turn() && reviewer.last_heard().text.contains("publish_review_findings_kandev"));
        assert_eq!((worker.texts().len(), worker.step().await.as_str()), (1, "Review"));
        assert_eq!(world.primary(worker.task).await.session, worker.session, "the work is still the worker's");

        // Coming back while it is being read says it once; coming back later says it again, in the same conversation.
        world.to(worker.task, "Backlog").await;
        world.to(worker.task, "Review").await;
        world.to(worker.task, "Backlog").await;
        world.to(worker.task, "Review").await;
        assert_eq!(reviewer.waiting().await.len(), 1);
        reviewer.end_turn().await;
        world.run().await;
        assert_eq!(reviewer.texts().len(), 2);
        reviewer.end_turn().await;
        world.run().await;
        assert_eq!(called(&world, worker.task, "Code review").await.len(), 1);

        // One that was stopped is over; a task that is over is reviewed by nobody.
        world.board().session_stop(&OPERATOR, reviewer.session).await.unwrap();
        world.to(worker.task, "Backlog").await;
        world.to(worker.task, "Review").await;
        assert_eq!(called(&world, worker.task, "Code review").await.len(), 2);
        world.assert_heard_once();
    }

    async fn a_run_is_queued_for_the_agent_that_the_step_names(db: TestDb) {
        let world = World::new(db).await;
        let other = world.another_profile().await;
        let unknown = UpdateStep {
            events: Some(StepEvents {
                on_enter: vec![EnterAction::QueueRun(run(Some(ProfileId::new()), None))],
                ..StepEvents::default()
            }),
            ..UpdateStep::default()
        };
        let board = world.board();
        refused(board.step_update(&OPERATOR, world.step("Done"), unknown).await, ErrorCode::Validation);
        enters(&world, "Review", vec![
            EnterAction::AutoStartAgent,
            EnterAction::QueueRun(run(Some(other), Some("Test: {{task_prompt}}"))),
            EnterAction::QueueRun(run(Some(other), Some("Measure."))),
        ]).await;
        let refusal = refused(board.profile_delete(&OPERATOR, other).await, ErrorCode::Conflict);
        assert!(refusal.message.contains("1 step"), "{refusal}");
        let worker = world.working("Task").await;
        worker.end_turn().await;
        world.run().await;
        let runs = called(&world, worker.task, "Review").await;
        let [tester] = &runs[..] else { panic!("{} runs", runs.len()) };
        assert_eq!(tester.view().await.agent_profile_id, other);
        assert_eq!(tester.texts(), ["Test: Begin with Task."]);
        assert_eq!(tester.waiting().await, ["Measure."]);
        assert!(worker.is_in_turn(), "the task's own agent was started too");
        assert_eq!(worker.texts().len(), 2);
    }

    async fn all_agents_of_a_task_are_asked_once_each(db: TestDb) {
        let world = World::new(db).await;
        let other = world.another_profile().await;
        let each = |prompt: &str| EnterAction::QueueRunForEachParticipant(ParticipantsRun { prompt: Some(prompt.to_owned()) });
        enters(&world, "Done", vec![each("What is left?")]).await;
        enters(&world, "Review", vec![EnterAction::QueueRun(run(Some(other), Some("Look.")))]).await;
        let worker = world.working("Task").await;
        let sibling = helper(&world, &worker).await;
        sibling.end_turn().await;
        worker.end_turn().await;
        world.run().await;
        let other = called(&world, worker.task, "Review").await.remove(0);
        other.end_turn().await;
        world.run().await;
        world.to(worker.task, "Done").await;
        let asked = |puppet: &Puppet| puppet.texts().iter().filter(|text| *text == "What is left?").count();
        assert_eq!((asked(&other), asked(&worker) + asked(&sibling)), (1, 1), "one session of each agent");
        world.assert_heard_once();
    }

    async fn a_new_round_forgets_what_was_decided_in_the_last_one(db: TestDb) {
        let world = World::new(db).await;
        enters(&world, "Review", vec![EnterAction::ClearDecisions]).await;
        let office = CreateTask { purpose: Some(Purpose::Office), ..prompted("Letter") };
        let puppet = world.start(office).await;
        let board = world.board();
        board.step_decide(&puppet.actor(), Decision::Rejected, "In progress: too long.").await.unwrap();
        puppet.end_turn().await;
        world.run().await;
        puppet.operator_says("Decide.").await;
        world.to(puppet.task, "Review").await;
        board.step_decide(&puppet.actor(), Decision::Approved, "In review: good.").await.unwrap();
        let reasons = async || {
            let decided = board.step_decisions(&OPERATOR, puppet.task).await.unwrap();
            decided.into_iter().map(|decision| decision.reason).collect::<Vec<_>>()
        };
        assert_eq!(reasons().await.len(), 2);
        puppet.end_turn_if_open().await;
        world.run().await;
        world.to(puppet.task, "Backlog").await;
        world.to(puppet.task, "Review").await;
        assert_eq!(reasons().await, ["In progress: too long."], "only those of the step that is entered");
    }

    async fn what_waits_for_another_task_or_has_no_agent_starts_nothing_beside_it(db: TestDb) {
        let world = World::new(db).await;
        enters(&world, "Review", vec![EnterAction::RunCodeReview(QueuedRun::default())]).await;
        let first = world.working("First").await;
        let waits = CreateTask { blocked_by: vec![first.task], start_agent: Some(false), ..prompted("Waits") };
        let waits = world.create(waits).await.unwrap().task.id;
        world.to(waits, "Review").await;
        assert!(called(&world, waits, "Code review").await.is_empty());
        let done = domain::params::UpdateTask { state: Some("done".to_owned()), ..domain::params::UpdateTask::default() };
        world.board().task_update(&OPERATOR, first.task, done).await.unwrap();
        world.run().await;
        assert_eq!(called(&world, waits, "Code review").await.len(), 1);

        let nobodys = world.create(CreateTask { start_agent: Some(false), ..prompted("Nobody's") }).await.unwrap().task.id;
        world.execute(&format!("update tasks set agent_profile_id = null where id = '{nobodys}'")).await;
        world.to(nobodys, "Review").await;
        let card = world.board().task_get(&OPERATOR, nobodys).await.unwrap();
        let notice = card.workflow_notice.unwrap_or_default();
        assert!(notice.contains("Code review") && notice.contains("no agent profile"), "{notice}");
    }

    // Task-domain 1.5: a turn that ends beside one that goes on says nothing about the step's work.
    async fn a_card_advances_when_the_last_agent_at_work_has_ended_its_turn(db: TestDb) {
        let world = World::new(db).await;
        let worker = world.working("Task").await;
        helper(&world, &worker).await.end_turn().await;
        world.run().await;
        assert_eq!(worker.step().await, "In Progress");
        worker.end_turn().await;
        world.run().await;
        assert_eq!(worker.step().await, "Review");

        // Who signals has said that the step's work is whole, whoever else is at work.
        let signals = UpdateStep { auto_advance_requires_signal: Some(true), ..UpdateStep::default() };
        world.board().step_update(&OPERATOR, world.step("In Progress"), signals).await.unwrap();
        let worker = world.working("Other task").await;
        let helper = helper(&world, &worker).await;
        world.board().step_complete(&worker.actor(), "Done.", None, None).await.unwrap();
        worker.end_turn().await;
        world.run().await;
        assert!(helper.is_in_turn());
        assert_eq!(worker.step().await, "Review");
    }

    async fn what_others_completed_moves_the_card_when_a_helper_does_not_end_well(db: TestDb) {
        let world = World::new(db).await;
        for how in ["stopped", "cancelled", "failed"] {
            let worker = world.working("Task").await;
            let helper = helper(&world, &worker).await;
            worker.end_turn().await;
            world.run().await;
            assert_eq!(worker.step().await, "In Progress", "{how}: the helper is still at work");
            match how {
                "stopped" => drop(world.board().session_stop(&OPERATOR, helper.session).await.unwrap()),
                "cancelled" => helper.end_turn_with(TurnOutcome::Cancelled).await,
                _ => helper.end_turn_with(TurnOutcome::Failed("no words left".to_owned())).await,
            }
            world.run().await;
            assert_eq!(worker.step().await, "Review", "{how}");
        }
        // When the worker itself does not end well, a helper's end is not the end of the work.
        let worker = world.working("Task").await;
        helper(&world, &worker).await.end_turn().await;
        worker.end_turn_with(TurnOutcome::Failed("no words left".to_owned())).await;
        world.run().await;
        assert_eq!(worker.step().await, "In Progress");
    }

    async fn a_turn_counts_for_the_step_that_it_began_in(db: TestDb) {
        let world = World::new(db).await;
        let worker = world.resting("Task").await;
        let helper = helper(&world, &worker).await;
        assert_eq!(worker.step().await, "In Progress");
        world.to(worker.task, "Backlog").await;
        helper.end_turn().await;
        world.run().await;
        assert_eq!(worker.step().await, "Backlog");
    }

    async fn a_helpers_signal_does_not_move_a_card_whose_worker_is_at_work(db: TestDb) {
        let world = World::new(db).await;
        let signals = UpdateStep { auto_advance_requires_signal: Some(true), ..UpdateStep::default() };
        world.board().step_update(&OPERATOR, world.step("In Progress"), signals).await.unwrap();
        let worker = world.working("Task").await;
        let helper = helper(&world, &worker).await;
        assert!(worker.last_heard().hidden().contains("step_complete_kandev as your last action"));
        assert!(!helper.last_heard().hidden().contains("step_complete_kandev as your last action"));
        world.board().step_complete(&helper.actor(), "Reviewed.", None, None).await.unwrap();
        helper.end_turn().await;
        world.run().await;
        assert_eq!(worker.step().await, "In Progress");
        world.board().step_complete(&worker.actor(), "Done.", None, None).await.unwrap();
        worker.end_turn().await;
        world.run().await;
        assert_eq!(worker.step().await, "Review");
    }

    async fn what_is_said_to_a_task_goes_to_its_own_agent_though_a_reviewer_came_first(db: TestDb) {
        let world = World::new(db).await;
        let other = world.another_profile().await;
        enters(&world, "Review", vec![EnterAction::RunCodeReview(run(Some(other), None))]).await;
        let card = CreateTask { start_agent: Some(false), ..prompted("Task") };
        let task = world.create(card).await.unwrap().task.id;
        world.to(task, "Review").await;
        let reviewer = called(&world, task, "Code review").await.remove(0);
        assert_eq!(reviewer.texts().len(), 1);
        world.board().prompt_task(&OPERATOR, task, "For the worker.", None).await.unwrap();
        world.run().await;
        let worker = world.primary(task).await;
        assert_eq!((worker.view().await.agent_profile_id, worker.texts()), (world.profile, vec!["For the worker.".to_owned()]));
        reviewer.end_turn().await;
        world.to(task, "Backlog").await;
        world.to(task, "Review").await;
        assert_eq!(called(&world, task, "Code review").await.len(), 1, "the same reviewer reads it again");
    }

    async fn what_cannot_be_started_beside_is_said_on_the_card(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        enters(&world, "Review", vec![EnterAction::QueueRun(QueuedRun::default())]).await;
        let silent = CreateTask { title: "Silent".to_owned(), start_agent: Some(false), ..CreateTask::default() };
        let silent = world.create(silent).await.unwrap().task.id;
        world.to(silent, "Review").await;
        assert!(called(&world, silent, "Review").await.is_empty(), "no session without words");
        let said = board.task_get(&OPERATOR, silent).await.unwrap().workflow_notice.unwrap_or_default();
        assert!(said.contains("what to do"), "{said}");

        let repeated = "{{task_prompt}} ".repeat(20);
        enters(&world, "Review", vec![EnterAction::QueueRun(run(None, Some(&repeated)))]).await;
        let long = CreateTask { description: "x".repeat(100_000), start_agent: Some(false), ..prompted("Long") };
        let long = world.create(long).await.unwrap().task.id;
        world.to(long, "Review").await;
        let said = board.task_get(&OPERATOR, long).await.unwrap().workflow_notice.unwrap_or_default();
        assert!(said.contains("bytes"), "{said}");

        enters(&world, "Review", vec![EnterAction::RunCodeReview(QueuedRun::default())]).await;
        let letter = CreateTask { purpose: Some(Purpose::Office), start_agent: Some(false), ..prompted("Letter") };
        let letter = world.create(letter).await.unwrap().task.id;
        world.to(letter, "Review").await;
        let said = board.task_get(&OPERATOR, letter).await.unwrap().workflow_notice.unwrap_or_default();
        assert!(said.contains("Code review"), "{said}");
    }

    async fn what_a_step_asked_for_is_not_done_for_a_task_that_was_ended(db: TestDb) {
        let world = World::new(db).await;
        enters(&world, "Review", vec![
            EnterAction::QueueRun(run(None, Some("One."))),
            EnterAction::QueueRun(run(None, Some("Two."))),
        ]).await;
        let worker = world.working("Task").await;
        worker.end_turn().await;
        world.run().await;
        let runs = called(&world, worker.task, "Review").await.remove(0);
        assert_eq!(runs.waiting().await, ["Two."]);
        let done = domain::params::UpdateTask { state: Some("done".to_owned()), ..domain::params::UpdateTask::default() };
        world.board().task_update(&OPERATOR, worker.task, done).await.unwrap();
        runs.end_turn().await;
        world.run().await;
        assert_eq!((runs.texts().len(), runs.waiting().await.len()), (1, 0));
        assert_eq!(worker.card().await.state, domain::task::TaskState::Completed);
    }

    async fn a_reviewer_is_known_by_what_it_was_made_for_and_not_by_its_name(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        enters(&world, "Review", vec![EnterAction::RunCodeReview(QueuedRun::default())]).await;
        let worker = world.working("Task").await;
        let namesake = helper(&world, &worker).await;
        board.session_rename(&OPERATOR, namesake.session, Some("Code review")).await.unwrap();
        namesake.end_turn().await;
        worker.end_turn().await;
        world.run().await;
        assert_eq!(namesake.texts(), ["Help."], "somebody else's session is not taken for it");
        let sessions = called(&world, worker.task, "Code review").await;
        let reviewer = sessions.into_iter().find(|puppet| puppet.session != namesake.session).unwrap();
        board.session_rename(&OPERATOR, reviewer.session, Some("Second reader")).await.unwrap();
        reviewer.end_turn().await;
        world.run().await;
        world.to(worker.task, "Backlog").await;
        world.to(worker.task, "Review").await;
        assert_eq!(reviewer.texts().len(), 2, "it goes on under its new name");
    }

    // Task-domain 1.14: entering is what a card does that is created with a start, whenever that comes.
    async fn a_start_at_creation_or_after_another_task_begins_what_stands_beside_it(db: TestDb) {
        let world = World::new(db).await;
        enters(&world, "In Progress", vec![EnterAction::QueueRun(run(None, Some("Watch.")))]).await;
        let step = Some(world.step("In Progress"));
        let begun = world.start(CreateTask { workflow_step_id: step, ..prompted("First") }).await;
        let watches = async |task: TaskId| {
            let watchers = called(&world, task, "In Progress").await;
            watchers.iter().map(|puppet| puppet.texts().len()).sum::<usize>()
        };
        assert_eq!((begun.texts().len(), watches(begun.task).await), (1, 1));

        let waits = CreateTask { workflow_step_id: step, blocked_by: vec![begun.task], ..prompted("Waits") };
        let freed = world.create(waits.clone()).await.unwrap().task.id;
        let by_hand = world.create(waits).await.unwrap().task.id;
        world.run().await;
        assert_eq!(watches(freed).await + watches(by_hand).await, 0, "nothing starts while it waits");
        world.board().prompt_task(&OPERATOR, by_hand, "Now.", None).await.unwrap();
        world.run().await;
        assert_eq!((world.primary(by_hand).await.texts(), watches(by_hand).await), (vec!["Now.".to_owned()], 1));
        let done = domain::params::UpdateTask { state: Some("done".to_owned()), ..domain::params::UpdateTask::default() };
        world.board().task_update(&OPERATOR, begun.task, done).await.unwrap();
        world.run().await;
        assert_eq!((world.primary(freed).await.texts().len(), watches(freed).await), (1, 1));
        assert_eq!(watches(by_hand).await, 1, "once");
    }

    async fn a_helper_that_is_deleted_or_lost_does_not_keep_the_card(db: TestDb) {
        let world = World::new(db).await;
        for how in ["deleted", "lost"] {
            let worker = world.working("Task").await;
            let helper = helper(&world, &worker).await;
            worker.end_turn().await;
            world.run().await;
            assert_eq!(worker.step().await, "In Progress", "{how}: the helper is still at work");
            if how == "deleted" {
                world.board().session_delete(&OPERATOR, helper.session).await.unwrap();
            } else {
                world.restart().await;
            }
            world.run().await;
            assert_eq!(worker.step().await, "Review", "{how}");
        }
    }

    // A card that moves while lost sessions are brought to rest changes the others of its task.
    async fn a_lost_helper_that_is_older_than_the_primary_session_does_not_stop_the_recovery(db: TestDb) {
        let world = World::new(db).await;
        enters(&world, "Review", vec![EnterAction::EnablePlanMode]).await;
        let older = world.working("Task").await;
        let primary = helper(&world, &older).await;
        world.board().session_set_primary(&OPERATOR, primary.session).await.unwrap();
        primary.end_turn().await;
        world.run().await;
        assert_eq!(primary.step().await, "In Progress", "the helper is still at work");
        world.restart().await;
        world.run().await;
        assert_eq!(primary.step().await, "Review");
        assert!(primary.view().await.plan_mode);
    }

    async fn a_word_to_another_session_does_not_take_the_place_of_an_entry_that_waits(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let each = EnterAction::QueueRunForEachParticipant(ParticipantsRun { prompt: Some("All.".to_owned()) });
        enters(&world, "Done", vec![EnterAction::AutoStartAgent, each]).await;
        let first = world.working("First").await;
        let worker = world.resting("Task").await;
        let aside = worker.sibling().await;
        aside.operator_says("Begin.").await;
        world.run().await;
        aside.end_turn().await;
        world.run().await;
        board.dependency_add(&OPERATOR, worker.task, first.task).await.unwrap();
        let handoff = MoveTask {
            entry_options: Some(EntryOptions::handing_over("HANDOFF".to_owned())),
            ..MoveTask::to(world.step("Done"))
        };
        board.task_move(&OPERATOR, worker.task, &handoff).await.unwrap();
        world.run().await;
        aside.operator_says("By the way.").await;
        world.run().await;
        assert_eq!(aside.last_heard().text, "By the way.");
        aside.end_turn().await;
        let done = domain::params::UpdateTask { state: Some("done".to_owned()), ..domain::params::UpdateTask::default() };
        board.task_update(&OPERATOR, first.task, done).await.unwrap();
        world.run().await;
        assert!(worker.last_heard().text.contains("HANDOFF"), "{:?}", worker.texts());
        world.assert_heard_once();
    }

    async fn what_waits_for_a_task_outlives_the_session_that_it_waited_in(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let worker = world.working("Task").await;
        let sibling = worker.sibling().await;
        board.prompt_task(&OPERATOR, worker.task, "For the task.", None).await.unwrap();
        board.prompt_session(&OPERATOR, worker.session, "For this session.", None).await.unwrap();
        board.session_delete(&OPERATOR, worker.session).await.unwrap();
        world.run().await;
        assert_eq!(world.primary(worker.task).await.session, sibling.session);
        assert_eq!(sibling.texts(), ["For the task."]);
    }
}
