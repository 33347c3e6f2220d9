//! Which tools a session is given, and what the first prompt says of them.

use crate::world::{World, prompted};
use board::Actor;
use domain::params::{CreateProfile, CreateTask, UpdateTask};
use domain::profile::{external, tools};

const OPERATOR: &str = "ask_user_question_kandev";
const PARENT: &str = "ask_parent_question_kandev";

store::on_both_engines! {
    // D24; that clients are told of a swap once is tested at the MCP route.
    async fn every_kind_of_session_lists_exactly_its_question_tool(db: TestDb) {
        let world = World::new(db).await;
        let operator = Actor::Operator;
        let agent = world.board().agent_list(&operator).await.unwrap()[0].id;
        let terminal = CreateProfile { agent_id: agent, name: "Terminal".to_owned(), model: None, mode: None, passthrough: true, auto_approve: false };
        let terminal = world.board().profile_create(&operator, terminal).await.unwrap().id;
        let parent = world.resting("Parent").await;
        for (autopilot, below, passthrough, expected) in [
            (false, false, false, Some(OPERATOR)),
            (false, true, false, Some(OPERATOR)),
            (true, true, false, Some(PARENT)),
            (true, false, false, None),
            (false, false, true, None),
            (false, true, true, None),
        ] {
            let params = CreateTask {
                autopilot,
                parent_id: below.then_some(parent.task),
                agent_profile_id: passthrough.then_some(terminal),
                ..prompted("Task")
            };
            let puppet = world.start(params).await;
            let profile = world.board().mcp_profile(puppet.session).await.unwrap();
            let asks: Vec<_> = tools(&profile).into_iter().filter(|t| t.starts_with("ask_")).collect();
            assert_eq!(asks, expected.into_iter().collect::<Vec<_>>(), "autopilot {autopilot}, child {below}, raw {passthrough}");
            if !passthrough {
                for tool in [OPERATOR, PARENT] {
                    assert_eq!(puppet.last_heard().hidden().contains(tool), expected == Some(tool), "{tool}");
                }
            }
        }
        assert!(!tools(&external()).iter().any(|t| t.starts_with("ask_")));
    }

    async fn the_tools_follow_the_parent(db: TestDb) {
        let world = World::new(db).await;
        let (_, child) = world.family().await;
        let board = world.board();
        assert!(tools(&board.mcp_profile(child.session).await.unwrap()).contains(&PARENT));
        let params = UpdateTask { parent_id: Some(None), ..UpdateTask::default() };
        board.task_update(&Actor::Operator, child.task, params).await.unwrap();
        let profile = board.mcp_profile(child.session).await.unwrap();
        assert!(!tools(&profile).iter().any(|t| t.starts_with("ask_")));
    }

    // Task-domain 11.
    async fn only_the_first_prompt_of_a_conversation_explains_the_tools(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let first = child.last_heard();
        assert!(first.hidden().starts_with(&format!("prompt_id: {}", first.prompt)));
        assert_eq!(first.field("task_id"), Some(child.task.to_string().as_str()));
        assert_eq!(first.field("session_id"), Some(child.session.to_string().as_str()));
        for words in ["autopilot mode", "end the turn", "Never ask the operator", &parent.task.to_string(), "\"Child\""] {
            assert!(first.hidden().contains(words), "{words}");
        }
        child.end_turn().await;
        child.operator_says("Go on.").await;
        world.run().await;
        let second = child.last_heard();
        assert!(!second.hidden().contains("autopilot mode"));
        assert!(second.hidden().starts_with(&format!("prompt_id: {}", second.prompt)));
        assert_eq!(second.text, "Go on.", "nothing is added to the words");
    }

    async fn the_first_session_of_an_untitled_task_may_choose_its_title_once(db: TestDb) {
        let world = World::new(db).await;
        let params = CreateTask { title: String::new(), auto_title: true, ..prompted("") };
        let puppet = world.start(CreateTask { description: "Look into the lock.".to_owned(), ..params }).await;
        assert_eq!(puppet.card().await.title, "Look into the lock.");
        let board = world.board();
        assert!(tools(&board.mcp_profile(puppet.session).await.unwrap()).contains(&"set_task_title_kandev"));
        assert!(puppet.last_heard().hidden().contains("set_task_title_kandev"));

        let stranger = world.working("Stranger").await;
        let (_, refusal) = board.task_set_title(&stranger.actor(), "Mine").await.unwrap();
        assert_eq!(refusal, Some("title_not_pending"));
        let (task, refusal) = board.task_set_title(&puppet.actor(), "Check the migration lock").await.unwrap();
        assert_eq!((task.title.as_str(), refusal), ("Check the migration lock", None));
        world.run().await;
        assert_eq!(world.node().refreshed(), [puppet.session], "its tools are rebuilt");
        assert!(!tools(&board.mcp_profile(puppet.session).await.unwrap()).contains(&"set_task_title_kandev"));
        let (task, refusal) = board.task_set_title(&puppet.actor(), "Another").await.unwrap();
        assert_eq!((task.title.as_str(), refusal), ("Check the migration lock", Some("title_not_pending")));
    }

    async fn a_title_chosen_by_a_person_first_is_kept(db: TestDb) {
        let world = World::new(db).await;
        let params = CreateTask { title: String::new(), auto_title: true, description: "Look.".to_owned(), ..CreateTask::default() };
        let puppet = world.start(params).await;
        let rename = UpdateTask { title: Some("By hand".to_owned()), ..UpdateTask::default() };
        world.board().task_update(&Actor::Operator, puppet.task, rename).await.unwrap();
        let (task, refusal) = world.board().task_set_title(&puppet.actor(), "By the agent").await.unwrap();
        assert_eq!((task.title.as_str(), refusal), ("By hand", Some("title_not_pending")));
    }
}
