//! Documents and decisions of tasks beside the board.

use crate::world::{World, prompted, refused};
use board::Actor;
use domain::document::{Decision, DocumentKey, WriteDocument};
use domain::error::ErrorCode;
use domain::params::CreateTask;
use domain::plan::PlanAuthorKind;
use domain::task::Purpose;

const OPERATOR: Actor = Actor::Operator;

fn key(text: &str) -> DocumentKey {
    text.parse().unwrap()
}

fn text(content: &str) -> WriteDocument {
    WriteDocument {
        content: content.to_owned(),
        ..WriteDocument::default()
    }
}

fn office(title: &str) -> CreateTask {
    CreateTask {
        purpose: Some(Purpose::Office),
        ..prompted(title)
    }
}

store::on_both_engines! {
    async fn a_part_writes_its_own_documents_and_those_of_its_whole(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let whole = world.start(office("Whole")).await;
        let part = world.start(CreateTask { parent_id: Some(whole.task), ..office("Part") }).await;
        let sibling = world.start(CreateTask { parent_id: Some(whole.task), ..office("Sibling") }).await;
        let made = board.document_write(&part.actor(), whole.task, &key("notes"), text("One.")).await.unwrap();
        assert_eq!((made.title.as_str(), made.kind.as_str(), made.content_bytes), ("notes", "custom", 4));
        assert_eq!((made.author_kind, made.author_session_id), (PlanAuthorKind::Agent, Some(part.session)));
        let own = WriteDocument { title: Some("Ours".to_owned()), kind: Some("report".to_owned()), ..text("Two.") };
        board.document_write(&part.actor(), part.task, &key("notes"), own).await.unwrap();
        for other in [sibling.task, part.task] {
            let outcome = board.document_write(&whole.actor(), other, &key("notes"), text("Mine.")).await;
            refused(outcome, ErrorCode::Forbidden);
        }
        // Read they may be by the whole tree.
        let read = board.document_get(&sibling.actor(), part.task, &key("notes")).await.unwrap();
        assert_eq!((read.content.as_str(), read.entry.title.as_str()), ("Two.", "Ours"));
        refused(board.document_get(&sibling.actor(), part.task, &key("other")).await, ErrorCode::NotFound);
        let again = board.document_write(&OPERATOR, whole.task, &key("notes"), text("Three.")).await.unwrap();
        assert_eq!((again.id, again.author_kind), (made.id, PlanAuthorKind::User));
        assert_eq!(board.document_list(&OPERATOR, whole.task).await.unwrap(), [again]);
        refused(board.document_delete(&part.actor(), whole.task, &key("notes")).await, ErrorCode::Forbidden);
        assert!(board.document_delete(&OPERATOR, whole.task, &key("notes")).await.unwrap());
        assert!(!board.document_delete(&OPERATOR, whole.task, &key("notes")).await.unwrap());
        let outside = Actor::External { token: domain::ids::TokenId::new() };
        refused(board.document_list(&outside, whole.task).await, ErrorCode::Forbidden);
    }

    async fn a_decision_is_noted_for_the_step_and_moves_nothing(db: TestDb) {
        let world = World::new(db).await;
        let board = world.board();
        let judge = world.start(office("Judge")).await;
        refused(board.step_decide(&judge.actor(), Decision::Approved, "  ").await, ErrorCode::Validation);
        refused(board.step_decide(&OPERATOR, Decision::Approved, "Good.").await, ErrorCode::Forbidden);
        board.step_decide(&judge.actor(), Decision::Rejected, " Not yet. ").await.unwrap();
        let step = world.step("In Progress");
        let decided = board.step_decide(&judge.actor(), Decision::Approved, "Good.").await.unwrap();
        assert_eq!((decided.step_id, decided.session_id), (step, Some(judge.session)));
        let all = board.step_decisions(&OPERATOR, judge.task).await.unwrap();
        assert_eq!(all.iter().map(|d| d.reason.as_str()).collect::<Vec<_>>(), ["Not yet.", "Good."]);
        assert_eq!(judge.step().await, "In Progress");
    }
}
