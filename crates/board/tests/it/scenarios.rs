//! The acceptance scenarios of the autopilot contract, as stories. H, the narrow phone, is told in a browser.

use crate::world::{World, prompted, refused};
use board::Actor;
use domain::error::ErrorCode;
use domain::params::{CreateTask, ListTasks};
use domain::profile::tools;
use domain::question::QuestionStatus;
use domain::session::SessionState;
use domain::task::{PendingAction, TaskState};
use domain::view::DeliveryStatus;

store::on_both_engines! {
    async fn a_a_normal_task_has_no_autopilot_and_asks_its_operator(db: TestDb) {
        let world = World::new(db).await;
        let puppet = world.working("Task").await;
        assert!(!puppet.card().await.autopilot);
        let listed = tools(&world.board().mcp_profile(puppet.session).await.unwrap());
        assert!(listed.contains(&"ask_user_question_kandev"));
        assert!(!listed.contains(&"ask_parent_question_kandev"));
        assert!(!puppet.last_heard().hidden().contains("autopilot"));
    }

    async fn b_an_autopilot_child_is_one_everywhere(db: TestDb) {
        let world = World::new(db).await;
        let parent = world.working("Parent").await;
        let created = parent.create(CreateTask { autopilot: true, ..prompted("Child") }).await.unwrap();
        assert!(created.task.autopilot);
        world.run().await;
        let child = world.puppet(created.task.id, created.session_id.unwrap());
        let (board, operator) = (world.board(), Actor::Operator);
        assert!(child.card().await.autopilot);
        let listed = board.task_list(&operator, &ListTasks::default()).await.unwrap();
        assert!(listed.iter().find(|t| t.id == child.task).unwrap().autopilot);
        assert!(!listed.iter().find(|t| t.id == parent.task).unwrap().autopilot);
        let shown = board.board_view(&operator, None, None).await.unwrap();
        assert!(shown.tasks.iter().find(|t| t.id == child.task).unwrap().autopilot);
        let related = board.task_related(&operator, parent.task, false).await.unwrap();
        assert!(related.children[0].autopilot);
        assert!(board.task_page(&operator, child.task).await.unwrap().task.autopilot);
        assert!(child.last_heard().hidden().contains("autopilot mode"));
        let tools = tools(&board.mcp_profile(child.session).await.unwrap());
        assert!(tools.contains(&"ask_parent_question_kandev") && !tools.contains(&"ask_user_question_kandev"));
    }

    async fn c_asking_returns_at_once_and_the_child_waits(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child) = world.family().await;
        let asked = child.ask("Which store?").await.unwrap();
        assert_eq!((asked.status.as_str(), asked.parent_task_id), ("waiting_for_parent", parent.task));
        child.end_turn().await;
        world.run().await;
        assert_eq!(parent.texts().iter().filter(|t| t.contains("Which store?")).count(), 1);
        assert_eq!(child.state().await, SessionState::WaitingForInput);
        assert_eq!(child.view().await.pending_action, Some(PendingAction::Clarification));
        assert_eq!(child.card().await.state, TaskState::Review);
        assert_eq!(child.step().await, "In Progress", "the workflow does not advance");
    }

    async fn d_one_answer_gives_one_turn_and_the_indicator_clears(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        assert_eq!(parent.reply(&child, question, "SQLite.").await.unwrap().status, DeliveryStatus::Sent);
        world.run().await;
        assert_eq!(child.texts()[1..], ["SQLite."]);
        assert_eq!(child.card().await.task_pending_action, None);
        child.end_turn().await;
        world.run().await;
        assert_eq!(child.step().await, "Review");
        assert_eq!(child.texts().len(), 2);
    }

    async fn e_a_restart_keeps_waiting(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, question) = world.waiting_family().await;
        let told = parent.texts().len();
        world.restart().await;
        world.run().await;
        assert_eq!(world.question_status(question).await, QuestionStatus::Pending);
        assert_eq!(child.state().await, SessionState::WaitingForInput);
        assert_eq!(child.card().await.task_pending_action, Some(PendingAction::Clarification));
        assert_eq!(parent.texts().len(), told);
        parent.reply(&child, question, "SQLite.").await.unwrap();
        world.run().await;
        assert_eq!(child.last_heard().text, "SQLite.");
    }

    async fn f_a_late_answer_is_refused(db: TestDb) {
        let world = World::new(db).await;
        let (parent, child, superseded) = world.waiting_family().await;
        child.operator_says("Go on.").await;
        world.run().await;
        let stale = child.ask_and_wait("And now?").await;
        world.run().await;
        world.board().session_stop(&Actor::Operator, child.session).await.unwrap();
        world.run().await;
        let heard = child.heard().len();
        for question in [superseded, stale] {
            refused(parent.reply(&child, question, "SQLite.").await, ErrorCode::Validation);
        }
        world.run().await;
        assert_eq!(child.heard().len(), heard);
    }

    async fn g_an_autopilot_root_has_nobody_to_ask(db: TestDb) {
        let world = World::new(db).await;
        let root = world.start(CreateTask { autopilot: true, ..prompted("Root") }).await;
        let listed = tools(&world.board().mcp_profile(root.session).await.unwrap());
        assert!(!listed.iter().any(|t| t.starts_with("ask_")));
        assert!(root.last_heard().hidden().contains("state every material assumption"));
    }
}
