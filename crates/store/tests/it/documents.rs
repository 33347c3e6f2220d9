use crate::world::{UNICODE, World, assert_invariant, at, count, read, write};
use domain::document::{Decision, Document, DocumentEntry, DocumentKey, StepDecision};
use domain::ids::{DecisionId, DocumentId, SessionId, StepId, TaskId};
use domain::plan::PlanAuthorKind;
use store::documents::{clear_decisions, decisions, delete, find, insert_decision, list, put};

fn key(text: &str) -> DocumentKey {
    text.parse().unwrap()
}

pub(crate) fn document(task: TaskId, key_text: &str) -> Document {
    Document {
        entry: DocumentEntry {
            id: DocumentId::new(),
            task_id: task,
            document_key: key(key_text),
            title: UNICODE.to_owned(),
            kind: "report".to_owned(),
            content_bytes: i64::try_from(UNICODE.len()).unwrap(),
            author_kind: PlanAuthorKind::Agent,
            author_session_id: Some(SessionId::new()),
            created_at: at(1),
            updated_at: at(1),
        },
        content: UNICODE.to_owned(),
    }
}

pub(crate) fn decision(task: TaskId, step: StepId) -> StepDecision {
    StepDecision {
        id: DecisionId::new(),
        task_id: task,
        step_id: step,
        session_id: None,
        decision: Decision::Approved,
        reason: UNICODE.to_owned(),
        created_at: at(0),
    }
}

store::on_both_engines! {
    async fn a_document_is_read_as_it_was_written_and_replaced_under_its_key(db: TestDb) {
        let world = World::new(&db).await;
        let (task, other) = (world.add_task().await.id, world.add_task().await.id);
        let first = document(task, "b-notes");
        let second = document(task, "a-notes");
        write(&db.store, async |tx| {
            put(tx, &first).await?;
            put(tx, &second).await?;
            put(tx, &document(other, "b-notes")).await
        })
        .await
        .unwrap();
        assert_eq!(read(&db.store, async |db| find(db, task, &key("b-notes")).await).await.as_ref(), Some(&first));
        let listed = read(&db.store, async |db| list(db, task).await).await;
        assert_eq!(listed, [second.entry.clone(), first.entry.clone()]);
        let newer = Document {
            entry: DocumentEntry {
                id: DocumentId::new(),
                title: "New".to_owned(),
                kind: "custom".to_owned(),
                content_bytes: 0,
                author_kind: PlanAuthorKind::User,
                author_session_id: None,
                created_at: at(9),
                updated_at: at(9),
                ..first.entry.clone()
            },
            content: String::new(),
        };
        write(&db.store, async |tx| put(tx, &newer).await).await.unwrap();
        let expected = DocumentEntry { id: first.entry.id, created_at: at(1), ..newer.entry };
        let stored = read(&db.store, async |db| find(db, task, &key("b-notes")).await).await.unwrap();
        assert_eq!((stored.entry, stored.content.as_str()), (expected, ""));
        assert!(write(&db.store, async |tx| delete(tx, task, &key("b-notes")).await).await.unwrap());
        assert!(!write(&db.store, async |tx| delete(tx, task, &key("b-notes")).await).await.unwrap());
        assert_eq!(read(&db.store, async |db| find(db, task, &key("b-notes")).await).await, None);
        assert!(read(&db.store, async |db| find(db, other, &key("b-notes")).await).await.is_some());
    }

    async fn decisions_are_kept_in_order_and_go_with_their_task(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let yes = StepDecision { created_at: at(2), ..decision(task.id, world.steps[2].id) };
        let no = StepDecision {
            id: DecisionId::new(),
            session_id: Some(SessionId::new()),
            decision: Decision::Rejected,
            created_at: at(1),
            ..yes.clone()
        };
        write(&db.store, async |tx| {
            insert_decision(tx, &yes).await?;
            insert_decision(tx, &no).await
        })
        .await
        .unwrap();
        assert_eq!(read(&db.store, async |db| decisions(db, task.id).await).await, [no.clone(), yes]);
        let silent = StepDecision { id: DecisionId::new(), reason: String::new(), ..no };
        assert_invariant(write(&db.store, async |tx| insert_decision(tx, &silent).await).await);
        let later = StepDecision { id: DecisionId::new(), step_id: world.steps[1].id, ..decision(task.id, world.steps[1].id) };
        write(&db.store, async |tx| insert_decision(tx, &later).await).await.unwrap();
        for there in [true, false] {
            let cleared = write(&db.store, async |tx| clear_decisions(tx, task.id, world.steps[2].id).await).await.unwrap();
            assert_eq!(cleared, there);
        }
        assert_eq!(read(&db.store, async |db| decisions(db, task.id).await).await, [later]);
        write(&db.store, async |tx| put(tx, &document(task.id, "notes")).await).await.unwrap();
        write(&db.store, async |tx| store::tasks::delete(tx, task.id).await.map(drop)).await.unwrap();
        assert_eq!((count(&db.store, "step_decisions").await, count(&db.store, "task_documents").await), (0, 0));
    }
}
