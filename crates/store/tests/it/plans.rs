use crate::world::{UNICODE, World, assert_invariant, assert_unique, at, read, write};
use domain::ids::{PlanId, PlanRevisionId, PlanVersion, SessionId, TaskId};
use domain::plan::{Implementation, MAX_BYTES, Plan, PlanAuthor, PlanAuthorKind, PlanRevision};
use store::Store;
use store::plans::{
    delete, find, find_revision, insert_revision, latest_revision, put, revisions,
    set_implementation, update_revision,
};

pub(crate) fn plan(task: TaskId, content: &str) -> Plan {
    Plan {
        id: PlanId::new(),
        task_id: task,
        title: UNICODE.lines().next().unwrap().to_owned(),
        content: content.to_owned(),
        created_by: PlanAuthorKind::Agent,
        version: PlanVersion::new(),
        created_at: at(0),
        updated_at: at(1),
        implementation: None,
    }
}

pub(crate) fn revision(plan: &Plan, number: i64) -> PlanRevision {
    PlanRevision {
        id: PlanRevisionId::new(),
        task_id: plan.task_id,
        plan_id: plan.id,
        number,
        version: PlanVersion::new(),
        title: plan.title.clone(),
        content: plan.content.clone(),
        author: PlanAuthor {
            kind: PlanAuthorKind::Agent,
            name: UNICODE.to_owned(),
            session_id: Some(SessionId::new()),
        },
        revert_of: None,
        created_at: at(number),
        updated_at: at(number),
    }
}

async fn put_one(store: &Store, plan: &Plan) {
    write(store, async |tx| put(tx, plan).await).await.unwrap();
}

async fn add(store: &Store, revision: &PlanRevision) {
    write(store, async |tx| insert_revision(tx, revision).await)
        .await
        .unwrap();
}

async fn stored(store: &Store, task: TaskId) -> Option<Plan> {
    read(store, async |db| find(db, task).await).await
}

/// As many bytes as a plan may have, of letters that are put together, with both kinds of line ends.
fn largest() -> String {
    let piece = "e\u{301}🛫👩‍👩‍👧\r\n\n ";
    let mut text = piece.repeat(MAX_BYTES / piece.len());
    text.push_str(&"x".repeat(MAX_BYTES - text.len()));
    text
}

store::on_both_engines! {
    async fn a_plan_is_read_byte_for_byte_as_it_was_written(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        assert_eq!(stored(&db.store, task.id).await, None);
        for text in [UNICODE, "one\r\ntwo\n\n  ", "e\u{301}é", &largest()] {
            let (made, other) = (plan(task.id, text), world.add_task().await);
            let made = Plan { task_id: other.id, ..made };
            put_one(&db.store, &made).await;
            assert_eq!(stored(&db.store, other.id).await, Some(made));
        }
    }

    async fn the_mark_that_a_plan_is_carried_out_outlives_what_is_written_and_goes_with_the_plan(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        put_one(&db.store, &plan(task.id, "One.")).await;
        let mark = Implementation { started_at: at(3), started_by: PlanAuthorKind::User, session_id: SessionId::new() };
        write(&db.store, async |tx| set_implementation(tx, task.id, &mark).await).await.unwrap();
        let marked = stored(&db.store, task.id).await.unwrap();
        assert_eq!(marked.implementation, Some(mark));
        put_one(&db.store, &Plan { content: "Two.".to_owned(), ..marked.clone() }).await;
        assert_eq!(stored(&db.store, task.id).await.unwrap().implementation, Some(mark));
        write(&db.store, async |tx| delete(tx, task.id).await).await.unwrap();
        put_one(&db.store, &plan(task.id, "Another.")).await;
        assert_eq!(stored(&db.store, task.id).await.unwrap().implementation, None);
    }

    async fn a_plan_that_is_replaced_keeps_its_id_and_its_maker(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let first = plan(task.id, "One.");
        put_one(&db.store, &first).await;
        let second = Plan {
            created_by: PlanAuthorKind::User,
            created_at: at(5),
            updated_at: at(6),
            title: "Another".to_owned(),
            ..plan(task.id, "Two.")
        };
        put_one(&db.store, &second).await;
        let kept = Plan {
            id: first.id,
            created_by: first.created_by,
            created_at: first.created_at,
            ..second
        };
        assert_eq!(stored(&db.store, task.id).await, Some(kept));
    }

    async fn the_history_outlives_its_plan_and_goes_with_its_task(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let made = plan(task.id, "One.");
        put_one(&db.store, &made).await;
        let first = revision(&made, 1);
        add(&db.store, &first).await;
        let remove = async || write(&db.store, async |tx| delete(tx, task.id).await).await.unwrap();
        assert!(remove().await);
        assert!(!remove().await);
        let of = async |id| read(&db.store, async |db| find_revision(db, id).await).await;
        assert_eq!(of(first.id).await, Some(first.clone()));
        write(&db.store, async |tx| store::tasks::delete(tx, task.id).await).await.unwrap();
        assert_eq!(of(first.id).await, None);
    }

    async fn a_merge_changes_text_title_version_and_time(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let made = plan(task.id, "One.");
        let first = revision(&made, 1);
        add(&db.store, &first).await;
        let merged = PlanRevision {
            title: "Another".to_owned(),
            content: largest(),
            version: PlanVersion::new(),
            updated_at: at(9),
            ..first
        };
        write(&db.store, async |tx| update_revision(tx, &merged).await).await.unwrap();
        assert_eq!(read(&db.store, async |db| latest_revision(db, task.id).await).await, Some(merged));
    }

    async fn revisions_are_listed_newest_first_a_page_at_a_time(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let other = world.add_task().await;
        let made = plan(task.id, "é");
        for number in 1..=5 {
            add(&db.store, &revision(&made, number)).await;
        }
        add(&db.store, &revision(&plan(other.id, "Elsewhere."), 7)).await;
        let page = async |before, limit| {
            let (entries, more) = read(&db.store, async |db| revisions(db, task.id, before, limit).await).await;
            (entries.iter().map(|entry| entry.revision_number).collect::<Vec<_>>(), more)
        };
        assert_eq!(page(i64::MAX, 2).await, (vec![5, 4], true));
        assert_eq!(page(4, 3).await, (vec![3, 2, 1], false));
        assert_eq!(page(1, 3).await, (vec![], false));
        let (entries, _) = read(&db.store, async |db| revisions(db, task.id, i64::MAX, 1).await).await;
        let latest = read(&db.store, async |db| latest_revision(db, task.id).await).await.unwrap();
        assert_eq!(entries[0].content_bytes, 2);
        assert_eq!((entries[0].id, entries[0].revision_version), (latest.id, latest.version));
        assert_eq!(read(&db.store, async |db| latest_revision(db, TaskId::new()).await).await, None);
    }

    async fn a_number_is_taken_once_and_a_plan_has_a_task(db: TestDb) {
        let world = World::new(&db).await;
        let task = world.add_task().await;
        let made = plan(task.id, "One.");
        add(&db.store, &revision(&made, 1)).await;
        let again = revision(&made, 1);
        assert_unique(write(&db.store, async |tx| insert_revision(tx, &again).await).await);
        let zero = revision(&made, 0);
        assert_invariant(write(&db.store, async |tx| insert_revision(tx, &zero).await).await);
        let lost = plan(TaskId::new(), "One.");
        assert_invariant(write(&db.store, async |tx| put(tx, &lost).await).await);
    }
}
