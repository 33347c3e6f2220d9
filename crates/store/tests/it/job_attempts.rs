use crate::jobs::{job, stored};
use crate::world::{UNICODE, at, read, write};
use domain::job::failure::ErrorClass;
use store::job_attempts::{begin_all, end, end_all, of_job};

store::on_both_engines! {
    async fn runs_are_kept_with_their_ends(db: TestDb) {
        let mut kept = stored(&db.store, &job("u", "aij_1")).await;
        // The second run has the number of the first: that attempt was given back.
        for (attempt, failure) in [(1, None), (1, Some((ErrorClass::Unknown, UNICODE)))] {
            kept.attempt_count = attempt;
            write(&db.store, async |tx| begin_all(tx, std::slice::from_ref(&kept), "me", at(attempt)).await).await.unwrap();
            write(&db.store, async |tx| end(tx, kept.id, "job.snoozed", failure, at(9)).await).await.unwrap();
        }
        kept.attempt_count = 2;
        write(&db.store, async |tx| begin_all(tx, std::slice::from_ref(&kept), "me", at(2)).await).await.unwrap();
        let runs = read(&db.store, async |db| of_job(db, kept.id).await).await;
        let told: Vec<_> = runs
            .iter()
            .map(|run| (run.attempt, run.ended_at, run.outcome.as_deref(), run.error_class, run.error.as_deref()))
            .collect();
        assert_eq!(
            told,
            [
                (1, Some(at(9)), Some("job.snoozed"), None, None),
                (1, Some(at(9)), Some("job.snoozed"), Some(ErrorClass::Unknown), Some(UNICODE)),
                (2, None, None, None, None),
            ]
        );
        assert!(runs.iter().all(|run| run.worker_id == "me"));
    }

    async fn runs_that_end_together_end_well(db: TestDb) {
        let kept = [stored(&db.store, &job("u", "aij_1")).await, stored(&db.store, &job("v", "aij_2")).await];
        write(&db.store, async |tx| begin_all(tx, &kept, "me", at(1)).await).await.unwrap();
        write(&db.store, async |tx| end_all(tx, &[kept[1].id], "job.completed", at(2)).await).await.unwrap();
        for (job, ended) in kept.iter().zip([(None, None), (Some(at(2)), Some("job.completed"))]) {
            let runs = read(&db.store, async |db| of_job(db, job.id).await).await;
            assert_eq!((runs.len(), runs[0].ended_at, runs[0].outcome.as_deref()), (1, ended.0, ended.1));
        }
    }
}
