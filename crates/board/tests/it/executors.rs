//! Profiles of executors: who may set them up, which task is run with which, and the folders that they prepare.

use crate::puppet::Puppet;
use crate::world::{World, prompted, refused};
use board::{Actor, LaunchPlan, Next, Prepare};
use domain::error::ErrorCode;
use domain::executor::{
    CreateExecutorProfile, Executor, ExecutorProfile, McpPolicy, UpdateExecutorProfile,
};
use domain::ids::{ExecutorProfileId, SessionId};
use domain::params::{CreateTask, SpawnSession};
use domain::task::Purpose;
use serde_json::{Value, json};

const OPERATOR: Actor = Actor::Operator;

fn new(mut params: Value) -> CreateExecutorProfile {
    params["executor_id"] = json!(Executor::Local);
    serde_json::from_value(params).unwrap()
}

fn change(params: Value) -> UpdateExecutorProfile {
    serde_json::from_value(params).unwrap()
}

async fn made(world: &World, params: Value) -> ExecutorProfile {
    let board = world.board();
    board
        .executor_profile_create(&OPERATOR, new(params))
        .await
        .unwrap()
}

/// A profile with both scripts.
async fn scripted(world: &World) -> ExecutorProfile {
    made(
        world,
        json!({"name": "Scripted", "prepare_script": "make", "cleanup_script": "make clean"}),
    )
    .await
}

fn run_with(profile: &ExecutorProfile, title: &str) -> CreateTask {
    CreateTask {
        executor_profile_id: Some(profile.id),
        ..prompted(title)
    }
}

/// The same in one folder.
fn in_folder(profile: &ExecutorProfile, title: &str) -> CreateTask {
    CreateTask {
        working_directory: Some("/shared".to_owned()),
        ..run_with(profile, title)
    }
}

async fn session_of(world: &World, params: CreateTask) -> Puppet {
    let created = world.create(params).await.unwrap();
    world.puppet(created.task.id, created.session_id.unwrap())
}

async fn plan(world: &World, session: SessionId) -> Option<LaunchPlan> {
    match world.node().next(session).await.unwrap() {
        Next::Launch(plan) => Some(*plan),
        Next::Rest => None,
        other @ (Next::Restart | Next::Deliver(_)) => panic!("{other:?}"),
    }
}

/// What a start is to run first.
async fn prepare(world: &World, session: SessionId) -> Option<Prepare> {
    plan(world, session).await.expect("it may start").prepare
}

store::on_both_engines! {
    async fn scripts_are_the_operators_and_a_policy_is_only_tightened_by_agents(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let setup = CreateTask { purpose: Some(Purpose::Configuration), ..prompted("Set up") };
        let agent = world.start(setup).await.actor();
        let worker = world.working("Work").await.actor();
        let client = Actor::External { token: board.token_create(&OPERATOR, "client").await.unwrap().info.id };
        let profile = scripted(&world).await;
        let update = async |actor: &Actor, params: Value| board.executor_profile_update(actor, profile.id, change(params)).await;
        for other in [&agent, &client] {
            for params in [json!({"prepare_script": "rm -rf /"}), json!({"cleanup_script": ""}), json!({"config": {"prepare_timeout_seconds": 1}})] {
                refused(update(other, params).await, ErrorCode::Forbidden);
            }
            // What stands there may be said again.
            update(other, json!({"name": "Scripted", "prepare_script": "make", "config": {}})).await.unwrap();
            refused(board.executor_profile_create(other, new(json!({"name": "A", "prepare_script": "x"}))).await, ErrorCode::Forbidden);
            refused(board.executor_profile_delete(other, profile.id).await, ErrorCode::Forbidden);
        }
        update(&agent, json!({"mcp_policy": "none"})).await.unwrap();
        refused(update(&agent, json!({"mcp_policy": "remote_only"})).await, ErrorCode::Forbidden);
        let loosened = update(&client, json!({"mcp_policy": "remote_only"})).await.unwrap();
        assert_eq!((loosened.mcp_policy, loosened.prepare_script.as_str()), (McpPolicy::RemoteOnly, "make"));
        let plain = board.executor_profile_create(&agent, new(json!({"name": "Plain", "mcp_policy": "none"}))).await.unwrap();
        refused(board.executor_profile_create(&agent, new(json!({"name": "Plain"}))).await, ErrorCode::Conflict);
        for nobody in [&worker, &Actor::System] {
            refused(board.executor_profile_create(nobody, new(json!({"name": "B"}))).await, ErrorCode::Forbidden);
            refused(update(nobody, json!({"name": "B"})).await, ErrorCode::Forbidden);
            refused(board.executor_profile_delete(nobody, plain.id).await, ErrorCode::Forbidden);
        }
        let listed = board.executor_profile_list(&worker, Some(Executor::Local)).await.unwrap();
        assert_eq!(listed.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["Scripted", "Plain"]);
        assert_eq!(board.executor_list(&worker).len(), 1);
        board.executor_profile_delete(&agent, plain.id).await.unwrap();
        refused(board.executor_profile_delete(&OPERATOR, plain.id).await, ErrorCode::NotFound);
    }

    async fn a_task_keeps_its_profile_and_hands_it_to_its_parts(db: TestDb) {
        let world = World::new(db).await;
        let profile = made(&world, json!({"name": "Bare", "mcp_policy": "none"})).await;
        let other = made(&world, json!({"name": "Other"})).await;
        let parent = world.start(run_with(&profile, "Parent")).await;
        let card = parent.card().await;
        assert_eq!((card.executor_profile_id, card.primary_executor_profile_id), (Some(profile.id), Some(profile.id)));
        assert_eq!((card.primary_executor_id, card.primary_executor_name.as_deref()), (Some(Executor::Local), Some("Bare")));
        let spawn = SpawnSession { prompt: "Help.".to_owned(), ..SpawnSession::default() };
        let helper = world.board().session_spawn(&parent.actor(), None, &spawn).await.unwrap();
        let view = world.puppet(parent.task, helper.session_id).view().await;
        assert_eq!((view.executor_id, view.executor_profile_id), (Executor::Local, Some(profile.id)));
        let child = parent.create(prompted("Child")).await.unwrap();
        assert_eq!(child.task.executor_profile_id, Some(profile.id), "of the session that made it");
        let chosen = parent.create(run_with(&other, "Chosen")).await.unwrap();
        assert_eq!(chosen.task.executor_profile_id, Some(other.id));
        let below = world.create(CreateTask { parent_id: Some(child.task.id), ..prompted("Below") }).await.unwrap();
        assert_eq!(below.task.executor_profile_id, Some(profile.id), "of the parent");
        let plain = world.working("Plain").await.card().await;
        assert_eq!((plain.executor_profile_id, plain.primary_executor_name.as_deref()), (None, Some("Local process")));
        let unknown = CreateTask { executor_profile_id: Some(ExecutorProfileId::new()), ..prompted("Unknown") };
        refused(world.create(unknown).await, ErrorCode::NotFound);
        refused(world.board().executor_profile_delete(&OPERATOR, profile.id).await, ErrorCode::Conflict);
    }

    async fn agents_are_given_the_servers_that_the_policy_lets_through(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let servers = json!({"servers": {"files": {"command": "files"}, "web": {"url": "https://mcp.example"}}});
        board.mcp_config_update(&OPERATOR, world.profile, serde_json::from_value(servers).unwrap()).await.unwrap();
        for (policy, expected) in [("all", &["files", "web"][..]), ("remote_only", &["web"]), ("none", &[])] {
            let profile = made(&world, json!({"name": policy, "mcp_policy": policy})).await;
            let puppet = session_of(&world, run_with(&profile, "Task")).await;
            let plan = plan(&world, puppet.session).await.unwrap();
            assert_eq!(plan.servers.keys().collect::<Vec<_>>(), expected, "{policy}");
            assert_eq!(plan.prepare, None);
            assert!(plan.token.is_some(), "our own are given in any case");
        }
        assert_eq!(world.count("preparations").await, 0);
    }

    async fn a_folder_is_prepared_by_the_first_start_while_others_wait(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let profile = scripted(&world).await;
        let first = session_of(&world, in_folder(&profile, "First")).await;
        let second = session_of(&world, in_folder(&profile, "Second")).await;
        let elsewhere = session_of(&world, run_with(&profile, "Elsewhere")).await;
        let script = prepare(&world, first.session).await.unwrap();
        assert_eq!((script.script.as_str(), script.profile.as_str(), script.timeout.as_secs()), ("make", "Scripted", 600));
        assert!(plan(&world, second.session).await.is_none(), "it waits");
        assert!(prepare(&world, elsewhere.session).await.is_some(), "another folder is another matter");
        board.folder_prepared(script.id, second.session).await.unwrap();
        assert!(plan(&world, second.session).await.is_none(), "only who runs it can say so");
        // It fails: whoever comes next tries again.
        board.folder_not_prepared(script.id, first.session).await.unwrap();
        let again = prepare(&world, second.session).await.unwrap();
        assert_ne!(again.id, script.id);
        board.folder_prepared(again.id, second.session).await.unwrap();
        assert_eq!(prepare(&world, first.session).await, None, "it is prepared");
    }

    async fn a_preparation_that_its_node_did_not_survive_is_begun_again(db: TestDb) {
        let world = World::new(db).await;
        let profile = scripted(&world).await;
        let first = session_of(&world, in_folder(&profile, "First")).await;
        let script = prepare(&world, first.session).await.unwrap();
        world.restart().await;
        let second = session_of(&world, in_folder(&profile, "Second")).await;
        assert_eq!(prepare(&world, second.session).await, Some(script), "nobody is at it any more");
        assert!(plan(&world, first.session).await.is_none());
    }

    async fn a_folder_is_cleaned_up_once_when_the_last_task_has_left_it(db: TestDb) {
        let world = World::new(db).await;
        let (board, node) = (world.board(), world.node());
        let profile = scripted(&world).await;
        let first = world.start(in_folder(&profile, "First")).await;
        let second = world.start(in_folder(&profile, "Second")).await;
        assert_eq!(world.count("preparations where state = 'preparing'").await, 1);
        world.execute("update preparations set state = 'prepared', session_id = null").await;
        let claim = async || board.cleanup_claim(node.name).await.unwrap();
        board.task_archive(&OPERATOR, first.task).await.unwrap();
        world.run().await;
        assert_eq!(claim().await, None, "another task works there");
        // What is to be run is what it was when the folder was prepared.
        board.executor_profile_update(&OPERATOR, profile.id, change(json!({"cleanup_script": "else"}))).await.unwrap();
        board.task_delete(&OPERATOR, second.task).await.unwrap();
        assert_eq!(claim().await, None, "its agent is still to be ended");
        world.run().await;
        let cleanup = claim().await.unwrap();
        assert_eq!((cleanup.folder.as_str(), cleanup.script.as_str(), cleanup.timeout.as_secs()), ("/shared", "make clean", 300));
        assert_eq!(claim().await, None);
        refused(board.executor_profile_delete(&OPERATOR, profile.id).await, ErrorCode::Conflict);
        let third = session_of(&world, in_folder(&profile, "Third")).await;
        assert!(plan(&world, third.session).await.is_none(), "it waits for the end of the cleanup");
        board.cleanup_done(&cleanup).await.unwrap();
        assert!(prepare(&world, third.session).await.is_some());
    }

    async fn a_cleanup_that_nobody_began_is_taken_back_by_a_start_and_one_cut_off_is_not_begun_again(db: TestDb) {
        let world = World::new(db).await;
        let profile = made(&world, json!({"name": "Cleans", "cleanup_script": "make clean"})).await;
        let leaves = async |world: &World| {
            let task = world.start(in_folder(&profile, "Task")).await.task;
            world.board().task_archive(&OPERATOR, task).await.unwrap();
            world.run().await;
            assert_eq!(world.count("preparations where state = 'left'").await, 1);
        };
        leaves(&world).await;
        let next = session_of(&world, in_folder(&profile, "Next")).await;
        assert_eq!(prepare(&world, next.session).await, None);
        assert_eq!(world.board().cleanup_claim(world.node().name).await.unwrap(), None);
        world.board().task_archive(&OPERATOR, next.task).await.unwrap();
        world.run().await;
        // The memory of the test's node knows nothing of the agent that was only planned.
        world.execute("update sessions set holder = null, lease_until = null").await;
        assert!(world.board().cleanup_claim(world.node().name).await.unwrap().is_some());
        world.restart().await;
        assert_eq!(world.board().cleanups_abandon(world.node().name).await.unwrap(), ["/shared"]);
        assert_eq!(world.board().cleanup_claim(world.node().name).await.unwrap(), None);
    }
}
