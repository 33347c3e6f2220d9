//! Limits of work in progress (task-domain 1.14): who is admitted, who waits where, and who is promoted when.

use crate::races::at_once;
use crate::world::{World, prompted, refused, soon};
use board::{Actor, Settings};
use domain::error::ErrorCode;
use domain::ids::TaskId;
use domain::moves::EntryOptions;
use domain::params::{CreateTask, MoveTask, UpdateStep, UpdateTask};
use domain::task::{Priority, TaskState};
use domain::view::{DeliveryStatus, TaskView};
use domain::workflow::{EnterAction, MoveAction, PlanAction, StepEvents};

const OPERATOR: Actor = Actor::Operator;

/// A world whose In Progress takes `limit` cards.
async fn limited(db: store::testing::TestDb, limit: i64) -> World {
    let world = World::new(db).await;
    limit_step(&world, "In Progress", limit).await;
    world
}

async fn limit_step(world: &World, step: &str, limit: i64) {
    let params = UpdateStep {
        wip_limit: Some(limit),
        ..UpdateStep::default()
    };
    change(world, step, params).await;
}

async fn change(world: &World, step: &str, params: UpdateStep) {
    world
        .board()
        .step_update(&OPERATOR, world.step(step), params)
        .await
        .unwrap();
    world.run().await;
}

/// In Progress is fed by Backlog.
async fn feed(world: &World) {
    let params = UpdateStep {
        pull_from_step_id: Some(Some(world.step("Backlog"))),
        ..UpdateStep::default()
    };
    change(world, "In Progress", params).await;
}

async fn card(world: &World, task: TaskId) -> TaskView {
    world.board().task_get(&OPERATOR, task).await.unwrap()
}

async fn move_to(world: &World, task: TaskId, step: &str) -> TaskView {
    let moved = world
        .board()
        .task_move(&OPERATOR, task, &MoveTask::to(world.step(step)))
        .await
        .unwrap();
    moved.task
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

/// A card that rests in Backlog.
async fn idle(world: &World, title: &str) -> TaskId {
    let params = CreateTask {
        start_agent: Some(false),
        workflow_step_id: Some(world.step("Backlog")),
        ..prompted(title)
    };
    world.create(params).await.unwrap().task.id
}

store::on_both_engines! {
    async fn a_task_beyond_the_limit_waits_in_its_step_and_starts_nothing(db: TestDb) {
        let world = limited(db, 1).await;
        let first = world.working("First").await;
        let created = world.create(prompted("Second")).await.unwrap();
        world.run().await;
        let second = card(&world, created.task.id).await;
        assert_eq!(created.session_id, None);
        assert_eq!(second.workflow_step_id, world.step("In Progress"));
        assert!(!second.wip_admitted && second.queued_at.is_some());
        assert_eq!((second.queued_for_step_id, second.session_count), (None, 0));
        assert_eq!(world.count("sessions").await, 1);

        // The first one moves on by itself, and the second gets its place and its one start.
        first.end_turn().await;
        world.run().await;
        assert_eq!(first.step().await, "Review");
        let second = card(&world, second.id).await;
        assert!(second.wip_admitted && second.queued_at.is_none());
        assert_eq!(world.primary(second.id).await.texts(), ["Begin with Second."]);
        assert_eq!(world.count("deferred_launches").await, 0);
    }

    async fn whatever_frees_a_place_gives_it_to_the_next(db: TestDb) {
        let world = limited(db, 1).await;
        for way in ["archive", "delete", "complete", "cancel", "fail", "move"] {
            let holder = idle(&world, "Holder").await;
            assert!(move_to(&world, holder, "In Progress").await.wip_admitted, "{way}");
            world.run().await;
            world.primary(holder).await.end_turn().await;
            // The turn's end sends it to Review; back it comes, and rests.
            world.run().await;
            let params = MoveTask {
                entry_options: Some(EntryOptions { skip_step_prompt: true, ..EntryOptions::default() }),
                ..MoveTask::to(world.step("In Progress"))
            };
            world.board().task_move(&OPERATOR, holder, &params).await.unwrap();
            let next = world.create(prompted("Next")).await.unwrap().task.id;
            assert!(!card(&world, next).await.wip_admitted, "{way}");
            match way {
                "archive" => drop(world.board().task_archive(&OPERATOR, holder).await.unwrap()),
                "delete" => world.board().task_delete(&OPERATOR, holder).await.unwrap(),
                "complete" => set(&world, holder, "COMPLETED").await,
                "cancel" => set(&world, holder, "CANCELLED").await,
                "fail" => set(&world, holder, "FAILED").await,
                _ => drop(move_to(&world, holder, "Done").await),
            }
            world.run().await;
            let next = card(&world, next).await;
            assert!(next.wip_admitted, "{way}");
            let puppet = world.primary(next.id).await;
            assert_eq!(puppet.texts(), ["Begin with Next."], "{way}");
            world.board().task_delete(&OPERATOR, next.id).await.unwrap();
            world.run().await;
        }
    }

    async fn cards_are_promoted_in_their_order(db: TestDb) {
        let world = limited(db, 1).await;
        let holder = world.working("Holder").await;
        let mut cards = Vec::new();
        for (title, priority) in [("low", Some(Priority::Low)), ("none", None), ("critical", Some(Priority::Critical)), ("high", Some(Priority::High))] {
            let params = CreateTask { priority, ..prompted(title) };
            cards.push(world.create(params).await.unwrap().task.id);
            world.clock.advance(1);
        }
        // All at the same place: then priority decides, and among equals the one that waited longer.
        world.execute("update tasks set position = 1 where wip_admitted = 0").await;
        let mut order = Vec::new();
        let mut at_work = holder.task;
        for _ in 0..4 {
            set(&world, at_work, "done").await;
            let admitted = async |id| card(&world, id).await.wip_admitted;
            for id in &cards {
                if admitted(*id).await && !order.contains(id) {
                    order.push(*id);
                    at_work = *id;
                }
            }
        }
        assert_eq!(order, [cards[2], cards[3], cards[0], cards[1]]);
    }

    async fn a_feeder_takes_new_cards_and_gives_them_back_in_turn(db: TestDb) {
        let world = limited(db, 1).await;
        feed(&world).await;
        limit_step(&world, "Backlog", 1).await;
        let first = world.working("First").await;
        let second = world.create(prompted("Second")).await.unwrap().task;
        assert_eq!(second.workflow_step_id, world.step("Backlog"));
        assert_eq!(second.queued_for_step_id, Some(world.step("In Progress")));
        assert!(second.queued_at.is_some() && second.session_count == 0);
        // Both are full: nothing is made.
        refused(world.create(prompted("Third")).await, ErrorCode::Conflict);
        assert_eq!(world.count("tasks").await, 2);

        // A move is never sent to the feeder: it waits in the step, and goes before what the feeder holds.
        let moved = idle_in(&world, "Review").await;
        let waits = move_to(&world, moved, "In Progress").await;
        assert_eq!((waits.workflow_step_id, waits.wip_admitted), (world.step("In Progress"), false));
        set(&world, first.task, "done").await;
        assert!(card(&world, moved).await.wip_admitted);
        assert_eq!(card(&world, second.id).await.workflow_step_id, world.step("Backlog"));
        set(&world, moved, "done").await;
        let second = card(&world, second.id).await;
        assert_eq!((second.workflow_step_id, second.queued_for_step_id, second.queued_at), (world.step("In Progress"), None, None));
        assert_eq!(world.primary(second.id).await.texts(), ["Begin with Second."]);
        let history = world.read(async |db| db.fetch_raw("select move_trigger, actor from step_transitions order by created_at, id").await).await;
        let last: Vec<_> = history.last().unwrap().iter().map(|cell| cell.as_deref().unwrap()).collect();
        assert_eq!(last, ["queue_promotion", "system"]);
    }

    async fn a_feeder_gives_what_rests_in_it_and_is_refilled_by_its_own(db: TestDb) {
        let world = limited(db, 1).await;
        feed(&world).await;
        let holder = world.working("Holder").await;
        let one = idle(&world, "One").await;
        let two = idle(&world, "Two").await;
        let first_place = MoveTask { position: Some(0), ..MoveTask::to(world.step("Backlog")) };
        world.board().task_move(&OPERATOR, two, &first_place).await.unwrap();
        // A card that waits for another task is passed over.
        world.board().dependency_add(&OPERATOR, two, holder.task).await.unwrap();
        world.board().dependency_add(&OPERATOR, one, two).await.unwrap();
        set(&world, holder.task, "FAILED").await;
        assert_eq!(card(&world, two).await.workflow_step_id, world.step("Backlog"));
        set(&world, holder.task, "open").await;
        set(&world, holder.task, "done").await;
        assert_eq!(card(&world, two).await.workflow_step_id, world.step("In Progress"));
        assert_eq!(card(&world, one).await.workflow_step_id, world.step("Backlog"));
        assert_eq!(world.primary(two).await.texts(), ["Begin with Two."]);
    }

    async fn a_card_that_finds_a_full_step_at_the_end_of_its_turn_leaves_at_once_and_enters_later(db: TestDb) {
        let world = World::new(db).await;
        let mut working = step_events(&world, "In Progress");
        working.on_exit = vec![PlanAction::DisablePlanMode];
        working.on_enter.push(EnterAction::EnablePlanMode);
        change(&world, "In Progress", UpdateStep { events: Some(working), ..UpdateStep::default() }).await;
        let mut review = step_events(&world, "Review");
        review.on_enter = vec![EnterAction::AutoStartAgent];
        let params = UpdateStep {
            events: Some(review),
            prompt: Some("Review this.".to_owned()),
            wip_limit: Some(1),
            ..UpdateStep::default()
        };
        change(&world, "Review", params).await;
        let holder = idle_in(&world, "Review").await;
        let puppet = world.working("Task").await;
        assert!(puppet.view().await.plan_mode);
        assert!(puppet.last_heard().hidden().contains("for planning"));
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.step().await, "Review");
        assert!(!puppet.card().await.wip_admitted);
        assert!(!puppet.view().await.plan_mode, "it has left its step");
        assert_eq!(puppet.texts().len(), 1, "it has not entered the other one");
        assert_eq!(puppet.card().await.state, TaskState::Review);
        world.board().task_delete(&OPERATOR, holder).await.unwrap();
        world.run().await;
        assert_eq!(puppet.texts(), ["Begin with Task.", "Review this."]);
    }

    async fn words_for_a_card_without_a_place_wait_with_it(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Resting").await;
        limit_step(&world, "In Progress", 1).await;
        let holder = world.working("Holder").await;
        assert!(!move_to(&world, puppet.task, "In Progress").await.wip_admitted);
        let outcome = puppet.operator_says("Go on.").await;
        assert_eq!(outcome.status, DeliveryStatus::Queued);
        world.run().await;
        assert!(!puppet.is_in_turn());
        refused(world.board().session_resume(&OPERATOR, puppet.session).await, ErrorCode::Conflict);
        set(&world, holder.task, "done").await;
        assert!(puppet.is_in_turn());
        assert_eq!(puppet.texts().last().map(String::as_str), Some("Go on."), "and nothing is said beside it");
    }

    async fn a_turn_whose_step_leads_to_a_full_one_waits(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Resting").await;
        assert_eq!(puppet.step().await, "Review");
        limit_step(&world, "In Progress", 1).await;
        let holder = world.working("Holder").await;
        assert_eq!(puppet.operator_says("Once more.").await.status, DeliveryStatus::Queued);
        world.run().await;
        assert_eq!(puppet.step().await, "In Progress");
        assert!(!puppet.card().await.wip_admitted && !puppet.is_in_turn());
        set(&world, holder.task, "done").await;
        assert_eq!(puppet.texts(), ["Begin with Resting.", "Once more."]);
        assert!(puppet.is_in_turn());
    }

    async fn a_card_that_waits_and_is_moved_to_where_there_is_room_gets_its_words(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.resting("Resting").await;
        limit_step(&world, "In Progress", 1).await;
        let _holder = world.working("Holder").await;
        puppet.operator_says("Once more.").await;
        world.run().await;
        assert!(!puppet.card().await.wip_admitted && !puppet.is_in_turn());
        // Neither step begins its turns in another one, nor starts anything on entry.
        change(&world, "Done", UpdateStep { events: Some(StepEvents::default()), ..UpdateStep::default() }).await;
        assert!(move_to(&world, puppet.task, "Done").await.wip_admitted);
        world.run().await;
        assert!(puppet.is_in_turn());
        assert_eq!(puppet.last_heard().text, "Once more.");
    }

    async fn options_of_a_move_wait_for_the_promotion_and_survive_a_restart(db: TestDb) {
        let world = limited(db, 1).await;
        let holder = world.working("Holder").await;
        let waiting = idle(&world, "Waiting").await;
        let params = MoveTask {
            entry_options: Some(EntryOptions {
                instructions: Some("Start with the failing case.".to_owned()),
                skip_step_prompt: true,
                ..EntryOptions::default()
            }),
            ..MoveTask::to(world.step("In Progress"))
        };
        world.board().task_move(&OPERATOR, waiting, &params).await.unwrap();
        world.restart().await;
        world.run().await;
        assert_eq!(world.count("entry_markers").await, 1);
        // The holder's agent was interrupted by the restart; whoever finishes the task frees the place.
        set(&world, holder.task, "done").await;
        assert_eq!(world.primary(waiting).await.texts(), ["Start with the failing case."]);
        assert_eq!(world.count("entry_markers").await, 0);
    }

    async fn options_are_dropped_when_the_card_leaves_the_queue(db: TestDb) {
        let world = limited(db, 1).await;
        let holder = world.working("Holder").await;
        let waiting = idle(&world, "Waiting").await;
        let params = MoveTask {
            prompt: Some("Start with the failing case.".to_owned()),
            ..MoveTask::to(world.step("In Progress"))
        };
        world.board().task_move(&OPERATOR, waiting, &params).await.unwrap();
        move_to(&world, waiting, "Backlog").await;
        assert_eq!(world.count("entry_markers").await, 0);
        move_to(&world, waiting, "In Progress").await;
        set(&world, holder.task, "done").await;
        assert_eq!(world.primary(waiting).await.texts(), ["Begin with Waiting."]);
    }

    async fn a_card_that_is_opened_again_waits_for_a_place_like_any_other(db: TestDb) {
        let world = limited(db, 1).await;
        let (first, second) = (idle(&world, "First").await, idle(&world, "Second").await);
        for task in [first, second] {
            let rests = EntryOptions { skip_step_prompt: true, ..EntryOptions::default() };
            let params = MoveTask { entry_options: Some(rests), ..MoveTask::to(world.step("In Progress")) };
            world.board().task_move(&OPERATOR, task, &params).await.unwrap();
        }
        assert!(!card(&world, second).await.wip_admitted);
        set(&world, first, "done").await;
        assert!(card(&world, second).await.wip_admitted);
        set(&world, first, "todo").await;
        assert!(!card(&world, first).await.wip_admitted, "its place is taken");
        set(&world, second, "done").await;
        assert!(card(&world, first).await.wip_admitted);

        set(&world, first, "done").await;
        // One whose agent is at work has its place, whatever is said about its state meanwhile.
        let busy = world.working("Busy").await;
        set(&world, busy.task, "done").await;
        set(&world, busy.task, "todo").await;
        assert!(busy.card().await.wip_admitted);
    }

    async fn no_agent_is_started_for_a_turn_whose_step_is_full(db: TestDb) {
        let world = limited(db, 1).await;
        world.working("Holder").await;
        let events = StepEvents { on_turn_start: vec![MoveAction::MoveToNext], ..StepEvents::default() };
        change(&world, "Backlog", UpdateStep { events: Some(events), ..UpdateStep::default() }).await;
        let task = idle(&world, "Waits").await;
        let told = world.board().prompt_task(&OPERATOR, task, "Begin.", None).await.unwrap();
        assert_eq!(told.status, DeliveryStatus::Queued);
        world.run().await;
        let waits = card(&world, task).await;
        assert_eq!((waits.workflow_step_id, waits.wip_admitted), (world.step("In Progress"), false));
        assert!(!world.node().is_live(told.session_id.unwrap()));
    }

    async fn of_two_cards_and_one_place_one_is_admitted(db: TestDb) {
        let world = limited(db, 1).await;
        let (a, b) = (idle(&world, "A").await, idle(&world, "B").await);
        let (one, two) = soon(at_once(
            { let world = world.clone(); async move { move_to(&world, a, "In Progress").await } },
            { let world = world.clone(); async move { move_to(&world, b, "In Progress").await } },
        ))
        .await;
        assert!(one.wip_admitted != two.wip_admitted);
        world.run().await;
        assert_eq!(world.count("sessions").await, 1);
    }

    async fn two_ends_at_once_promote_two_cards_and_start_each_once(db: TestDb) {
        let world = limited(db, 2).await;
        let (a, b) = (world.working("A").await, world.working("B").await);
        let mut waiting = Vec::new();
        for title in ["C", "D", "E"] {
            waiting.push(world.create(prompted(title)).await.unwrap().task.id);
        }
        soon(at_once(async move { a.end_turn().await }, async move { b.end_turn().await })).await;
        world.run().await;
        assert_eq!(world.primary(waiting[0]).await.texts(), ["Begin with C."]);
        assert_eq!(world.primary(waiting[1]).await.texts(), ["Begin with D."]);
        assert_eq!(card(&world, waiting[2]).await.session_count, 0);
        world.assert_heard_once();
    }

    async fn a_dependency_and_a_limit_hold_a_start_until_both_let_go(db: TestDb) {
        let world = limited(db, 1).await;
        let holder = world.working("Holder").await;
        let first = idle(&world, "First").await;
        let params = CreateTask { blocked_by: vec![first], ..prompted("Task") };
        let task = world.create(params).await.unwrap().task.id;
        let later = world.create(prompted("Later")).await.unwrap().task.id;
        set(&world, holder.task, "done").await;
        assert!(card(&world, later).await.wip_admitted, "the blocked card is passed over");
        set(&world, first, "done").await;
        assert_eq!(card(&world, task).await.session_count, 0);
        set(&world, later, "done").await;
        assert_eq!(world.primary(task).await.texts(), ["Begin with Task."]);
        world.assert_heard_once();
    }

    async fn a_higher_limit_lets_cards_in_and_a_lower_one_sends_nobody_back(db: TestDb) {
        let world = limited(db, 1).await;
        world.working("A").await;
        let b = world.create(prompted("B")).await.unwrap().task.id;
        let c = world.create(prompted("C")).await.unwrap().task.id;
        limit_step(&world, "In Progress", 2).await;
        assert!(card(&world, b).await.wip_admitted && !card(&world, c).await.wip_admitted);
        limit_step(&world, "In Progress", 1).await;
        assert!(card(&world, b).await.wip_admitted);
        limit_step(&world, "In Progress", 0).await;
        assert_eq!(world.primary(c).await.texts(), ["Begin with C."]);
    }

    async fn an_archived_card_comes_back_to_a_place_or_to_the_queue(db: TestDb) {
        let world = limited(db, 1).await;
        let first = world.working("First").await;
        world.board().task_archive(&OPERATOR, first.task).await.unwrap();
        let second = world.working("Second").await;
        let back = world.board().task_unarchive(&OPERATOR, first.task).await.unwrap();
        assert!(!back.wip_admitted && back.queued_at.is_some());
        set(&world, second.task, "done").await;
        assert!(card(&world, first.task).await.wip_admitted);
    }

    async fn a_finished_card_takes_no_place(db: TestDb) {
        let world = limited(db, 1).await;
        world.working("Holder").await;
        let done = idle(&world, "Done").await;
        set(&world, done, "done").await;
        // Where nothing is started for it; an agent that is started works like any other.
        let rests = MoveTask {
            entry_options: Some(EntryOptions { skip_step_prompt: true, ..EntryOptions::default() }),
            ..MoveTask::to(world.step("In Progress"))
        };
        let moved = world.board().task_move(&OPERATOR, done, &rests).await.unwrap();
        assert!(moved.task.wip_admitted);
        let next = idle(&world, "Next").await;
        assert!(!move_to(&world, next, "In Progress").await.wip_admitted);
    }

    // Task-domain 1.14: however a card comes back to work, the step's limit holds.
    async fn cards_that_are_over_come_back_one_by_one(db: TestDb) {
        let world = limited(db, 1).await;
        let mut cards = Vec::new();
        for title in ["One", "Two", "Three"] {
            let card = world.resting(title).await;
            set(&world, card.task, "done").await;
            cards.push(card);
        }
        for card in &cards[..2] {
            move_to(&world, card.task, "In Progress").await;
        }
        cards[2].operator_says("Once more.").await;
        let mut order = Vec::new();
        for _ in 0..3 {
            world.run().await;
            let mut at_work = Vec::new();
            for card in &cards {
                if card.is_in_turn() {
                    at_work.push(card);
                }
            }
            let [one] = &at_work[..] else { panic!("{} cards are worked on in one place", at_work.len()) };
            order.push(one.task);
            one.end_turn().await;
        }
        order.sort_unstable();
        order.dedup();
        assert_eq!(order.len(), 3, "each came to its turn");
        world.assert_heard_once();
    }

    async fn a_card_that_is_ended_while_it_waits_does_not_wait_any_more(db: TestDb) {
        let world = limited(db, 1).await;
        let waits = world.resting("Waits").await;
        let holder = world.working("Holder").await;
        move_to(&world, waits.task, "In Progress").await;
        set(&world, waits.task, "done").await;
        assert!(waits.card().await.wip_admitted);
        waits.operator_says("Once more.").await;
        world.run().await;
        assert!(!waits.is_in_turn(), "there is no place");
        holder.end_turn().await;
        world.run().await;
        assert_eq!(waits.last_heard().text, "Once more.");
        assert!(waits.is_in_turn());
    }

    async fn nothing_is_started_beside_a_card_that_waits_for_its_place(db: TestDb) {
        let world = limited(db, 1).await;
        let start = EnterAction::AutoStartAgent;
        let beside = EnterAction::QueueRun(domain::workflow::QueuedRun { agent_profile_id: None, prompt: Some("Test.".to_owned()) });
        let events = StepEvents { on_enter: vec![start, beside], on_turn_complete: vec![MoveAction::MoveToNext.into()], ..StepEvents::default() };
        let params = UpdateStep { events: Some(events), ..UpdateStep::default() };
        let done = world.resting("Done").await;
        set(&world, done.task, "done").await;
        world.board().step_update(&OPERATOR, world.step("In Progress"), params).await.unwrap();
        let holder = idle(&world, "Holder").await;
        move_to(&world, holder, "In Progress").await;
        world.run().await;
        move_to(&world, done.task, "In Progress").await;
        world.run().await;
        let sessions = async |task| world.board().session_list(&OPERATOR, task).await.unwrap().len();
        assert_eq!((sessions(holder).await, sessions(done.task).await), (2, 1));
        world.board().task_archive(&OPERATOR, holder).await.unwrap();
        world.run().await;
        assert_eq!(sessions(done.task).await, 2);
        assert!(done.is_in_turn());
    }

    async fn steps_are_changed_by_the_operator_and_by_the_rules(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let id = world.step("In Progress");
        let with = |params: UpdateStep| {
            let board = board.clone();
            async move { board.step_update(&OPERATOR, id, params).await }
        };
        let feeder = |step| UpdateStep { pull_from_step_id: Some(Some(step)), ..UpdateStep::default() };
        refused(with(UpdateStep { wip_limit: Some(-1), ..UpdateStep::default() }).await, ErrorCode::Validation);
        refused(with(feeder(id)).await, ErrorCode::Validation);
        refused(with(feeder(domain::ids::StepId::new())).await, ErrorCode::Validation);
        refused(with(UpdateStep { name: Some(" ".to_owned()), ..UpdateStep::default() }).await, ErrorCode::Validation);
        let foreign = MoveAction::MoveToStep { step_id: domain::ids::StepId::new() };
        let events = StepEvents { on_turn_start: vec![foreign], ..StepEvents::default() };
        refused(with(UpdateStep { events: Some(events), ..UpdateStep::default() }).await, ErrorCode::Validation);
        with(feeder(world.step("Backlog"))).await.unwrap();
        let back = board.step_update(&OPERATOR, world.step("Backlog"), feeder(id)).await;
        refused(back, ErrorCode::Validation);
        let params = UpdateStep { name: Some(" Doing ".to_owned()), wip_limit: Some(3), pull_from_step_id: Some(None), ..UpdateStep::default() };
        let step = with(params).await.unwrap();
        assert_eq!((step.name.as_str(), step.wip_limit, step.pull_from_step_id), ("Doing", 3, None));
        let puppet = world.working("Task").await;
        refused(board.step_update(&puppet.actor(), id, UpdateStep::default()).await, ErrorCode::Forbidden);
        refused(board.step_update(&OPERATOR, domain::ids::StepId::new(), UpdateStep::default()).await, ErrorCode::NotFound);
    }

    // Nothing but a hand in the database makes such a circle; it must not hang the board.
    async fn steps_that_feed_one_another_come_to_an_end(db: TestDb) {
        let world = World::with(db, Settings::default()).await;
        for (step, feeder) in [("In Progress", "Review"), ("Review", "In Progress")] {
            world
                .execute(&format!(
                    "update steps set wip_limit = 1, pull_from_step_id = '{}' where id = '{}'",
                    world.step(feeder),
                    world.step(step)
                ))
                .await;
        }
        let a = idle_in(&world, "Review").await;
        let b = idle_in(&world, "Done").await;
        soon(async { move_to(&world, b, "In Progress").await }).await;
        soon(async { move_to(&world, b, "Done").await }).await;
        world.run().await;
        assert!(card(&world, a).await.wip_admitted);
    }
}

fn step_events(world: &World, step: &str) -> StepEvents {
    world
        .steps
        .iter()
        .find(|s| s.name == step)
        .unwrap()
        .events
        .clone()
}

/// A card that rests in a step.
async fn idle_in(world: &World, step: &str) -> TaskId {
    let params = CreateTask {
        start_agent: Some(false),
        workflow_step_id: Some(world.step(step)),
        ..prompted(step)
    };
    world.create(params).await.unwrap().task.id
}
