use crate::world::{UNICODE, World, assert_invariant, assert_unique, at, count, read, write};
use domain::change_request::{
    Automation, ChangeRequest, Checks, Mergeable, RequestState, Seen, TaskRequest,
};
use domain::ids::{ChangeRequestId, RepositoryId, TaskId};
use domain::repository::Provider;
use domain::task::{Task, TaskState};
use std::collections::HashSet;
use store::change_requests::{
    claim_due, delete, delete_of, find, insert, list, next_due, set_automation, set_seen, tell,
    told,
};
use store::testing::TestDb;

pub(crate) fn request(task: TaskId, repository: RepositoryId, number: i64) -> ChangeRequest {
    ChangeRequest {
        id: ChangeRequestId::new(),
        task_id: task,
        repository_id: repository,
        number,
        automation: Automation {
            auto_fix_enabled: true,
            ..Automation::default()
        },
        auto_fix_prompt_override: Some(UNICODE.to_owned()),
        seen: None,
        problem: None,
        next_look_at: Some(at(number)),
        created_at: at(0),
        updated_at: at(0),
    }
}

/// A task about a repository.
async fn about(db: &TestDb, world: &World) -> (Task, RepositoryId) {
    let task = world.add_task().await;
    let repository = crate::repositories::repository(world.workspace.id, "a/b");
    write(&db.store, async |tx| {
        store::repositories::insert(tx, &repository).await?;
        store::repositories::attach(tx, task.id, repository.id, at(0)).await
    })
    .await
    .unwrap();
    (task, repository.id)
}

store::on_both_engines! {
    async fn a_request_is_read_as_it_was_written_and_shown_with_its_task(db: TestDb) {
        let world = World::new(&db).await;
        let (task, repository) = about(&db, &world).await;
        let mut first = request(task.id, repository, 7);
        let second = ChangeRequest { created_at: at(1), next_look_at: None, ..request(task.id, repository, 8) };
        write(&db.store, async |tx| {
            insert(tx, &second).await?;
            insert(tx, &first).await
        })
        .await
        .unwrap();
        assert_unique(write(&db.store, async |tx| insert(tx, &request(task.id, repository, 7)).await).await);
        assert_invariant(write(&db.store, async |tx| insert(tx, &request(task.id, repository, 0)).await).await);
        assert_eq!(read(&db.store, async |db| list(db, task.id).await).await, [first.clone(), second.clone()]);

        first.automation = Automation {
            auto_merge_enabled: true,
            prompt_on_review_requested: true,
            prompt_on_merged: true,
            prompt_on_closed: true,
            ..Automation::default()
        };
        first.auto_fix_prompt_override = None;
        first.next_look_at = Some(at(5));
        first.updated_at = at(9);
        write(&db.store, async |tx| set_automation(tx, &first).await).await.unwrap();
        assert_eq!(read(&db.store, async |db| find(db, first.id).await).await.as_ref(), Some(&first));
        first.seen = Some(Seen {
            title: UNICODE.to_owned(),
            url: "https://x".to_owned(),
            state: RequestState::Merged,
            checks: Checks::Passed,
            mergeable: Mergeable::Conflict,
            at: at(8),
        });
        first.problem = Some(UNICODE.to_owned());
        first.next_look_at = None;
        write(&db.store, async |tx| set_seen(tx, &first).await).await.unwrap();
        assert_eq!(read(&db.store, async |db| find(db, first.id).await).await.as_ref(), Some(&first));
        let shown = read(&db.store, async |db| store::views::task(db, task.id).await).await.unwrap().prs;
        let unseen = TaskRequest {
            repository_id: repository,
            provider: Provider::Github,
            number: 8,
            title: None,
            url: None,
            state: None,
            checks: None,
            mergeable: None,
        };
        let seen = TaskRequest {
            number: 7,
            title: Some(UNICODE.to_owned()),
            url: Some("https://x".to_owned()),
            state: Some(RequestState::Merged),
            checks: Some(Checks::Passed),
            mergeable: Some(Mergeable::Conflict),
            ..unseen.clone()
        };
        assert_eq!(shown, [seen, unseen]);

        assert!(write(&db.store, async |tx| delete(tx, first.id).await).await.unwrap());
        assert!(!write(&db.store, async |tx| delete(tx, first.id).await).await.unwrap());
        write(&db.store, async |tx| delete_of(tx, task.id, repository).await).await.unwrap();
        assert_eq!(count(&db.store, "change_requests").await, 0);
    }

    async fn what_is_due_is_taken_once_and_not_for_a_task_that_is_over(db: TestDb) {
        let world = World::new(&db).await;
        let (task, repository) = about(&db, &world).await;
        let failed = world.put_task(Task { state: TaskState::Failed, ..world.task() }).await;
        let archived = world.put_task(Task { archived_at: Some(at(0)), ..world.task() }).await;
        let mine: Vec<ChangeRequest> = (1..=3).map(|number| request(task.id, repository, number)).collect();
        write(&db.store, async |tx| {
            for one in &mine {
                insert(tx, one).await?;
            }
            insert(tx, &request(failed.id, repository, 1)).await?;
            insert(tx, &request(archived.id, repository, 1)).await?;
            insert(tx, &ChangeRequest { next_look_at: None, ..request(task.id, repository, 9) }).await
        })
        .await
        .unwrap();
        assert_eq!(read(&db.store, next_due).await, Some(at(1)));
        let claim = async |limit| {
            let claimed = write(&db.store, async |tx| claim_due(tx, at(2), at(100), limit).await).await.unwrap();
            claimed.iter().map(|request| request.number).collect::<Vec<_>>()
        };
        assert_eq!(claim(10).await, [1, 2], "those of tasks that are over are put off");
        assert!(claim(10).await.is_empty());
        assert_eq!(read(&db.store, next_due).await, Some(at(3)));
    }

    async fn a_subject_is_told_once(db: TestDb) {
        let world = World::new(&db).await;
        let (task, repository) = about(&db, &world).await;
        let request = request(task.id, repository, 7);
        let said = async |subject: &str| write(&db.store, async |tx| tell(tx, request.id, subject, at(1)).await).await;
        write(&db.store, async |tx| insert(tx, &request).await).await.unwrap();
        assert!(said("check:abc").await.unwrap());
        assert!(!said("check:abc").await.unwrap());
        assert!(said(UNICODE).await.unwrap());
        assert_invariant(said("").await);
        let subjects = read(&db.store, async |db| told(db, request.id).await).await;
        assert_eq!(subjects, HashSet::from(["check:abc".to_owned(), UNICODE.to_owned()]));
        write(&db.store, async |tx| store::tasks::delete(tx, task.id).await.map(drop)).await.unwrap();
        assert_eq!(count(&db.store, "change_request_news").await, 0);
    }
}
