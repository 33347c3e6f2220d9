use crate::jobs::{job, stored, take};
use crate::world::{at, read, write};
use domain::job::{Job, JobStatus};
use store::Write;
use store::job_views::{Filter, Part, conversation, count_by_status, oldest_due, page};
use store::jobs::update;

store::on_both_engines! {
    async fn what_waits_comes_first_and_pages_do_not_overlap(db: TestDb) {
        let add = async |user: &str, name: &str, due, created| {
            let new = Job { next_retry_at: at(due), created_at: at(created), ..job(user, name) };
            stored(&db.store, &new).await
        };
        let (b, a) = (add("u", "aij_b", 20, 1).await, add("v", "aij_a", 10, 2).await);
        let mut ended = Vec::new();
        for n in 0..3 {
            let mut job = add("u", &format!("aij_{n}"), 0, n).await;
            job.status = JobStatus::Canceled;
            let saved = write(&db.store, async |tx| update(tx, &job, JobStatus::Pending, None).await).await.unwrap();
            assert_eq!(saved, Write::Changed);
            ended.push(job);
        }
        let list = async |filter: Filter| {
            let (mut names, mut after) = (Vec::new(), None);
            loop {
                let rows = read(&db.store, async |db| page(db, &filter, after, 2).await).await;
                after = rows.last().map(|(_, place)| *place);
                names.extend(rows.iter().map(|(job, _)| job.correlation_id.clone()));
                if rows.len() < 2 {
                    return names;
                }
            }
        };
        assert_eq!(list(Filter::default()).await, ["aij_a", "aij_b", "aij_2", "aij_1", "aij_0"]);
        assert_eq!(list(Filter { user_id: Some("v".to_owned()), ..Filter::default() }).await, ["aij_a"]);
        assert_eq!(list(Filter { status: Some(JobStatus::Canceled), ..Filter::default() }).await, ["aij_2", "aij_1", "aij_0"]);
        assert_eq!(list(Filter { since: Some(at(2)), ..Filter::default() }).await, ["aij_a", "aij_2"]);
        assert_eq!(list(Filter { until: Some(at(1)), ..Filter::default() }).await, ["aij_0"]);
        assert_eq!(
            read(&db.store, async |db| count_by_status(db).await).await,
            [(JobStatus::Canceled, 3), (JobStatus::Pending, 2)]
        );
        let oldest = async |now| read(&db.store, async |db| oldest_due(db, at(now)).await).await;
        assert_eq!((oldest(9).await, oldest(10).await), (None, Some(at(10))));
        take(&db.store, a.id, None, at(30)).await.unwrap();
        assert_eq!(oldest(30).await, Some(at(20)));
        let said = async |source: &str, part: Part| {
            let jobs = read(&db.store, async |db| conversation(db, "u", source, part, 2).await).await;
            jobs.into_iter().map(|job| job.id).collect::<Vec<_>>()
        };
        assert_eq!(said("gateway_dm", Part::Newest).await, [ended[1].id, ended[2].id]);
        assert_eq!(said("gateway_dm", Part::Before(ended[1].id)).await, [b.id, ended[0].id]);
        assert_eq!(said("gateway_dm", Part::From(ended[0].id)).await, [ended[0].id, ended[1].id]);
        assert!(said("in_app", Part::Newest).await.is_empty());
        assert!(b.id < a.id);
    }
}
