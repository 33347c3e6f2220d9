//! Walkthroughs, review findings and rich output: all of a call or nothing of it.

use crate::world::{World, refused};
use board::Actor;
use domain::error::ErrorCode;
use domain::ids::{FindingId, TaskId};
use domain::message::MessageType;
use domain::params::ConversationPage;
use domain::review::{FindingInput, FindingStatus, Severity};
use domain::rich::{RichInput, RichOutput};
use domain::walkthrough::WalkthroughStep;
use serde_json::json;

fn step(file: &str) -> WalkthroughStep {
    WalkthroughStep {
        title: None,
        repo: None,
        file: file.to_owned(),
        line: 1,
        line_end: Some(3),
        text: "Here it begins.".to_owned(),
    }
}

fn finding(title: &str) -> FindingInput {
    FindingInput {
        repo: None,
        file: "src/main.rs".to_owned(),
        line: 7,
        line_end: None,
        side: None,
        severity: Severity::Major,
        category: "error-handling".to_owned(),
        title: title.to_owned(),
        body: "It panics.".to_owned(),
        suggestion: None,
    }
}

store::on_both_engines! {
    async fn a_walkthrough_replaces_the_earlier_one_and_a_bad_step_keeps_it(db: TestDb) {
        let world = World::new(db).await;
        let agent = world.working("A").await;
        let board = world.board();
        let show = async |steps| board.walkthrough_show(&agent.actor(), agent.task, None, steps).await;
        let found = async || board.walkthrough_find(&Actor::Operator, agent.task).await.unwrap();
        assert_eq!(found().await, None);
        let first = show(vec![step("a.rs"), step("b.rs")]).await.unwrap();
        assert_eq!(found().await, Some(first.clone()));
        let events = world.count("events where kind = 'task.walkthrough.updated'").await;
        refused(show(vec![step("c.rs"), step("")]).await, ErrorCode::Validation);
        refused(show(Vec::new()).await, ErrorCode::Validation);
        assert_eq!(found().await, Some(first.clone()));
        assert_eq!(world.count("events where kind = 'task.walkthrough.updated'").await, events);
        let second = show(vec![step("c.rs")]).await.unwrap();
        assert_ne!(second.id, first.id);
        assert_eq!(found().await, Some(second));
        assert!(board.walkthrough_delete(&agent.actor(), agent.task).await.unwrap());
        assert!(!board.walkthrough_delete(&agent.actor(), agent.task).await.unwrap());
        refused(board.walkthrough_find(&agent.actor(), TaskId::new()).await, ErrorCode::NotFound);
    }

    async fn a_finding_published_again_is_the_same_one_until_it_is_resolved(db: TestDb) {
        let world = World::new(db).await;
        let agent = world.working("A").await;
        let board = world.board();
        let publish = async |findings| {
            board.findings_publish(&agent.actor(), agent.task, Some("In short."), findings).await
        };
        let list = async || board.findings_list(&Actor::Operator, agent.task).await.unwrap();
        let first = publish(vec![finding("One"), finding("Two")]).await.unwrap();
        assert_eq!((first.added, first.refreshed, first.open), (2, 0, 2));
        let milder = FindingInput { severity: Severity::Nit, ..finding("One") };
        let again = publish(vec![milder, finding("Three"), finding("Three")]).await.unwrap();
        assert_eq!((again.added, again.refreshed, again.open), (1, 2, 3));
        assert_eq!(again.finding_ids[0], first.finding_ids[0]);
        assert_eq!(again.finding_ids[1], again.finding_ids[2]);
        assert_eq!(list().await[0].severity, Severity::Nit);
        let before = list().await;
        let bad = FindingInput { category: "Two Words".to_owned(), ..finding("Four") };
        refused(publish(vec![finding("Five"), bad]).await, ErrorCode::Validation);
        assert_eq!(list().await, before);

        let set = async |actor: &Actor, id, status| board.finding_set_status(actor, id, status).await;
        let id = first.finding_ids[0];
        refused(set(&agent.actor(), id, FindingStatus::Resolved).await, ErrorCode::Forbidden);
        refused(set(&Actor::Operator, FindingId::new(), FindingStatus::Resolved).await, ErrorCode::NotFound);
        let resolved = set(&Actor::Operator, id, FindingStatus::Resolved).await.unwrap();
        assert!(resolved.resolved_at.is_some());
        assert_eq!(set(&Actor::Operator, id, FindingStatus::Resolved).await.unwrap(), resolved);
        let third = publish(vec![finding("One")]).await.unwrap();
        assert_eq!((third.added, third.refreshed), (1, 0));
        assert_ne!(third.finding_ids[0], id);
        refused(set(&Actor::Operator, id, FindingStatus::Open).await, ErrorCode::Conflict);
        set(&Actor::Operator, third.finding_ids[0], FindingStatus::Resolved).await.unwrap();
        let open = set(&Actor::Operator, id, FindingStatus::Open).await.unwrap();
        assert_eq!((open.status, open.resolved_at), (FindingStatus::Open, None));
        assert_eq!(world.count("messages where message_type = 'status' and content = 'In short.'").await, 3);
    }

    async fn rich_output_is_shown_in_the_transcript_or_not_at_all(db: TestDb) {
        let world = World::new(db).await;
        let agent = world.working("A").await;
        let board = world.board();
        let input = |blocks| -> RichInput {
            serde_json::from_value(json!({"version": 1, "title": "Load", "blocks": blocks})).unwrap()
        };
        let chart = json!({"type": "chart", "kind": "bar", "title": "Latency", "csv": "day,ms\nMon,3\nTue,5"});
        let shown = board.rich_show(&agent.actor(), input(json!([chart])), 200).await.unwrap();
        let page = ConversationPage { message_types: vec![MessageType::Content], ..ConversationPage::default() };
        let page = board.conversation(&Actor::Operator, agent.task, &page).await.unwrap();
        assert_eq!(page.messages, std::slice::from_ref(&shown));
        assert!(shown.turn_id.is_some(), "it belongs to the running turn");
        let output: RichOutput = serde_json::from_value(shown.metadata["rich_output"].clone()).unwrap();
        assert_eq!(output.title, "Load");
        let before = world.count("messages").await;
        let bad = json!([chart, {"type": "file", "path": ""}]);
        refused(board.rich_show(&agent.actor(), input(bad), 200).await, ErrorCode::Validation);
        refused(board.rich_show(&agent.actor(), input(json!([chart])), 70_000).await, ErrorCode::Validation);
        refused(board.rich_show(&Actor::Operator, input(json!([chart])), 200).await, ErrorCode::Forbidden);
        assert_eq!(world.count("messages").await, before);
    }
}
