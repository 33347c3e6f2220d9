use crate::world::{
    UNICODE, World, asked, assert_invariant, assert_unique, at, bundle, count, execute, message,
    permission, prompt, question, read, turn, workspace, write,
};
use domain::effect::EffectKind;
use domain::ids::{StepId, TaskId};
use domain::queue::{Lane, QueuedPrompt, QueuedState};
use domain::session::{Session, SessionState};
use domain::task::{Origin, Priority, Purpose, Task, TaskState, TitleMode};
use domain::workflow::{MoveTrigger, Mover};
use std::slice::from_ref;
use store::tasks::{
    ancestors, children, delete, find, find_by_external_id, height, insert, next_for_step,
    next_position, set_notice, shift, taken, to_archive, update,
};
use store::workflows::{StepSignal, StepTransition};
use store::{Store, Write};

async fn stored(store: &Store, id: TaskId) -> Option<Task> {
    read(store, async |db| find(db, id).await).await
}

/// A task with a value in every column that may be empty.
async fn whole_task(world: &World) -> Task {
    let parent = world.add_task().await;
    let session = world.add_session(&parent).await;
    Task {
        title: UNICODE.to_owned(),
        description: UNICODE.repeat(10),
        state: TaskState::InProgress,
        priority: Some(Priority::Critical),
        position: 7,
        wip_admitted: false,
        queued_for_step_id: Some(world.steps[3].id),
        queued_at: Some(at(5)),
        parent_id: Some(parent.id),
        autopilot: true,
        purpose: Purpose::Office,
        origin: Origin::AgentCreated,
        external_id: Some(UNICODE.to_owned()),
        title_mode: TitleMode::Claimed,
        title_owner_session_id: Some(session.id),
        agent_profile_id: Some(world.profile.id),
        working_directory: Some("/tmp/ö".to_owned()),
        interrupted_at: Some(at(3)),
        archived_at: Some(at(4)),
        created_at: at(1),
        updated_at: at(2),
        version: i64::MAX - 1,
        ..world.task()
    }
}

store::on_both_engines! {
    async fn a_task_is_read_as_it_was_written(db: TestDb) {
        let world = World::new(&db).await;
        let bare = world.add_task().await;
        let whole = whole_task(&world).await;
        world.put_task(whole.clone()).await;
        assert_eq!(stored(&db.store, bare.id).await, Some(bare));
        assert_eq!(stored(&db.store, whole.id).await, Some(whole));
        assert_eq!(stored(&db.store, TaskId::new()).await, None);
    }

    async fn a_description_may_be_long_and_hold_any_character(db: TestDb) {
        let world = World::new(&db).await;
        let long = world.put_task(Task { description: "🛫é".repeat(50_000), ..world.task() }).await;
        assert!(long.description.len() >= 300_000);
        assert_eq!(stored(&db.store, long.id).await, Some(long));

        // Postgres has no U+0000.
        let broken = Task {
            description: "a\0b".to_owned(),
            title: "\0".to_owned(),
            external_id: Some("k\0".to_owned()),
            ..world.task()
        };
        let broken = world.put_task(broken).await;
        let mended = stored(&db.store, broken.id).await.unwrap();
        assert_eq!((mended.description.as_str(), mended.title.as_str()), ("a\u{FFFD}b", "\u{FFFD}"));
        let found = read(&db.store, async |db| find_by_external_id(db, world.workspace.id, "k\0").await).await;
        assert_eq!(found, Some(mended), "what was stored under a key is found under it");
    }

    async fn an_update_writes_all_that_may_change_and_nothing_else(db: TestDb) {
        let world = World::new(&db).await;
        let before = world.add_task().await;
        let bystander = world.add_task().await;
        let mut wanted = Task { id: before.id, version: before.version, ..whole_task(&world).await };
        wanted.workflow_step_id = world.steps[2].id;
        // What is fixed at creation keeps its value whatever the struct says.
        let expected = Task {
            autopilot: before.autopilot,
            purpose: before.purpose,
            origin: before.origin,
            external_id: before.external_id.clone(),
            created_at: before.created_at,
            version: before.version + 1,
            ..wanted.clone()
        };
        let done = write(&db.store, async |tx| update(tx, &wanted).await).await.unwrap();
        assert_eq!(done, Write::Changed);
        assert_eq!(stored(&db.store, before.id).await, Some(expected.clone()));
        assert_eq!(stored(&db.store, bystander.id).await, Some(bystander));

        let cleared = Task { version: expected.version, ..before.clone() };
        let done = write(&db.store, async |tx| update(tx, &cleared).await).await.unwrap();
        assert_eq!(done, Write::Changed);
        assert_eq!(stored(&db.store, before.id).await, Some(Task { version: expected.version + 1, ..before }));
    }

    async fn an_update_with_an_old_version_is_stale(db: TestDb) {
        let world = World::new(&db).await;
        let first = world.add_task().await;
        let second = Task { title: "Second".to_owned(), ..first.clone() };
        let change = async |task: &Task| write(&db.store, async |tx| update(tx, task).await).await.unwrap();
        assert_eq!(change(&second).await, Write::Changed);
        assert_eq!(change(&Task { title: "Third".to_owned(), ..first.clone() }).await, Write::Stale);
        assert_eq!(stored(&db.store, first.id).await, Some(Task { version: 1, ..second }));
        assert_eq!(change(&world.task()).await, Write::Stale, "a task that is gone");
    }

    async fn autopilot_cannot_be_changed_even_by_hand(db: TestDb) {
        let world = World::new(&db).await;
        let manual = world.add_task().await;
        let autopilot = world.put_task(Task { autopilot: true, ..world.task() }).await;
        for (task, other) in [(&manual, 1), (&autopilot, 0)] {
            assert_invariant(
                execute(&db.store, &format!("update tasks set autopilot = {other} where id = '{}'", task.id)).await,
            );
            let same = 1 - other;
            execute(&db.store, &format!("update tasks set autopilot = {same}, title = 'x' where id = '{}'", task.id))
                .await
                .unwrap();
            assert_eq!(stored(&db.store, task.id).await.map(|task| task.autopilot), Some(task.autopilot));
        }
    }

    async fn an_external_id_is_unique_in_its_workspace(db: TestDb) {
        let world = World::new(&db).await;
        let keyed = || Task { external_id: Some("key".to_owned()), ..world.task() };
        let first = world.put_task(keyed()).await;
        assert_unique(write(&db.store, async |tx| insert(tx, &keyed()).await).await);
        world.add_task().await;
        world.add_task().await;

        let elsewhere = workspace("Elsewhere");
        let same_key = Task { workspace_id: elsewhere.id, ..keyed() };
        write(&db.store, async |tx| {
            store::workspaces::insert(tx, &elsewhere).await?;
            insert(tx, &same_key).await
        })
        .await
        .unwrap();
        let found = async |workspace, key: &str| {
            read(&db.store, async |db| find_by_external_id(db, workspace, key).await).await.map(|task| task.id)
        };
        assert_eq!(found(world.workspace.id, "key").await, Some(first.id));
        assert_eq!(found(elsewhere.id, "key").await, Some(same_key.id));
        assert_eq!(found(elsewhere.id, "Key").await, None);
    }

    async fn places_are_taken_by_cards_that_are_admitted_and_not_over(db: TestDb) {
        let world = World::new(&db).await;
        let step = world.steps[0].id;
        for state in TaskState::ALL {
            world.put_task(Task { state: *state, ..world.task() }).await;
        }
        world.put_task(Task { wip_admitted: false, ..world.task() }).await;
        world.put_task(Task { archived_at: Some(at(1)), ..world.task() }).await;
        world.put_task(Task { workflow_step_id: world.steps[1].id, ..world.task() }).await;
        let over = TaskState::ALL.iter().filter(|state| state.is_terminal()).count();
        let expected = i64::try_from(TaskState::ALL.len() - over).unwrap();
        assert_eq!(read(&db.store, async |db| taken(db, step).await).await, expected);
        assert_eq!(read(&db.store, async |db| taken(db, StepId::new()).await).await, 0);
    }

    async fn the_next_card_of_a_step_is_the_first_that_waits_in_it_then_its_feeders(db: TestDb) {
        let world = World::new(&db).await;
        let (feeder, step) = (world.steps[0].id, world.steps[1].id);
        let next = async |feeder: Option<StepId>, not: &[TaskId]| {
            read(&db.store, async |db| next_for_step(db, step, feeder, not).await).await.map(|task| task.id)
        };
        let waiting = Task { workflow_step_id: step, wip_admitted: false, queued_at: Some(at(9)), position: 1, ..world.task() };
        let card = |task: Task| Task { id: TaskId::new(), ..task };
        assert_eq!(next(Some(feeder), &[]).await, None);

        // The feeder's pool, from the last to the first.
        let resting = world.put_task(Task { position: 4, ..world.task() }).await;
        assert_eq!(next(Some(feeder), &[]).await, Some(resting.id));
        assert_eq!(next(None, &[]).await, None, "without a feeder nobody is pulled");
        let named = Task { position: 3, queued_for_step_id: Some(step), queued_at: Some(at(1)), ..world.task() };
        let named = world.put_task(named).await;
        assert_eq!(next(Some(feeder), &[]).await, Some(named.id));
        assert_eq!(next(None, &[]).await, Some(named.id), "who waits by name needs no feeder");
        // Those for other steps, that are over, archived, blocked or at work stay where they are.
        let elsewhere = Task { queued_for_step_id: Some(world.steps[2].id), ..world.task() };
        world.put_task(card(elsewhere)).await;
        world.put_task(Task { state: TaskState::Cancelled, ..world.task() }).await;
        world.put_task(Task { archived_at: Some(at(1)), ..world.task() }).await;
        let busy = world.add_task().await;
        world.put_session(Session { state: SessionState::Running, ..world.session(&busy) }).await;
        let being_told = world.add_task().await;
        let session = world.add_session(&being_told).await;
        world.put_turn(turn(&session)).await;
        let asking = world.add_child(&resting).await;
        let session = world.add_session(&asking).await;
        world.put_question(question(&session, resting.id)).await;
        let blocked = world.add_task().await;
        write(&db.store, async |tx| store::dependencies::insert(tx, blocked.id, busy.id, at(0)).await).await.unwrap();
        assert_eq!(next(Some(feeder), &[]).await, Some(named.id));
        assert_eq!(next(Some(feeder), &[named.id]).await, Some(resting.id));
        assert_eq!(next(Some(feeder), &[named.id, resting.id]).await, None);
        execute(&db.store, &format!("update tasks set state = 'COMPLETED' where id = '{}'", busy.id)).await.unwrap();
        assert_eq!(next(Some(feeder), &[]).await, Some(blocked.id), "free, and the first in place");

        // The step's own pool goes first: by place, priority, waiting time, age, id.
        let by_age = world.put_task(card(Task { created_at: at(3), ..waiting.clone() })).await;
        assert_eq!(next(Some(feeder), &[]).await, Some(by_age.id));
        let older = world.put_task(card(Task { created_at: at(2), ..waiting.clone() })).await;
        assert_eq!(next(Some(feeder), &[]).await, Some(older.id));
        let longer = world.put_task(card(Task { queued_at: Some(at(8)), created_at: at(4), ..waiting.clone() })).await;
        assert_eq!(next(Some(feeder), &[]).await, Some(longer.id));
        let mut last = None;
        for priority in [Priority::Low, Priority::Medium, Priority::High, Priority::Critical] {
            let pressing = Task { priority: Some(priority), queued_at: Some(at(20)), ..waiting.clone() };
            last = Some(world.put_task(card(pressing)).await.id);
            assert_eq!(next(Some(feeder), &[]).await, last);
        }
        let first = world.put_task(card(Task { position: 0, created_at: at(50), ..waiting.clone() })).await;
        assert_eq!(next(Some(feeder), &[]).await, Some(first.id));
        assert_eq!(next(Some(feeder), &[first.id]).await, last);
    }

    async fn a_notice_is_set_and_taken_back_and_is_no_new_version(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let shown = async || {
            let view = read(&db.store, async |db| store::views::task(db, task.id).await).await;
            view.unwrap().workflow_notice
        };
        assert_eq!(shown().await, None);
        write(&db.store, async |tx| set_notice(tx, task.id, Some(UNICODE)).await).await.unwrap();
        assert_eq!(shown().await.as_deref(), Some(UNICODE));
        assert_eq!(stored(&db.store, task.id).await, Some(task.clone()));
        write(&db.store, async |tx| set_notice(tx, task.id, None).await).await.unwrap();
        assert_eq!(shown().await, None);
    }

    async fn a_row_that_breaks_a_rule_is_refused(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.task();
        for (what, broken) in [
            ("no title", Task { title: String::new(), ..task.clone() }),
            ("its own parent", Task { parent_id: Some(task.id), ..task.clone() }),
            ("an unknown parent", Task { parent_id: Some(TaskId::new()), ..task.clone() }),
            ("an unknown step", Task { workflow_step_id: StepId::new(), ..task.clone() }),
            ("a negative place", Task { position: -1, ..task.clone() }),
        ] {
            let outcome = write(&db.store, async |tx| insert(tx, &broken).await).await;
            assert!(matches!(outcome, Err(store::StoreError::Invariant(_))), "{what}: {outcome:?}");
        }
        assert_eq!(count(&db.store, "tasks").await, 0);
    }

    async fn deleting_a_task_takes_all_that_is_its_own_and_frees_its_children(db: TestDb) {
        let world = World::new(&db).await;
        let parent = world.add_task().await;
        let doomed = world.add_child(&parent).await;
        let child = world.add_child(&doomed).await;
        let child_session = world.add_session(&child).await;
        let session = world.add_session(&doomed).await;
        let open = world.put_turn(turn(&session)).await;
        world.put_message(domain::message::Message { turn_id: Some(open.id), ..message(&session, "hello") }).await;
        // An attempted prompt points at its turn, and must have one: the order in which rows go matters.
        let attempted = QueuedPrompt {
            state: QueuedState::Attempted,
            turn_id: Some(open.id),
            ..prompt(&session, Lane::Express)
        };
        world.put_prompt(attempted).await;
        world.put_prompt(prompt(&session, Lane::Normal)).await;
        world.put_question(question(&session, parent.id)).await;
        let outliving = world.put_question(question(&child_session, doomed.id)).await;
        world.put_bundle(bundle(&session, "key")).await;
        world.put_permission(permission(&session)).await;
        write(&db.store, async |tx| {
            store::tokens::insert_session(tx, "hash", doomed.id, session.id, at(0)).await?;
            store::effects::insert(tx, EffectKind::StopProcess, doomed.id, session.id, None, at(0)).await?;
            let signal =
                StepSignal { summary: "done".to_owned(), handoff: None, blockers: None, signaled_at: at(0) };
            store::workflows::insert_signal(tx, session.id, world.steps[0].id, &signal).await?;
            let transition = StepTransition {
                task_id: doomed.id,
                from: world.steps[0].id,
                to: world.steps[1].id,
                trigger: MoveTrigger::Manual,
                actor: Mover::Human,
                session_id: Some(session.id),
                move_id: None,
                at: at(0),
            };
            store::workflows::record_transition(tx, &transition).await
        })
        .await
        .unwrap();

        write(&db.store, async |tx| delete(tx, doomed.id).await).await.unwrap();

        assert_eq!(stored(&db.store, doomed.id).await, None);
        assert_eq!(stored(&db.store, child.id).await, Some(Task { parent_id: None, ..child }));
        assert_eq!(stored(&db.store, parent.id).await, Some(parent));
        for table in [
            "turns", "messages", "queued_messages", "operator_questions", "permissions", "mcp_sessions",
            "step_signals", "step_transitions",
        ] {
            assert_eq!(count(&db.store, table).await, 0, "{table}");
        }
        assert_eq!(count(&db.store, "effects").await, 1, "an agent's process must still be ended");
        assert_eq!(count(&db.store, "sessions").await, 1, "the child's own");
        let left = read(&db.store, async |db| store::questions::pending(db).await).await;
        assert_eq!(left, [outliving], "a question outlives the task it is put to");
        assert_eq!(left[0].questions, asked());
        write(&db.store, async |tx| delete(tx, TaskId::new()).await).await.unwrap();
    }

    async fn children_are_listed_by_age_and_archived_ones_too(db: TestDb) {
        let world = World::new(&db).await;
        let parent = world.add_task().await;
        let child = |created| Task { parent_id: Some(parent.id), created_at: at(created), ..world.task() };
        let young = world.put_task(child(3)).await;
        let old = world.put_task(child(1)).await;
        let archived = world.put_task(Task { archived_at: Some(at(9)), ..child(2) }).await;
        let grandchild = world.add_child(&old).await;
        assert_eq!(read(&db.store, async |db| children(db, parent.id).await).await, [old.clone(), archived, young]);
        assert_eq!(read(&db.store, async |db| children(db, old.id).await).await, [grandchild]);
    }

    async fn ancestors_and_height_follow_the_tree(db: TestDb) {
        let world = World::new(&db).await;
        let root = world.add_task().await;
        let middle = world.add_child(&root).await;
        let leaf = world.add_child(&middle).await;
        world.add_child(&root).await;
        let up = async |id, limit| read(&db.store, async |db| ancestors(db, id, limit).await).await;
        let down = async |id, limit| read(&db.store, async |db| height(db, id, limit).await).await;
        assert_eq!(up(leaf.id, 8).await, [middle.clone(), root.clone()], "the direct parent first");
        assert_eq!(up(leaf.id, 1).await, from_ref(&middle));
        assert!(up(root.id, 8).await.is_empty());
        assert!(up(TaskId::new(), 8).await.is_empty());
        assert_eq!(down(root.id, 8).await, 2);
        assert_eq!(down(root.id, 1).await, 1);
        assert_eq!(down(leaf.id, 8).await, 0);
        assert_eq!(down(TaskId::new(), 8).await, 0);

        // A ring cannot be made through `board`; if one were there, reading must still end.
        execute(&db.store, &format!("update tasks set parent_id = '{}' where id = '{}'", leaf.id, root.id))
            .await
            .unwrap();
        assert_eq!(up(leaf.id, 8).await.len(), 8);
        assert_eq!(down(root.id, 8).await, 8);
    }

    async fn cards_make_room_in_their_own_step_only(db: TestDb) {
        let world = World::new(&db).await;
        let (step, other_step) = (world.steps[0].id, world.steps[1].id);
        let next = async |step| read(&db.store, async |db| next_position(db, step).await).await;
        assert_eq!(next(step).await, 0);
        let mut cards = Vec::new();
        for position in [0, 1, 2] {
            cards.push(world.put_task(Task { position, ..world.task() }).await);
        }
        let elsewhere =
            world.put_task(Task { position: 1, workflow_step_id: other_step, ..world.task() }).await;
        assert_eq!(next(step).await, 3);
        assert_eq!(next(other_step).await, 2);

        write(&db.store, async |tx| shift(tx, step, 1).await).await.unwrap();

        let place = async |task: &Task| stored(&db.store, task.id).await.unwrap().position;
        assert_eq!([place(&cards[0]).await, place(&cards[1]).await, place(&cards[2]).await], [0, 2, 3]);
        assert_eq!(place(&elsewhere).await, 1);
    }

    async fn a_step_gives_up_what_rested_in_it_for_so_long_and_nobody_works_on(db: TestDb) {
        let world = World::new(&db).await;
        const HOUR: i64 = 3_600_000;
        let step = store::workflows::find_step;
        let keeps = async |hours: i64| {
            write(&db.store, async |tx| {
                let mut kept = step(tx, world.steps[3].id).await?.unwrap();
                kept.auto_archive_after_hours = hours;
                store::workflows::update_step(tx, &kept).await
            })
            .await
            .unwrap();
        };
        let found = async |now, limit| read(&db.store, async |db| to_archive(db, at(now), limit).await).await;
        let task = |updated| Task { workflow_step_id: world.steps[3].id, updated_at: at(updated), ..world.task() };
        let newer = world.put_task(task(5)).await;
        let older = world.put_task(task(0)).await;
        let worked_on = world.put_task(task(0)).await;
        world.put_session(Session { state: SessionState::Running, ..world.session(&worked_on) }).await;
        let gone = Task { archived_at: Some(at(0)), ..task(0) };
        world.put_task(gone).await;
        world.put_task(Task { workflow_step_id: world.steps[2].id, ..task(0) }).await;

        assert!(found(100 * HOUR, 10).await.is_empty(), "0 is never");
        keeps(2).await;
        assert!(found(2 * HOUR - 1, 10).await.is_empty());
        assert_eq!(found(2 * HOUR, 10).await, [older.id]);
        assert_eq!(found(2 * HOUR + 5, 10).await, [older.id, newer.id]);
        assert_eq!(found(9 * HOUR, 1).await, [older.id]);
    }
}
