use crate::world::{
    UNICODE, World, assert_invariant, assert_unique, at, execute, read, workflow, write,
};
use domain::ids::{MoveId, StepId, WorkflowId};
use domain::workflow::{
    CompleteAction, EnterAction, MoveAction, MoveTrigger, Mover, PlanAction, StageType, Step,
    StepEvents, Workflow,
};
use std::slice::from_ref;
use store::workflows::{
    StepSignal, StepTransition, automatic_moves_since, cards, cards_of_step, clear_signals,
    clear_start, delete, delete_step, fed_by, find, find_step, insert, insert_signal, insert_step,
    last_moved_at, list, place, place_steps, record_transition, signal, steps, update, update_step,
    was_done,
};

store::on_both_engines! {
    async fn a_workflow_is_read_as_it_was_written(db: TestDb) {
        let world = World::new(&db).await;
        let whole = Workflow {
            description: UNICODE.to_owned(),
            prompt: UNICODE.to_owned(),
            agent_profile_id: Some(world.profile.id),
            sort_order: -1,
            hidden: true,
            updated_at: at(1),
            ..workflow(world.workspace.id, UNICODE)
        };
        write(&db.store, async |tx| insert(tx, &whole).await).await.unwrap();
        assert_eq!(read(&db.store, async |db| find(db, whole.id).await).await.as_ref(), Some(&whole));
        assert_eq!(read(&db.store, async |db| find(db, WorkflowId::new()).await).await, None);
        let listed = read(&db.store, async |db| list(db, world.workspace.id).await).await;
        assert_eq!(listed, [whole, world.workflow]);
    }

    async fn a_step_is_read_as_it_was_written(db: TestDb) {
        let world = World::new(&db).await;
        let workflow = workflow(world.workspace.id, "Another");
        let target = StepId::new();
        let bare = Step { workflow_id: workflow.id, position: 3, is_start_step: false, ..world.steps[3].clone() };
        let bare = Step { id: StepId::new(), events: StepEvents::default(), ..bare };
        let whole = Step {
            id: target,
            workflow_id: workflow.id,
            name: UNICODE.to_owned(),
            position: 1,
            color: UNICODE.to_owned(),
            prompt: UNICODE.to_owned(),
            events: StepEvents {
                on_enter: vec![
                    EnterAction::AutoStartAgent,
                    EnterAction::ResetAgentContext,
                    EnterAction::SetSessionMode { mode: UNICODE.to_owned() },
                    EnterAction::EnablePlanMode,
                ],
                on_turn_start: vec![MoveAction::MoveToPrevious, MoveAction::MoveToNext],
                on_turn_complete: vec![
                    CompleteAction::Plan(PlanAction::DisablePlanMode),
                    MoveAction::MoveToStep { step_id: target }.into(),
                ],
                on_exit: vec![PlanAction::DisablePlanMode],
                on_children_completed: vec![MoveAction::MoveToNext],
            },
            allow_manual_move: false,
            is_start_step: true,
            show_in_command_panel: false,
            auto_archive_after_hours: i64::MAX,
            agent_profile_id: Some(world.profile.id),
            wip_limit: 3,
            pull_from_step_id: Some(bare.id),
            stage_type: StageType::Approval,
            auto_advance_requires_signal: true,
            cancel_triggers_turn_complete: true,
        };
        write(&db.store, async |tx| {
            insert(tx, &workflow).await?;
            insert_step(tx, &bare).await?;
            insert_step(tx, &whole).await
        })
        .await
        .unwrap();
        assert_eq!(read(&db.store, async |db| steps(db, workflow.id).await).await, [whole.clone(), bare.clone()]);
        assert_eq!(read(&db.store, async |db| find_step(db, whole.id).await).await.as_ref(), Some(&whole));
        assert_eq!(read(&db.store, async |db| find_step(db, StepId::new()).await).await, None);
        assert_eq!(read(&db.store, async |db| fed_by(db, bare.id).await).await, from_ref(&whole));
        assert!(read(&db.store, async |db| fed_by(db, whole.id).await).await.is_empty());
        assert_eq!(read(&db.store, async |db| steps(db, world.workflow.id).await).await, world.steps);
        assert!(read(&db.store, async |db| steps(db, WorkflowId::new()).await).await.is_empty());
    }

    async fn an_update_of_a_step_writes_all_that_may_change(db: TestDb) {
        let world = World::new(&db).await;
        let before = world.steps[2].clone();
        write(&db.store, async |tx| clear_start(tx, world.workflow.id).await).await.unwrap();
        let plain = Step { is_start_step: false, ..world.steps[1].clone() };
        assert_eq!(read(&db.store, async |db| find_step(db, plain.id).await).await.as_ref(), Some(&plain));
        let wanted = Step {
            is_start_step: true,
            name: UNICODE.to_owned(),
            color: "done".to_owned(),
            prompt: UNICODE.to_owned(),
            events: StepEvents { on_exit: vec![PlanAction::DisablePlanMode], ..StepEvents::default() },
            allow_manual_move: !before.allow_manual_move,
            show_in_command_panel: !before.show_in_command_panel,
            auto_archive_after_hours: 5,
            agent_profile_id: Some(world.profile.id),
            wip_limit: 4,
            pull_from_step_id: Some(world.steps[0].id),
            stage_type: StageType::Approval,
            auto_advance_requires_signal: !before.auto_advance_requires_signal,
            cancel_triggers_turn_complete: !before.cancel_triggers_turn_complete,
            ..before.clone()
        };
        write(&db.store, async |tx| update_step(tx, &wanted).await).await.unwrap();
        let stored = read(&db.store, async |db| steps(db, world.workflow.id).await).await;
        assert_eq!(stored, [world.steps[0].clone(), plain.clone(), wanted, world.steps[3].clone()]);
        let second = Step { is_start_step: true, ..plain };
        assert_unique(write(&db.store, async |tx| update_step(tx, &second).await).await);
        let negative = Step { wip_limit: -1, ..before };
        assert_invariant(write(&db.store, async |tx| update_step(tx, &negative).await).await);
    }

    async fn an_update_of_a_workflow_writes_all_that_may_change(db: TestDb) {
        let world = World::new(&db).await;
        let wanted = Workflow {
            name: UNICODE.to_owned(),
            description: UNICODE.to_owned(),
            prompt: UNICODE.to_owned(),
            agent_profile_id: Some(world.profile.id),
            hidden: true,
            updated_at: at(9),
            ..world.workflow.clone()
        };
        write(&db.store, async |tx| update(tx, &wanted).await).await.unwrap();
        assert_eq!(read(&db.store, async |db| find(db, wanted.id).await).await.as_ref(), Some(&wanted));
    }

    async fn orders_are_written_as_they_are_named(db: TestDb) {
        let world = World::new(&db).await;
        let order: Vec<StepId> = [3, 1, 0, 2].map(|at: usize| world.steps[at].id).to_vec();
        let other = workflow(world.workspace.id, "Another");
        write(&db.store, async |tx| {
            insert(tx, &other).await?;
            place_steps(tx, &[]).await?;
            place_steps(tx, &order).await?;
            place(tx, &[other.id, world.workflow.id]).await
        })
        .await
        .unwrap();
        let stored = read(&db.store, async |db| steps(db, world.workflow.id).await).await;
        assert_eq!(stored.iter().map(|step| step.id).collect::<Vec<_>>(), order);
        assert_eq!(stored.iter().map(|step| step.position).collect::<Vec<_>>(), [0, 1, 2, 3]);
        let listed = read(&db.store, async |db| list(db, world.workspace.id).await).await;
        assert_eq!(listed.iter().map(|w| w.id).collect::<Vec<_>>(), [other.id, world.workflow.id]);
    }

    async fn what_holds_cards_stays(db: TestDb) {
        let world = World::new(&db).await;
        let (full, awaited, empty) = (world.steps[0].id, world.steps[1].id, world.steps[3].id);
        let card = world.task();
        world.put_task(domain::task::Task { queued_for_step_id: Some(awaited), archived_at: Some(at(1)), ..card }).await;
        let counted = async |step| read(&db.store, async |db| cards_of_step(db, step).await).await;
        assert_eq!((counted(full).await, counted(awaited).await, counted(empty).await), (1, 1, 0));
        assert_eq!(read(&db.store, async |db| cards(db, world.workflow.id).await).await, 1);
        assert_invariant(write(&db.store, async |tx| delete_step(tx, full).await).await);
        assert_invariant(write(&db.store, async |tx| delete(tx, world.workflow.id).await).await);
        write(&db.store, async |tx| delete_step(tx, empty).await).await.unwrap();
        assert_eq!(read(&db.store, async |db| steps(db, world.workflow.id).await).await.len(), 3);
        let other = workflow(world.workspace.id, "Another");
        write(&db.store, async |tx| insert(tx, &other).await).await.unwrap();
        assert_eq!(read(&db.store, async |db| cards(db, other.id).await).await, 0);
        write(&db.store, async |tx| delete(tx, other.id).await).await.unwrap();
        assert_eq!(read(&db.store, async |db| find(db, other.id).await).await, None);
    }

    async fn a_move_is_done_once(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let id = MoveId::new();
        let transition = StepTransition {
            task_id: task.id,
            from: world.steps[0].id,
            to: world.steps[1].id,
            trigger: MoveTrigger::Manual,
            actor: Mover::Human,
            session_id: None,
            move_id: Some(id),
            at: at(1),
        };
        let done = async || read(&db.store, async |db| was_done(db, id).await).await;
        assert!(!done().await);
        write(&db.store, async |tx| record_transition(tx, &transition).await).await.unwrap();
        assert!(done().await);
        assert_unique(write(&db.store, async |tx| record_transition(tx, &transition).await).await);
        // Moves without an id are as many as there are.
        let moved_at = async |task| read(&db.store, async |db| last_moved_at(db, task).await).await;
        assert_eq!((moved_at(transition.task_id).await, moved_at(domain::ids::TaskId::new()).await), (Some(transition.at), None));
        let unnamed = StepTransition { move_id: None, ..transition };
        for _ in 0..2 {
            write(&db.store, async |tx| record_transition(tx, &unnamed).await).await.unwrap();
        }
    }

    async fn a_workflow_has_one_start_step(db: TestDb) {
        let world = World::new(&db).await;
        let second = Step { id: StepId::new(), is_start_step: true, position: 9, ..world.steps[3].clone() };
        assert_unique(write(&db.store, async |tx| insert_step(tx, &second).await).await);
    }

    async fn only_moves_that_no_person_made_are_counted(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let other = world.add_task().await;
        let session = world.add_session(&task).await;
        let mut transition = StepTransition {
            task_id: task.id,
            from: world.steps[0].id,
            to: world.steps[1].id,
            trigger: MoveTrigger::Manual,
            actor: Mover::Human,
            session_id: None,
            move_id: None,
            at: at(10),
        };
        write(&db.store, async |tx| {
            record_transition(tx, &transition).await?;
            transition.actor = Mover::System;
            for trigger in MoveTrigger::ALL {
                transition.trigger = *trigger;
                record_transition(tx, &transition).await?;
            }
            transition.at = at(20);
            transition.trigger = MoveTrigger::TaskUpdate;
            transition.actor = Mover::Agent;
            transition.session_id = Some(session.id);
            record_transition(tx, &transition).await?;
            transition.actor = Mover::System;
            transition.task_id = other.id;
            record_transition(tx, &transition).await
        })
        .await
        .unwrap();
        let moves = async |since| {
            read(&db.store, async |db| automatic_moves_since(db, task.id, since).await).await
        };
        let automatic = i64::try_from(MoveTrigger::ALL.len()).unwrap();
        assert_eq!(moves(at(0)).await, automatic + 1);
        assert_eq!(moves(at(10)).await, automatic + 1, "the moment itself counts");
        assert_eq!(moves(at(11)).await, 1);
        assert_eq!(moves(at(21)).await, 0);
        let stored = read(&db.store, async |db| {
            db.fetch_raw(
                "select task_id, from_step_id, to_step_id, move_trigger, actor, session_id, created_at from step_transitions \
                 where actor = 'agent'",
            )
            .await
        })
        .await;
        let expected = [
            task.id.to_string(),
            world.steps[0].id.to_string(),
            world.steps[1].id.to_string(),
            MoveTrigger::TaskUpdate.to_string(),
            "agent".to_owned(),
            session.id.to_string(),
            at(20).millis().to_string(),
        ];
        assert_eq!(stored, [expected.map(Some).to_vec()]);
        assert_invariant(
            execute(&db.store, "update step_transitions set actor = 'somebody' where actor = 'agent'").await,
        );
    }

    async fn a_session_signals_a_step_once(db: TestDb) {
        let world = World::new(&db).await;
        let (task, session) = world.add_conversation().await;
        let another = world.add_session(&task).await;
        let step = world.steps[1].id;
        let first = StepSignal {
            summary: UNICODE.to_owned(),
            handoff: Some(UNICODE.to_owned()),
            blockers: Some("none".to_owned()),
            signaled_at: at(1),
        };
        let give = async |session, step, signal: &StepSignal| {
            write(&db.store, async |tx| insert_signal(tx, session, step, signal).await).await.unwrap()
        };
        let given = async |session, step| {
            read(&db.store, async |db| signal(db, session, step).await).await
        };
        assert_eq!(given(session.id, step).await, None);
        assert!(give(session.id, step, &first).await);
        let repeated = StepSignal { summary: "again".to_owned(), handoff: None, blockers: None, signaled_at: at(2) };
        assert!(!give(session.id, step, &repeated).await, "the first one stands");
        assert!(give(another.id, step, &repeated).await);
        assert!(give(session.id, world.steps[2].id, &repeated).await);
        assert_eq!(given(session.id, step).await, Some(first));
        assert_eq!(given(session.id, world.steps[3].id).await, None);

        write(&db.store, async |tx| clear_signals(tx, session.id).await).await.unwrap();
        assert_eq!(given(session.id, step).await, None);
        assert_eq!(given(session.id, world.steps[2].id).await, None);
        assert_eq!(given(another.id, step).await, Some(repeated), "another session's signal stays");
    }
}
