//! What steps do (task-domain 1.5): on entering and leaving them, and when all parts of a task have ended.

use crate::puppet::note;
use crate::world::{World, prompted, refused};
use board::Actor;
use domain::error::ErrorCode;
use domain::ids::{ProfileId, TaskId};
use domain::moves::EntryOptions;
use domain::params::{CreateAgent, CreateTask, MoveTask, UpdateStep, UpdateTask};
use domain::session::SessionState;
use domain::workflow::{
    CompleteAction, EnterAction, MoveAction, PlanAction, SessionOperation, SessionRule, StepEvents,
};

const OPERATOR: Actor = Actor::Operator;

/// Changes what a step does.
async fn events(world: &World, step: &str, change: impl FnOnce(&mut StepEvents)) {
    let mut events = world
        .board()
        .step_list(&OPERATOR, world.workflow.workflow.id)
        .await
        .unwrap()
        .into_iter()
        .find(|s| s.id == world.step(step))
        .unwrap()
        .events;
    change(&mut events);
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

/// The step works with this profile from now on.
async fn pin(world: &World, step: &str, profile: ProfileId) {
    let params = UpdateStep {
        agent_profile_id: Some(Some(profile)),
        ..UpdateStep::default()
    };
    let board = world.board();
    board
        .step_update(&OPERATOR, world.step(step), params)
        .await
        .unwrap();
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

store::on_both_engines! {
    async fn the_workflows_words_stand_before_those_of_each_step(db: TestDb) {
        let world = World::new(db).await;
        world.execute("update workflows set prompt = 'House rules.'").await;
        let params = UpdateStep { prompt: Some("Do {{task_prompt}} now".to_owned()), ..UpdateStep::default() };
        world.board().step_update(&OPERATOR, world.step("In Progress"), params).await.unwrap();
        let card = CreateTask { start_agent: Some(false), ..prompted("Task") };
        let task = world.create(card).await.unwrap().task.id;
        world.to(task, "In Progress").await;
        assert_eq!(world.primary(task).await.texts(), ["House rules.\n\nDo Begin with Task. now"]);
    }

    async fn a_step_that_resets_begins_a_new_conversation(db: TestDb) {
        let world = World::new(db).await;
        events(&world, "Review", |e| e.on_enter = vec![EnterAction::ResetAgentContext, EnterAction::AutoStartAgent]).await;
        let puppet = world.working("Task").await;
        puppet.end_turn().await;
        world.run().await;
        assert!(puppet.is_in_turn());
        assert!(puppet.last_heard().hidden().contains("new conversation"));
        world.assert_heard_once();
    }

    async fn a_reset_by_the_step_that_a_turn_begins_in_comes_before_its_words(db: TestDb) {
        let world = World::new(db).await;
        events(&world, "In Progress", |e| e.on_enter.push(EnterAction::ResetAgentContext)).await;
        let puppet = world.resting("Task").await;
        puppet.operator_says("Once more.").await;
        world.run().await;
        assert_eq!(puppet.step().await, "In Progress");
        let heard = puppet.last_heard();
        assert_eq!(heard.text, "Once more.");
        assert!(heard.hidden().contains("new conversation"));
        assert_eq!(puppet.texts().len(), 2);
    }

    async fn a_step_sets_the_agents_mode_for_its_next_prompt_and_its_next_start(db: TestDb) {
        let world = World::new(db).await;
        events(&world, "Review", |e| {
            e.on_enter = vec![EnterAction::SetSessionMode { mode: "plan".to_owned() }];
        })
        .await;
        let puppet = world.resting("Task").await;
        assert_eq!(puppet.view().await.session_mode.as_deref(), Some("plan"));
        puppet.operator_says("Plan.").await;
        let board::Next::Deliver(delivery) = world.node().next(puppet.session).await.unwrap() else {
            panic!("its agent is live");
        };
        assert_eq!((delivery.mode.as_deref(), delivery.model), (Some("plan"), None));
        world.restart().await;
        world.run().await;
        puppet.end_turn().await;
        world.run().await;
        world.node().die(puppet.session).await.unwrap();
        puppet.operator_says("Go on.").await;
        let board::Next::Launch(plan) = world.node().next(puppet.session).await.unwrap() else {
            panic!("its agent is started");
        };
        assert_eq!(plan.profile.mode.as_deref(), Some("plan"));
    }

    async fn planning_is_said_with_each_prompt_and_ends_as_the_step_says(db: TestDb) {
        let world = World::new(db).await;
        events(&world, "In Progress", |e| {
            e.on_enter.insert(0, EnterAction::EnablePlanMode);
            e.on_turn_complete = vec![CompleteAction::Plan(PlanAction::DisablePlanMode)];
        })
        .await;
        let puppet = world.working("Task").await;
        assert!(puppet.view().await.plan_mode);
        assert!(puppet.last_heard().hidden().contains("for planning"));
        puppet.end_turn().await;
        world.run().await;
        assert!(!puppet.view().await.plan_mode);
        assert_eq!(puppet.step().await, "In Progress");
        puppet.operator_says("Now do it.").await;
        world.run().await;
        assert!(!puppet.last_heard().hidden().contains("for planning"));
        puppet.end_turn().await;
        world.run().await;

        // Leaving and coming back plans again; leaving ends it where the step says so.
        world.to(puppet.task, "Backlog").await;
        let rest = MoveTask {
            entry_options: Some(EntryOptions { skip_step_prompt: true, ..EntryOptions::default() }),
            ..MoveTask::to(world.step("In Progress"))
        };
        world.board().task_move(&OPERATOR, puppet.task, &rest).await.unwrap();
        assert!(puppet.view().await.plan_mode);
        world.to(puppet.task, "Backlog").await;
        assert!(puppet.view().await.plan_mode, "In Progress has no on_exit");
        events(&world, "Backlog", |e| e.on_exit = vec![PlanAction::DisablePlanMode]).await;
        world.to(puppet.task, "Done").await;
        assert!(!puppet.view().await.plan_mode);
    }

    async fn a_step_with_a_profile_of_its_own_works_in_a_session_of_its_own(db: TestDb) {
        let world = World::new(db).await;
        let profile = world.another_profile().await;
        events(&world, "Review", |e| e.on_enter = vec![EnterAction::AutoStartAgent]).await;
        world.execute(&format!("update steps set agent_profile_id = '{profile}', prompt = 'Review.' where id = '{}'", world.step("Review"))).await;
        let worker = world.working("Task").await;
        worker.end_turn().await;
        world.run().await;
        let reviewer = world.primary(worker.task).await;
        assert_ne!(reviewer.session, worker.session);
        assert_eq!(reviewer.texts(), ["Review."]);
        assert_eq!(reviewer.view().await.agent_profile_id, profile);
        reviewer.end_turn().await;
        world.run().await;
        world.to(worker.task, "Backlog").await;
        world.to(worker.task, "Review").await;
        assert_eq!(world.count("sessions").await, 2, "it is used again");
        assert_eq!(reviewer.texts().len(), 2);
    }

    async fn an_agent_cannot_say_that_a_task_is_being_started(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        let params = UpdateTask { state: Some("SCHEDULING".to_owned()), ..UpdateTask::default() };
        let board = world.board();
        refused(board.task_update(&puppet.actor(), puppet.task, params).await, ErrorCode::Validation);
        let params = UpdateTask { state: Some("in_progress".to_owned()), ..UpdateTask::default() };
        board.task_update(&puppet.actor(), puppet.task, params).await.unwrap();
    }

    async fn a_parent_moves_when_all_its_parts_have_ended(db: TestDb) {
        let world = World::new(db).await;
        events(&world, "Review", |e| e.on_children_completed = vec![MoveAction::MoveToNext]).await;
        let parent = world.working("Parent").await;
        let (a, b, c) = (world.child(&parent, "A").await, world.child(&parent, "B").await, world.child(&parent, "C").await);
        let grandchild = world.child(&a, "Grandchild").await;
        parent.end_turn().await;
        world.run().await;
        assert_eq!(parent.step().await, "Review");
        set(&world, a.task, "done").await;
        set(&world, b.task, "FAILED").await;
        assert_eq!(parent.step().await, "Review");
        // An archived part is none; one below the parts is not looked at.
        world.board().task_archive(&OPERATOR, c.task).await.unwrap();
        assert_eq!(parent.step().await, "Done");
        assert!(!grandchild.card().await.state.is_terminal());
        let last = world.read(async |db| db.fetch_raw("select move_trigger, actor from step_transitions order by created_at desc, id desc limit 1").await).await;
        assert_eq!(last[0], [Some("on_children_completed".to_owned()), Some("system".to_owned())]);
    }

    async fn a_parent_at_work_moves_when_its_turn_has_ended(db: TestDb) {
        let world = World::new(db).await;
        events(&world, "In Progress", |e| e.on_children_completed = vec![MoveAction::MoveToPrevious]).await;
        let parent = world.working("Parent").await;
        let child = world.child(&parent, "Child").await;
        set(&world, child.task, "CANCELLED").await;
        assert_eq!(parent.step().await, "In Progress");
        assert_eq!(parent.card().await.pending_move_step_id, Some(world.step("Backlog")));
        world.restart().await;
        world.run().await;
        assert_eq!(parent.step().await, "Backlog", "the restart ended the turn");
    }

    async fn a_parent_without_a_live_session_or_without_parts_stays(db: TestDb) {
        let world = World::new(db).await;
        events(&world, "Review", |e| e.on_children_completed = vec![MoveAction::MoveToNext]).await;
        let parent = world.resting("Parent").await;
        let child = world.child(&parent, "Child").await;
        world.board().session_stop(&OPERATOR, parent.session).await.unwrap();
        set(&world, child.task, "done").await;
        assert_eq!(parent.step().await, "Review");
        world.board().session_resume(&OPERATOR, parent.session).await.unwrap();
        world.run().await;
        world.board().task_delete(&OPERATOR, child.task).await.unwrap();
        assert_eq!(parent.step().await, "Review", "no parts, no event");
    }

    async fn a_parent_that_waits_for_its_own_parent_moves_after_that(db: TestDb) {
        let world = World::new(db).await;
        events(&world, "In Progress", |e| e.on_children_completed = vec![MoveAction::MoveToPrevious]).await;
        let (root, middle) = world.family().await;
        let leaf = world.child(&middle, "Leaf").await;
        let question = middle.ask_and_wait("Which?").await;
        world.run().await;
        set(&world, leaf.task, "done").await;
        assert_eq!(middle.step().await, "In Progress");
        root.reply(&middle, question, "This.").await.unwrap();
        world.run().await;
        middle.end_turn().await;
        world.run().await;
        assert_eq!(middle.step().await, "Backlog");
    }

    async fn a_step_configures_a_session_by_its_agent(db: TestDb) {
        let world = World::new(db).await;
        let rule = |agent: Option<&str>, operation, mode: Option<&str>| SessionRule {
            agent: agent.map(str::to_owned),
            operation,
            mode: mode.map(str::to_owned),
            model: mode.map(|mode| format!("{mode}-model")),
        };
        let configure = |rules: Vec<SessionRule>| vec![EnterAction::ConfigureSession { rules }];
        let set = SessionOperation::Set;
        events(&world, "Review", |e| {
            e.on_enter = configure(vec![
                rule(Some("Somebody else"), set, Some("theirs")),
                rule(Some("puppet"), set, Some("mine")),
                rule(None, set, Some("anybody's")),
            ]);
        })
        .await;
        events(&world, "Done", |e| e.on_enter = configure(vec![rule(None, SessionOperation::RestoreOriginal, None)])).await;
        events(&world, "Backlog", |e| e.on_enter = configure(vec![rule(None, SessionOperation::Keep, Some("ignored"))])).await;
        let puppet = world.resting("Task").await;
        let wanted = async || {
            let session = puppet.session;
            let found = world.read(async |db| store::sessions::find(db, session).await).await.unwrap();
            (found.session_mode, found.session_model)
        };
        let mine = (Some("mine".to_owned()), Some("mine-model".to_owned()));
        assert_eq!(wanted().await, mine);
        world.to(puppet.task, "Backlog").await;
        assert_eq!(wanted().await, mine);
        world.to(puppet.task, "Done").await;
        assert_eq!(wanted().await, (None, None));

        let pins = UpdateStep { agent_profile_id: Some(Some(world.profile)), ..UpdateStep::default() };
        let refusal = refused(world.board().step_update(&OPERATOR, world.step("Done"), pins).await, ErrorCode::Validation);
        assert!(refusal.message.contains("either"), "{refusal}");
    }

    // Task-domain 3.3: a step may choose the session of what was addressed to no session in particular, and of nothing else.
    async fn what_begins_a_turn_goes_to_the_session_that_works_in_its_step(db: TestDb) {
        let world = World::new(db).await;
        let agent = CreateAgent { name: "Other".to_owned(), command: "other".to_owned(), ..CreateAgent::default() };
        let other = world.board().agent_create(&OPERATOR, agent).await.unwrap().profiles[0].id;
        let puppet = world.resting("Task").await;
        let sender = world.working("Sender").await;
        pin(&world, "In Progress", other).await;

        // Addressed to the session, it stays there, although the card goes to the step of the other one.
        let mut pinned = note(puppet.task, "for you");
        pinned.session_id = Some(puppet.session);
        sender.send(pinned).await.unwrap();
        world.run().await;
        assert_eq!(puppet.last_heard().text, "for you");
        assert_eq!(world.primary(puppet.task).await.session, puppet.session);
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.step().await, "Review");

        sender.tell(puppet.task, "for whoever works on it").await.unwrap();
        sender.tell(puppet.task, "and this too").await.unwrap();
        world.run().await;
        let works = world.primary(puppet.task).await;
        assert_ne!(works.session, puppet.session);
        assert_eq!(works.texts(), ["for whoever works on it"]);
        assert_eq!(works.waiting().await, ["and this too"]);
        assert_eq!((puppet.texts().len(), puppet.waiting().await.len()), (2, 0));
        assert!(!puppet.state().await.is_busy());
        assert_eq!(puppet.step().await, "In Progress");
        works.end_turn().await;
        world.run().await;
        assert_eq!(works.last_heard().text, "and this too");
        world.assert_heard_once();
    }

    async fn a_step_archives_what_rested_in_it_for_so_long(db: TestDb) {
        const HOUR: i64 = 3_600_000;
        let world = World::new(db).await;
        let puppet = world.resting("Task").await;
        let at_work = world.working("At work").await;
        let board = world.board();
        world.clock.advance(5 * HOUR);
        assert_eq!(board.tasks_archive_resting().await.unwrap(), 0, "never, unless the step says so");
        for step in ["Review", "In Progress"] {
            let keeps = UpdateStep { auto_archive_after_hours: Some(5), ..UpdateStep::default() };
            board.step_update(&OPERATOR, world.step(step), keeps).await.unwrap();
        }
        let negative = UpdateStep { auto_archive_after_hours: Some(-1), ..UpdateStep::default() };
        refused(board.step_update(&OPERATOR, world.step("Done"), negative).await, ErrorCode::Validation);
        let fresh = world.resting("Fresh").await;
        puppet.operator_says("Waits, since its agent cannot be started.").await;
        assert_eq!(board.tasks_archive_resting().await.unwrap(), 1);
        assert!(puppet.card().await.archived_at.is_some());
        assert!(puppet.waiting().await.is_empty());
        assert!(fresh.card().await.archived_at.is_none());
        assert!(at_work.card().await.archived_at.is_none());
        assert_eq!(board.tasks_archive_resting().await.unwrap(), 0);
        world.check().await;
    }

    // Task-domain 1.7: a switch of profile retires the session that worked until then.
    async fn a_session_that_the_workflow_switched_away_from_is_retired_and_comes_back(db: TestDb) {
        let world = World::new(db).await;
        let other = world.another_profile().await;
        pin(&world, "Review", other).await;
        pin(&world, "Done", world.profile).await;
        events(&world, "Review", |events| events.on_enter.push(EnterAction::AutoStartAgent)).await;
        events(&world, "Done", |events| events.on_enter.push(EnterAction::AutoStartAgent)).await;
        let worker = world.resting("Task").await;
        assert_eq!((worker.step().await.as_str(), worker.state().await), ("Review", SessionState::Completed));
        assert!(!world.node().is_live(worker.session), "its agent is ended");
        let reviewer = world.primary(worker.task).await;
        assert!(reviewer.is_in_turn());
        reviewer.end_turn().await;
        world.run().await;

        world.to(worker.task, "Done").await;
        assert_eq!(world.primary(worker.task).await.session, worker.session, "the same conversation goes on");
        assert_eq!((worker.texts().len(), worker.is_in_turn()), (2, true));
        assert_eq!(reviewer.state().await, SessionState::Completed);
        worker.end_turn().await;
        world.run().await;

        // Whoever is retired still takes a message that is meant for it alone.
        let board = world.board();
        board.prompt_session(&OPERATOR, reviewer.session, "One more thing.", None).await.unwrap();
        world.run().await;
        assert_eq!(reviewer.last_heard().text, "One more thing.");
        world.assert_heard_once();
    }

    async fn a_session_with_a_message_that_is_meant_for_it_alone_is_not_retired(db: TestDb) {
        let world = World::new(db).await;
        let other = world.another_profile().await;
        pin(&world, "Review", other).await;
        events(&world, "Review", |events| events.on_enter.push(EnterAction::AutoStartAgent)).await;
        let worker = world.working("Task").await;
        let held = world.board();
        held.session_auto_run(&OPERATOR, worker.session, false).await.unwrap();
        held.prompt_session(&OPERATOR, worker.session, "For you alone.", None).await.unwrap();
        worker.end_turn().await;
        world.run().await;
        world.to(worker.task, "Review").await;
        assert_ne!(world.primary(worker.task).await.session, worker.session);
        assert_eq!(worker.state().await, SessionState::WaitingForInput, "a message waits for it");
        assert_eq!(worker.waiting().await, ["For you alone."]);
    }

    async fn a_task_that_is_started_by_hand_works_as_its_step_says(db: TestDb) {
        let world = World::new(db).await;
        events(&world, "Backlog", |events| {
            events.on_enter = vec![
                EnterAction::EnablePlanMode,
                EnterAction::SetSessionMode { mode: "plan".to_owned() },
            ];
            events.on_turn_start.clear();
        }).await;
        let card = CreateTask { start_agent: Some(false), ..prompted("Task") };
        let task = world.create(card).await.unwrap().task.id;
        world.board().prompt_task(&OPERATOR, task, "Begin.", None).await.unwrap();
        world.run().await;
        let session = world.primary(task).await.view().await;
        assert_eq!((session.plan_mode, session.session_mode.as_deref()), (true, Some("plan")));
    }
}
