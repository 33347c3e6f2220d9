//! MCP servers of profiles: who may set which, and which start is given them.

use crate::world::{World, prompted, refused};
use board::{Actor, Next};
use domain::error::ErrorCode;
use domain::ids::{AgentId, ProfileId};
use domain::mcp_servers::UpdateMcpConfig;
use domain::params::{CreateTask, UpdateAgent};
use domain::task::Purpose;
use serde_json::{Value, json};

const OPERATOR: Actor = Actor::Operator;

fn servers(servers: Value) -> UpdateMcpConfig {
    UpdateMcpConfig {
        enabled: None,
        servers: Some(serde_json::from_value(servers).unwrap()),
    }
}

fn switched(enabled: bool) -> UpdateMcpConfig {
    UpdateMcpConfig {
        enabled: Some(enabled),
        servers: None,
    }
}

fn supports(supports: Option<bool>) -> UpdateAgent {
    UpdateAgent {
        supports_mcp: Some(supports),
        mcp_config_path: None,
    }
}

store::on_both_engines! {
    async fn a_start_is_given_the_servers_of_its_profile_while_they_are_on(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let profile = world.profile;
        let web = json!({"web": {"url": "https://mcp.example", "headers": {"Key": "s3cret"}}});
        let shown = board.mcp_config_update(&OPERATOR, profile, servers(web)).await.unwrap();
        assert!(!format!("{shown:?} {}", json!(shown)).contains("s3cret"));
        let given = async || {
            let session = world.create(prompted("Task")).await.unwrap().session_id.unwrap();
            let Next::Launch(plan) = world.node().next(session).await.unwrap() else { panic!("it is to be started") };
            assert!(!format!("{plan:?}").contains("s3cret"));
            plan.servers.into_keys().collect::<Vec<_>>()
        };
        assert_eq!(given().await, ["web"]);
        board.mcp_config_update(&OPERATOR, profile, switched(false)).await.unwrap();
        assert_eq!(given().await, Vec::<String>::new());
        assert_eq!(board.mcp_config_get(&OPERATOR, profile).await.unwrap().servers.len(), 1, "they are kept");
        refused(board.mcp_config_get(&OPERATOR, ProfileId::new()).await, ErrorCode::NotFound);
    }

    async fn a_command_is_the_operators_and_an_address_a_configurers_too(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let profile = world.profile;
        let setup = CreateTask { purpose: Some(Purpose::Configuration), ..prompted("Set up") };
        let agent = world.start(setup).await.actor();
        let worker = world.working("Work").await.actor();
        let client = Actor::External { token: board.token_create(&OPERATOR, "client").await.unwrap().info.id };
        let (command, address) = (json!({"command": "server"}), json!({"url": "https://mcp.example"}));
        for nobody in [&worker, &Actor::System] {
            refused(board.mcp_config_get(nobody, profile).await, ErrorCode::Forbidden);
            refused(board.mcp_config_update(nobody, profile, servers(json!({}))).await, ErrorCode::Forbidden);
        }
        for other in [&agent, &client] {
            let both = servers(json!({"a": command, "b": address}));
            refused(board.mcp_config_update(other, profile, both).await, ErrorCode::Forbidden);
            board.mcp_config_update(other, profile, servers(json!({"b": address}))).await.unwrap();
        }
        let both = json!({"a": command, "b": address});
        board.mcp_config_update(&OPERATOR, profile, servers(both.clone())).await.unwrap();
        // What stands there may stay, or go, but not come back or be switched on again.
        board.mcp_config_update(&agent, profile, servers(both.clone())).await.unwrap();
        board.mcp_config_update(&agent, profile, switched(false)).await.unwrap();
        refused(board.mcp_config_update(&agent, profile, switched(true)).await, ErrorCode::Forbidden);
        board.mcp_config_update(&agent, profile, servers(json!({"b": address}))).await.unwrap();
        refused(board.mcp_config_update(&agent, profile, servers(both)).await, ErrorCode::Forbidden);
        board.mcp_config_update(&agent, profile, switched(true)).await.unwrap();
    }

    async fn what_is_known_of_an_agent_counts_more_than_its_handshake(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let id = board.agent_list(&OPERATOR).await.unwrap()[0].id;
        let parent = world.working("Parent").await;
        let child = || CreateTask { autopilot: true, parent_id: Some(parent.task), start_agent: Some(false), ..prompted("Child") };
        board.agent_handshake(id, false).await.unwrap();
        refused(world.create(child()).await, ErrorCode::Validation);
        let setup = CreateTask { purpose: Some(Purpose::Configuration), ..prompted("Set up") };
        let agent = world.start(setup).await.actor();
        // Its start has said otherwise.
        board.agent_handshake(id, false).await.unwrap();
        refused(board.agent_update(&agent, id, supports(Some(true))).await, ErrorCode::Forbidden);
        let known = board.agent_update(&OPERATOR, id, supports(Some(true))).await.unwrap();
        assert_eq!((known.supports_mcp, known.supports_mcp_override), (Some(true), Some(true)));
        world.create(child()).await.unwrap();
        board.agent_handshake(id, true).await.unwrap();
        let known = board.agent_update(&agent, id, supports(Some(false))).await.unwrap();
        assert_eq!(known.supports_mcp, Some(false));
        refused(world.create(child()).await, ErrorCode::Validation);
        let known = board.agent_update(&agent, id, supports(None)).await.unwrap();
        assert_eq!((known.supports_mcp, known.supports_mcp_override), (Some(true), None));
        let path = UpdateAgent { mcp_config_path: Some("/etc/servers.json".to_owned()), ..supports(Some(false)) };
        refused(board.agent_update(&OPERATOR, id, path).await, ErrorCode::Validation);
        assert_eq!(board.agent_list(&OPERATOR).await.unwrap()[0].supports_mcp, Some(true), "all or nothing");
        refused(board.agent_update(&OPERATOR, AgentId::new(), supports(None)).await, ErrorCode::NotFound);
        refused(board.agent_update(&parent.actor(), id, supports(None)).await, ErrorCode::Forbidden);
    }
}
