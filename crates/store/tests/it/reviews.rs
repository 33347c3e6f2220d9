use crate::world::{UNICODE, World, assert_invariant, assert_unique, at, read, write};
use domain::ids::{FindingId, SessionId, TaskId};
use domain::review::{Finding, FindingStatus, Severity, Side};
use store::reviews::{find, list, open, put};
use store::{Result, Store};

pub(crate) fn finding(task: TaskId, title: &str) -> Finding {
    Finding {
        id: FindingId::new(),
        task_id: task,
        session_id: None,
        repo: String::new(),
        file: "a.rs".to_owned(),
        line: 3,
        line_end: 3,
        side: Side::New,
        severity: Severity::Nit,
        category: "naming".to_owned(),
        title: title.to_owned(),
        body: UNICODE.to_owned(),
        suggestion: None,
        status: FindingStatus::Open,
        created_at: at(1),
        updated_at: at(1),
        resolved_at: None,
    }
}

async fn put_one(store: &Store, finding: &Finding) -> Result<()> {
    write(store, async |tx| put(tx, finding).await).await
}

store::on_both_engines! {
    async fn a_finding_is_read_as_it_was_written(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let bare = finding(task.id, "One");
        let whole = Finding {
            session_id: Some(SessionId::new()),
            repo: UNICODE.to_owned(),
            line_end: 9,
            side: Side::Old,
            severity: Severity::Blocker,
            suggestion: Some(UNICODE.to_owned()),
            status: FindingStatus::Resolved,
            created_at: at(0),
            updated_at: at(5),
            resolved_at: Some(at(5)),
            ..finding(task.id, UNICODE)
        };
        put_one(&db.store, &bare).await.unwrap();
        put_one(&db.store, &whole).await.unwrap();
        let of = async |id| read(&db.store, async |db| find(db, id).await).await;
        assert_eq!(of(bare.id).await, Some(bare.clone()));
        assert_eq!(of(whole.id).await, Some(whole.clone()));
        assert_eq!(of(FindingId::new()).await, None);
        assert_eq!(read(&db.store, async |db| list(db, task.id).await).await, [whole, bare.clone()]);
        assert_eq!(read(&db.store, async |db| open(db, task.id).await).await, [bare]);
        assert!(read(&db.store, async |db| list(db, TaskId::new()).await).await.is_empty());
    }

    async fn one_place_and_title_is_open_once(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let first = finding(task.id, "One");
        put_one(&db.store, &first).await.unwrap();
        assert_unique(put_one(&db.store, &finding(task.id, "One")).await);
        for other in [
            Finding { line: 4, line_end: 4, ..finding(task.id, "One") },
            Finding { line_end: 4, ..finding(task.id, "One") },
            Finding { side: Side::Old, ..finding(task.id, "One") },
            Finding { repo: "other".to_owned(), ..finding(task.id, "One") },
            finding(task.id, "one"),
            finding(world.add_task().await.id, "One"),
        ] {
            put_one(&db.store, &other).await.unwrap();
        }
        let resolved =
            Finding { status: FindingStatus::Resolved, resolved_at: Some(at(2)), ..first };
        put_one(&db.store, &resolved).await.unwrap();
        let again = finding(task.id, "One");
        put_one(&db.store, &again).await.unwrap();
        let reopened = Finding { status: FindingStatus::Open, resolved_at: None, ..resolved };
        assert_unique(put_one(&db.store, &reopened).await);
    }

    async fn a_finding_has_an_end_exactly_when_it_is_resolved_and_lines_in_order(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        for bad in [
            Finding { resolved_at: Some(at(1)), ..finding(task.id, "One") },
            Finding { status: FindingStatus::Resolved, ..finding(task.id, "One") },
            Finding { line: 0, ..finding(task.id, "One") },
            Finding { line_end: 2, ..finding(task.id, "One") },
            finding(TaskId::new(), "One"),
        ] {
            assert_invariant(put_one(&db.store, &bad).await);
        }
    }
}
