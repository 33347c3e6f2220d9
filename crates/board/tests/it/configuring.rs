//! Setting the board up: workflows, steps and profiles, and who may.

use crate::puppet::Puppet;
use crate::world::{World, prompted, refused};
use board::Actor;
use domain::error::ErrorCode;
use domain::ids::{AgentId, StepId, WorkflowId, WorkspaceId};
use domain::params::{
    CreateProfile, CreateStep, CreateTask, CreateWorkflow, MoveTask, SpawnSession, UpdateProfile,
    UpdateStep, UpdateTask, UpdateWorkflow,
};
use domain::permission::{PermissionOption, PermissionStatus};
use domain::task::Purpose;
use domain::workflow::{MoveAction, Step};
use serde_json::json;

const OPERATOR: Actor = Actor::Operator;

fn workflow(workspace_id: WorkspaceId, name: &str) -> CreateWorkflow {
    CreateWorkflow {
        workspace_id,
        name: name.to_owned(),
        description: String::new(),
        prompt: String::new(),
        agent_profile_id: None,
    }
}

fn step(workflow_id: WorkflowId, name: &str) -> CreateStep {
    CreateStep {
        workflow_id,
        step: UpdateStep {
            name: Some(name.to_owned()),
            ..UpdateStep::default()
        },
    }
}

fn profile(agent_id: AgentId, name: &str) -> CreateProfile {
    CreateProfile {
        agent_id,
        name: name.to_owned(),
        model: None,
        mode: None,
        passthrough: false,
        auto_approve: false,
    }
}

/// An agent in a session that the operator began to set the board up.
async fn configurer(world: &World) -> Puppet {
    let params = CreateTask {
        purpose: Some(Purpose::Configuration),
        ..prompted("Set up")
    };
    world.start(params).await
}

async fn steps(world: &World) -> Vec<Step> {
    let workflow = world.workflow.workflow.id;
    world.board().step_list(&OPERATOR, workflow).await.unwrap()
}

fn names(steps: &[Step]) -> Vec<&str> {
    steps.iter().map(|step| step.name.as_str()).collect()
}

store::on_both_engines! {
    async fn a_workflow_is_made_filled_ordered_and_removed(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let home = world.workspace.id;
        let made = board.workflow_create(&OPERATOR, workflow(home, "  Release ")).await.unwrap();
        assert_eq!((made.workflow.name.as_str(), made.steps.len(), made.workflow.sort_order), ("Release", 0, 1));
        let id = made.workflow.id;
        let none = CreateTask { workflow_id: Some(id), ..prompted("Too early") };
        refused(world.create(none).await, ErrorCode::Validation);

        let middle = board.step_create(&OPERATOR, step(id, "Middle")).await.unwrap();
        let last = board.step_create(&OPERATOR, step(id, "Last")).await.unwrap();
        let mut first = step(id, "First");
        first.step.position = Some(0);
        first.step.is_start_step = Some(true);
        let first = board.step_create(&OPERATOR, first).await.unwrap();
        assert_eq!((first.position, middle.allow_manual_move, last.show_in_command_panel), (0, true, true));
        let listed = board.step_list(&OPERATOR, id).await.unwrap();
        assert_eq!(names(&listed), ["First", "Middle", "Last"]);
        assert_eq!(listed.iter().map(|s| s.position).collect::<Vec<_>>(), [0, 1, 2]);

        let change = UpdateStep { is_start_step: Some(true), position: Some(0), ..UpdateStep::default() };
        board.step_update(&OPERATOR, last.id, change).await.unwrap();
        let listed = board.step_list(&OPERATOR, id).await.unwrap();
        assert_eq!(names(&listed), ["Last", "First", "Middle"]);
        let starts: Vec<bool> = listed.iter().map(|s| s.is_start_step).collect();
        assert_eq!(starts, [true, false, false], "one start, and the newest");
        let order = [middle.id, last.id, first.id];
        let listed = board.step_reorder(&OPERATOR, id, &order).await.unwrap();
        assert_eq!(names(&listed), ["Middle", "Last", "First"]);
        for wrong in [&order[..2], &[middle.id, last.id, last.id], &[middle.id, last.id, StepId::new()]] {
            refused(board.step_reorder(&OPERATOR, id, wrong).await, ErrorCode::Validation);
        }

        let change = UpdateWorkflow {
            description: Some("How we ship.".to_owned()),
            prompt: Some("House rules.".to_owned()),
            agent_profile_id: Some(Some(world.profile)),
            ..UpdateWorkflow::default()
        };
        let changed = board.workflow_update(&OPERATOR, id, change).await.unwrap().workflow;
        assert_eq!((changed.name.as_str(), changed.prompt.as_str()), ("Release", "House rules."));
        assert_eq!(changed.agent_profile_id, Some(world.profile));
        let clear = UpdateWorkflow { agent_profile_id: Some(None), ..UpdateWorkflow::default() };
        assert_eq!(board.workflow_update(&OPERATOR, id, clear).await.unwrap().workflow.agent_profile_id, None);

        let old = world.workflow.workflow.id;
        let ordered = board.workflow_reorder(&OPERATOR, home, &[id, old]).await.unwrap();
        assert_eq!(ordered.iter().map(|w| w.workflow.id).collect::<Vec<_>>(), [id, old]);
        refused(board.workflow_reorder(&OPERATOR, home, &[id]).await, ErrorCode::Validation);

        let before = world.count("events where kind = 'workflow.updated'").await;
        board.workflow_delete(&OPERATOR, old).await.unwrap();
        assert_eq!(world.count("events where kind = 'workflow.updated'").await, before + 1);
        assert_eq!(world.count("steps").await, 3);
        refused(board.workflow_get(&OPERATOR, old).await, ErrorCode::NotFound);
        refused(board.workflow_delete(&OPERATOR, id).await, ErrorCode::Conflict);
    }

    async fn what_cannot_be_is_refused_and_changes_nothing(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let home = world.workspace.id;
        let before = (world.count("workflows").await, world.count("steps").await, world.count("events").await);
        for bad in [workflow(home, "  "), workflow(home, &"x".repeat(121))] {
            refused(board.workflow_create(&OPERATOR, bad).await, ErrorCode::Validation);
        }
        let pinned = CreateWorkflow { agent_profile_id: Some(domain::ids::ProfileId::new()), ..workflow(home, "A") };
        refused(board.workflow_create(&OPERATOR, pinned).await, ErrorCode::Validation);
        refused(board.workflow_create(&OPERATOR, workflow(WorkspaceId::new(), "A")).await, ErrorCode::NotFound);
        refused(board.step_create(&OPERATOR, step(WorkflowId::new(), "A")).await, ErrorCode::NotFound);
        let id = world.workflow.workflow.id;
        refused(board.step_create(&OPERATOR, step(id, " ")).await, ErrorCode::Validation);
        let mut strange = step(id, "A");
        strange.step.color = Some("no colour".to_owned());
        refused(board.step_create(&OPERATOR, strange).await, ErrorCode::Validation);
        refused(board.step_delete(&OPERATOR, StepId::new()).await, ErrorCode::NotFound);
        let after = (world.count("workflows").await, world.count("steps").await, world.count("events").await);
        assert_eq!(before, after);
    }

    async fn what_holds_cards_is_not_removed(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let card = CreateTask { start_agent: Some(false), ..prompted("Task") };
        let task = world.create(card).await.unwrap().task.id;
        let id = world.workflow.workflow.id;
        let other = board.workflow_create(&OPERATOR, workflow(world.workspace.id, "Other")).await.unwrap();
        refused(board.workflow_delete(&OPERATOR, id).await, ErrorCode::Conflict);
        let told = refused(board.step_delete(&OPERATOR, world.step("Backlog")).await, ErrorCode::Conflict);
        assert!(told.message.contains("\"Backlog\" has 1 tasks"), "{}", told.message);
        board.task_archive(&OPERATOR, task).await.unwrap();
        refused(board.step_delete(&OPERATOR, world.step("Backlog")).await, ErrorCode::Conflict);
        board.task_delete(&OPERATOR, task).await.unwrap();
        board.step_delete(&OPERATOR, world.step("Backlog")).await.unwrap();
        assert_eq!(names(&steps(&world).await), ["In Progress", "Review", "Done"]);
        board.workflow_delete(&OPERATOR, id).await.unwrap();
        board.workflow_get(&OPERATOR, other.workflow.id).await.unwrap();
    }

    async fn a_card_on_its_way_to_a_step_holds_it(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let puppet = world.working("Task").await;
        board.task_move(&OPERATOR, puppet.task, &MoveTask::to(world.step("Done"))).await.unwrap();
        refused(board.step_delete(&OPERATOR, world.step("Done")).await, ErrorCode::Conflict);
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.step().await, "Done");
    }

    async fn what_led_to_a_removed_step_goes_with_it(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let change = UpdateStep { pull_from_step_id: Some(Some(world.step("Review"))), ..UpdateStep::default() };
        board.step_update(&OPERATOR, world.step("Done"), change).await.unwrap();
        board.step_delete(&OPERATOR, world.step("Review")).await.unwrap();
        let left = steps(&world).await;
        assert_eq!(names(&left), ["Backlog", "In Progress", "Done"]);
        assert_eq!(left.iter().map(|s| s.position).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(left[0].events.on_turn_complete.is_empty());
        assert_eq!(left[0].events.on_turn_start, [MoveAction::MoveToNext]);
        assert_eq!(left[2].pull_from_step_id, None);
        // The workflow goes on with what is left.
        let puppet = world.working("Task").await;
        puppet.end_turn().await;
        world.run().await;
        assert_eq!(puppet.step().await, "Done");
    }

    async fn a_profile_goes_when_nothing_uses_it(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let agent = board.agent_list(&OPERATOR).await.unwrap()[0].id;
        let made = board.profile_create(&OPERATOR, profile(agent, "Careful")).await.unwrap();
        let change = UpdateProfile {
            name: Some(" Bold ".to_owned()),
            model: Some(Some("opus".to_owned())),
            auto_approve: Some(true),
            ..UpdateProfile::default()
        };
        let changed = board.profile_update(&OPERATOR, made.id, change).await.unwrap();
        assert_eq!((changed.name.as_str(), changed.model.as_deref(), changed.auto_approve), ("Bold", Some("opus"), true));
        let taken = UpdateProfile { name: Some("Default".to_owned()), ..UpdateProfile::default() };
        refused(board.profile_update(&OPERATOR, made.id, taken).await, ErrorCode::Conflict);

        let pin = UpdateStep { agent_profile_id: Some(Some(made.id)), ..UpdateStep::default() };
        board.step_update(&OPERATOR, world.step("Done"), pin).await.unwrap();
        let told = refused(board.profile_delete(&OPERATOR, made.id).await, ErrorCode::Conflict);
        assert!(told.message.contains("used by 1 step:"), "{}", told.message);
        let unpin = UpdateStep { agent_profile_id: Some(None), ..UpdateStep::default() };
        board.step_update(&OPERATOR, world.step("Done"), unpin).await.unwrap();
        board.profile_delete(&OPERATOR, made.id).await.unwrap();
        refused(board.profile_delete(&OPERATOR, made.id).await, ErrorCode::NotFound);

        world.working("Task").await;
        let told = refused(board.profile_delete(&OPERATOR, world.profile).await, ErrorCode::Conflict);
        assert!(told.message.contains("1 session, 1 task"), "{}", told.message);
    }

    async fn only_operators_outside_clients_and_sessions_for_it_set_the_board_up(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let home = world.workspace.id;
        let setup = configurer(&world).await;
        let worker = world.working("Task").await;
        let outside = Actor::External { token: board.token_create(&OPERATOR, "client").await.unwrap().info.id };
        for (actor, may) in [(worker.actor(), false), (Actor::System, false), (setup.actor(), true), (outside, true)] {
            let outcome = board.workflow_create(&actor, workflow(home, "Mine")).await;
            match may {
                true => drop(outcome.unwrap()),
                false => drop(refused(outcome, ErrorCode::Forbidden)),
            }
            let change = UpdateStep { color: Some("done".to_owned()), ..UpdateStep::default() };
            let outcome = board.step_update(&actor, world.step("Done"), change).await;
            assert_eq!(outcome.is_ok(), may);
            let agent = board.agent_list(&OPERATOR).await.unwrap()[0].id;
            let name = format!("Profile of {}", actor.word());
            let outcome = board.profile_create(&actor, profile(agent, &name)).await;
            assert_eq!(outcome.is_ok(), may);
        }
        // Not in another workspace: it does not exist for the session.
        let away = board.workspace_create(&OPERATOR, "Away", "").await.unwrap();
        let foreign = board.workflow_list(&OPERATOR, away.id).await.unwrap().remove(0);
        let setup = setup.actor();
        refused(board.workflow_create(&setup, workflow(away.id, "Mine")).await, ErrorCode::NotFound);
        refused(board.workflow_update(&setup, foreign.workflow.id, UpdateWorkflow::default()).await, ErrorCode::NotFound);
        refused(board.step_update(&setup, foreign.steps[0].id, UpdateStep::default()).await, ErrorCode::NotFound);
        refused(board.workflow_delete(&setup, foreign.workflow.id).await, ErrorCode::NotFound);
    }

    async fn only_the_operator_says_what_a_task_is_for(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let worker = world.working("Task").await;
        let setup = configurer(&world).await;
        let wished = |purpose| CreateTask { purpose: Some(purpose), ..prompted("Other") };
        for purpose in [Purpose::Configuration, Purpose::Office] {
            refused(worker.create(wished(purpose)).await, ErrorCode::Forbidden);
            let alone = CreateTask { autopilot: true, ..wished(purpose) };
            refused(world.create(alone).await, ErrorCode::Validation);
            let part = CreateTask { parent_id: Some(worker.task), ..wished(purpose) };
            refused(world.create(part).await, ErrorCode::Validation);
        }
        // A part of it is for the same, and so not for an agent to make either.
        let part = CreateTask { parent_id: Some(setup.task), ..prompted("Part") };
        refused(board.task_create(&worker.actor(), part.clone()).await, ErrorCode::Forbidden);
        assert_eq!(world.create(part).await.unwrap().task.purpose, Purpose::Configuration);
        let spawn = SpawnSession { prompt: "Change the workflow.".to_owned(), ..SpawnSession::default() };
        refused(board.session_spawn(&worker.actor(), Some(setup.task), &spawn).await, ErrorCode::Forbidden);
        let adopt = UpdateTask { parent_id: Some(Some(setup.task)), ..UpdateTask::default() };
        refused(board.task_update(&OPERATOR, worker.task, adopt).await, ErrorCode::Validation);
    }

    async fn a_trusted_profiles_agents_are_not_asked_about(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let setup = configurer(&world).await;
        let trust = UpdateProfile { auto_approve: Some(true), ..UpdateProfile::default() };
        refused(board.profile_update(&setup.actor(), world.profile, trust.clone()).await, ErrorCode::Forbidden);
        board.profile_update(&OPERATOR, world.profile, trust).await.unwrap();
        let options = |kinds: &[&str]| {
            kinds
                .iter()
                .map(|kind| PermissionOption { option_id: format!("the {kind}"), name: "x".to_owned(), kind: (*kind).to_owned() })
                .collect::<Vec<_>>()
        };
        let ask = async |kinds: &[&str]| {
            let asked = board
                .permission_request(setup.session, crate::world::NODE, "r", json!({"title": "Run"}), options(kinds))
                .await
                .unwrap();
            world.read(async |db| store::permissions::find(db, asked).await).await.unwrap()
        };
        let allowed = ask(&["reject_once", "allow_once", "allow_always"]).await;
        assert_eq!((allowed.status, allowed.option_id.as_deref()), (PermissionStatus::Selected, Some("the allow_once")));
        assert_eq!(ask(&["reject_once"]).await.status, PermissionStatus::Pending, "nothing to choose");
    }
}
