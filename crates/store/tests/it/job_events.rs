use crate::jobs::{job, stored};
use crate::world::{UNICODE, at, read, write};
use domain::job::{JobEventType, NewJobEvent};
use serde_json::json;
use store::job_events::{append, append_all, head, last_of, latest, of_unfinished};

store::on_both_engines! {
    async fn a_timeline_is_read_in_the_order_of_its_making(db: TestDb) {
        let kept = stored(&db.store, &job("u", "aij_1")).await;
        let other = stored(&db.store, &job("v", "aij_2")).await;
        for kind in JobEventType::ALL {
            // All at one time: the order is not the clock's.
            write(&db.store, async |tx| {
                append(tx, kept.id, &NewJobEvent::new(*kind, UNICODE), at(7)).await?;
                append(tx, other.id, &NewJobEvent::new(*kind, "x").says(UNICODE).with(json!({"a": UNICODE})), at(8)).await
            })
            .await
            .unwrap();
        }
        let all = read(&db.store, async |db| latest(db, kept.id, 0, 500).await).await;
        let kinds: Vec<JobEventType> = all.iter().map(|event| event.event_type).collect();
        assert_eq!(kinds, JobEventType::ALL);
        assert!(all.iter().all(|event| event.job_id == kept.id && event.source == UNICODE && event.created_at == at(7)));
        assert_eq!(all[0].step.as_deref(), Some("queued"));
        assert_eq!((&all[0].message, &all[0].metadata_json), (&None, &None));
        let newest = read(&db.store, async |db| latest(db, kept.id, 0, 2).await).await;
        assert_eq!(newest, all[all.len() - 2..]);
        let after = read(&db.store, async |db| latest(db, kept.id, all[3].id, 500).await).await;
        assert_eq!(after, all[4..]);
        assert_eq!(read(&db.store, async |db| head(db).await).await, all.last().unwrap().id + 1);
        let unfinished = async |user: &str, first, last, limit| {
            let events = read(&db.store, async |db| of_unfinished(db, user, first, last, limit).await).await;
            events.into_iter().map(|event| event.id).collect::<Vec<_>>()
        };
        let ids: Vec<i64> = all.iter().map(|event| event.id).collect();
        assert_eq!(unfinished("u", kept.id, other.id, 500).await, ids);
        assert_eq!(unfinished("u", kept.id, kept.id, 1).await, ids[ids.len() - 1..]);
        assert!(unfinished("u", other.id, other.id, 500).await.is_empty());
        let said = read(&db.store, async |db| latest(db, other.id, 0, 1).await).await;
        assert_eq!((said[0].message.as_deref(), &said[0].metadata_json), (Some(UNICODE), &Some(json!({"a": UNICODE}))));
    }

    async fn entries_of_several_jobs_are_appended_in_their_order_and_the_last_of_a_type_is_found(db: TestDb) {
        let kept = stored(&db.store, &job("u", "aij_1")).await;
        let other = stored(&db.store, &job("v", "aij_2")).await;
        let entry = |kind, n: i64| NewJobEvent::new(kind, UNICODE).with(json!({"n": n, "text": UNICODE}));
        let (queued, first, second) = (entry(JobEventType::Queued, 0), entry(JobEventType::ManualRetry, 1), entry(JobEventType::ManualRetry, 2));
        let entries = [(kept.id, &queued), (kept.id, &first), (other.id, &queued), (kept.id, &second)];
        write(&db.store, async |tx| append_all(tx, &entries, at(3)).await).await.unwrap();
        let told = read(&db.store, async |db| latest(db, kept.id, 0, 9).await).await;
        let numbers: Vec<_> = told.iter().map(|event| event.metadata_json.clone().unwrap()).collect();
        assert_eq!(numbers, [0, 1, 2].map(|n| json!({"n": n, "text": UNICODE})));
        let last = async |job, kind| read(&db.store, async |db| last_of(db, job, kind).await).await;
        assert_eq!(last(kept.id, JobEventType::ManualRetry).await, told.last().cloned());
        assert_eq!(last(other.id, JobEventType::ManualRetry).await, None);
    }
}
