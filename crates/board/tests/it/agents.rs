//! Agents by command line, their profiles, and the demo.

use crate::world::{World, refused};
use board::Actor;
use domain::error::ErrorCode;
use domain::ids::AgentId;
use domain::params::{CreateAgent, CreateProfile};
use std::collections::BTreeMap;

fn agent(name: &str) -> CreateAgent {
    CreateAgent {
        name: name.to_owned(),
        command: "agent".to_owned(),
        args: vec!["--acp".to_owned()],
        env: BTreeMap::from([("API_KEY".to_owned(), "s3cret".to_owned())]),
    }
}

fn profile(agent_id: AgentId, name: &str) -> CreateProfile {
    CreateProfile {
        agent_id,
        name: name.to_owned(),
        model: Some("  ".to_owned()),
        mode: Some("plan".to_owned()),
        passthrough: false,
        auto_approve: false,
    }
}

store::on_both_engines! {
    async fn an_agent_comes_with_a_profile_and_keeps_its_secrets(db: TestDb) {
        let world = World::new(db).await;
        let (board, operator) = (world.board(), Actor::Operator);
        let made = board.agent_create(&operator, agent(" Claude ")).await.unwrap();
        assert_eq!((made.name.as_str(), made.profiles.len(), made.supports_mcp), ("Claude", 1, None));
        let listed = board.agent_list(&operator).await.unwrap();
        assert_eq!(listed[1].env_names, ["API_KEY"]);
        assert!(!format!("{listed:?}").contains("s3cret"), "values never leave the server");
        refused(board.agent_create(&operator, agent("Claude")).await, ErrorCode::Conflict);
        for bad in [
            CreateAgent { name: " ".to_owned(), ..agent("x") },
            CreateAgent { command: " ".to_owned(), ..agent("x") },
            CreateAgent { name: "x".repeat(121), ..agent("x") },
            CreateAgent { env: BTreeMap::from([("A=B".to_owned(), String::new())]), ..agent("x") },
        ] {
            refused(board.agent_create(&operator, bad).await, ErrorCode::Validation);
        }
        refused(board.agent_create(&Actor::System, agent("x")).await, ErrorCode::Forbidden);
        assert_eq!(board.agent_list(&operator).await.unwrap().len(), 2);
    }

    async fn profiles_are_named_once_an_agent(db: TestDb) {
        let world = World::new(db).await;
        let (board, operator) = (world.board(), Actor::Operator);
        let first = board.agent_create(&operator, agent("First")).await.unwrap().id;
        let second = board.agent_create(&operator, agent("Second")).await.unwrap().id;
        let made = board.profile_create(&operator, profile(first, "Planner")).await.unwrap();
        assert_eq!((made.model, made.mode.as_deref()), (None, Some("plan")));
        refused(board.profile_create(&operator, profile(first, "Planner")).await, ErrorCode::Conflict);
        board.profile_create(&operator, profile(second, "Planner")).await.unwrap();
        refused(board.profile_create(&operator, profile(AgentId::new(), "Planner")).await, ErrorCode::NotFound);
        refused(board.profile_create(&operator, profile(first, " ")).await, ErrorCode::Validation);
        let own = board.profile_list(&operator, Some(first)).await.unwrap();
        assert_eq!(own.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(), ["Default", "Planner"]);
    }

    // Several nodes start at once and find the same agents on the machine.
    async fn agents_found_at_start_are_added_once_and_follow_their_path(db: TestDb) {
        let world = World::new(db).await;
        let starts: Vec<_> = (0..4)
            .map(|_| {
                let board = world.board();
                tokio::spawn(async move { board.agent_ensure(agent("Found"), None).await })
            })
            .collect();
        for start in starts {
            start.await.unwrap().unwrap();
        }
        let board = world.board();
        let found = async || {
            let listed = board.agent_list(&Actor::Operator).await.unwrap();
            let found: Vec<_> = listed.into_iter().filter(|a| a.name == "Found").collect();
            assert_eq!(found.len(), 1);
            found[0].clone()
        };
        let before = found().await;
        let events = world.count("events").await;
        board.agent_ensure(agent("Found"), None).await.unwrap();
        assert_eq!(world.count("events").await, events, "nothing changed");
        board.agent_ensure(CreateAgent { command: "/new/path".to_owned(), ..agent("Found") }, None).await.unwrap();
        let after = found().await;
        assert_eq!((after.id, after.command.as_str()), (before.id, "/new/path"));
        assert_eq!(after.profiles, before.profiles);
    }

    async fn what_a_handshake_says_is_news_once(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let id = board.agent_list(&Actor::Operator).await.unwrap()[0].id;
        let mut events = Vec::new();
        for supports in [true, true, false] {
            board.agent_handshake(id, supports).await.unwrap();
            assert_eq!(board.agent_list(&Actor::Operator).await.unwrap()[0].supports_mcp, Some(supports));
            events.push(world.count("events where kind = 'agent.updated'").await);
        }
        assert_eq!(events[0], events[1]);
        assert_eq!(events[2], events[1] + 1);
    }

    async fn the_demo_needs_its_agent(db: TestDb) {
        let world = World::new(db).await;
        let (board, operator) = (world.board(), Actor::Operator);
        assert_eq!(board.demo_profile().await.unwrap(), None);
        refused(board.demo_start(&operator, None).await, ErrorCode::Conflict);
        let demo = board.agent_create(&operator, agent("Demo agent")).await.unwrap();
        let started = board.demo_start(&operator, None).await.unwrap();
        assert_eq!(started.task.agent_profile_id, Some(demo.profiles[0].id));
        world.run().await;
        assert_eq!(world.disk().heard().len(), 1);
        refused(board.demo_start(&Actor::System, None).await, ErrorCode::Forbidden);
    }
}
