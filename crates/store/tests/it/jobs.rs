use crate::world::{UNICODE, at, count, execute, read, rows, write};
use domain::job::failure::ErrorClass;
use domain::job::row::JobMetadata;
use domain::job::{
    Answer, HistoryTurn, Job, JobEventType, JobId, JobStatus, NewJobEvent, PendingConfirmation,
    Phase, Target, TargetKind, Usage,
};
use domain::time::Timestamp;
use serde_json::json;
use std::collections::HashSet;
use store::jobs::{
    ANY_DUE, Lease, NEXT_DUE, TO_CANCEL, any_due, claim, claim_all, claim_all_sql, claimable_sql,
    dispatched, due, end_runs, end_runs_sql, expired, find, find_by_correlation,
    find_by_unique_key, held_by, insert, insert_all, next_claimable, next_due, prune, redact,
    renew, to_cancel, update,
};
use store::{Engine, Store, Write};

/// A job of `user`, due at once, that has everything a job can have at its making.
pub(crate) fn job(user: &str, correlation: &str) -> Job {
    Job {
        id: JobId::none(),
        correlation_id: correlation.to_owned(),
        source: "gateway_dm".to_owned(),
        status: JobStatus::Pending,
        phase: Phase::Generate,
        user_id: user.to_owned(),
        user_name: Some(UNICODE.to_owned()),
        guild_id: Some("g".to_owned()),
        request_text: UNICODE.to_owned(),
        history: vec![HistoryTurn {
            role: "user".to_owned(),
            content: UNICODE.to_owned(),
        }],
        managed_guilds: vec![json!({"id": "g", "n": 1})],
        selected_guild: Some(json!({"id": "g"})),
        target: Target {
            kind: TargetKind::DiscordDm,
            user_id: user.to_owned(),
            source: "gateway_dm".to_owned(),
        },
        provider_chain: vec!["a".to_owned(), "b".to_owned()],
        metadata: JobMetadata {
            requested_at: Some(at(0)),
            max_tool_iterations: Some(3),
            is_super_admin: true,
            retry_of: None,
        },
        priority: 1,
        queue: "dm".to_owned(),
        unique_key: None,
        timeout_seconds: 330,
        max_attempts: 6,
        attempt_count: 0,
        delivery_attempts: 0,
        stale_count: 0,
        next_retry_at: at(0),
        deadline_at: at(1_000_000),
        started_at: None,
        first_started_at: None,
        completed_at: None,
        last_error: None,
        last_error_class: None,
        last_retry_decision: None,
        lease_token: None,
        lease_expires_at: None,
        heartbeat_at: None,
        worker_id: None,
        cancel_requested_at: None,
        requeue_count: 0,
        requeue_tries: 0,
        dispatch_no: 0,
        answer: None,
        created_at: at(0),
        updated_at: at(0),
    }
}

/// Stores a job and gives it back as it stands in the database.
pub(crate) async fn stored(store: &Store, job: &Job) -> Job {
    let id = write(store, async |tx| insert(tx, job).await)
        .await
        .unwrap()
        .unwrap();
    read(store, async |db| find(db, id).await).await.unwrap()
}

fn stored_as(job: &Job, id: JobId) -> Job {
    Job { id, ..job.clone() }
}

pub(crate) async fn take(
    store: &Store,
    id: JobId,
    dispatch: Option<i64>,
    now: Timestamp,
) -> Option<Job> {
    let token = format!("token-{}", now.millis());
    let lease = Lease {
        token: &token,
        worker: "me",
        now,
        until: now.plus_millis(100),
    };
    write(store, async |tx| claim(tx, id, dispatch, &lease).await)
        .await
        .unwrap()
}

async fn claimable(store: &Store, now: Timestamp, age_ms: i64, limit: i64) -> Vec<JobId> {
    write(store, async |tx| {
        next_claimable(tx, now, age_ms, limit).await
    })
    .await
    .unwrap()
    .into_iter()
    .map(|job| job.id)
    .collect()
}

async fn save(store: &Store, job: &Job, was: JobStatus, token: Option<&str>) -> Write {
    write(store, async |tx| update(tx, job, was, token).await)
        .await
        .unwrap()
}

store::on_both_engines! {
    async fn a_job_is_read_as_it_was_stored(db: TestDb) {
        let mut new = job("u", "aij_1");
        new.unique_key = Some("k".to_owned());
        let kept = stored(&db.store, &new).await;
        assert!(kept.id > JobId::none());
        new.id = kept.id;
        assert_eq!(kept, new);
        assert_eq!(read(&db.store, async |db| find_by_correlation(db, "aij_1").await).await, Some(kept.clone()));
        assert_eq!(read(&db.store, async |db| find_by_unique_key(db, "k").await).await, Some(kept));
        assert_eq!(read(&db.store, async |db| find(db, JobId(99)).await).await, None);
        assert_eq!(read(&db.store, async |db| find_by_correlation(db, "aij_2").await).await, None);
        assert_eq!(read(&db.store, async |db| find_by_unique_key(db, "l").await).await, None);
        let mut bare = job("u", "aij_2");
        bare.history.clear();
        bare.managed_guilds.clear();
        bare.provider_chain.clear();
        (bare.selected_guild, bare.user_name, bare.guild_id) = (None, None, None);
        let kept = stored(&db.store, &bare).await;
        bare.id = kept.id;
        assert_eq!(kept, bare);
    }

    async fn a_message_has_one_job_for_as_long_as_that_is_kept(db: TestDb) {
        let mut first = job("u", "aij_1");
        first.unique_key = Some("k".to_owned());
        let mut kept = stored(&db.store, &first).await;
        let second = Job { correlation_id: "aij_2".to_owned(), ..first.clone() };
        assert_eq!(write(&db.store, async |tx| insert(tx, &second).await).await.unwrap(), None);
        kept.status = JobStatus::Canceled;
        assert_eq!(save(&db.store, &kept, JobStatus::Pending, None).await, Write::Changed);
        assert_eq!(write(&db.store, async |tx| insert(tx, &second).await).await.unwrap(), None);
        assert_eq!(count(&db.store, "ai_jobs").await, 1);
    }

    async fn a_claim_is_won_once_and_counted(db: TestDb) {
        let kept = stored(&db.store, &job("u", "aij_1")).await;
        let taken = take(&db.store, kept.id, None, at(5)).await.unwrap();
        assert_eq!(taken.status, JobStatus::Running);
        assert_eq!((taken.attempt_count, taken.started_at, taken.first_started_at), (1, Some(at(5)), Some(at(5))));
        assert_eq!((taken.lease_expires_at, taken.worker_id.as_deref()), (Some(at(105)), Some("me")));
        assert_eq!(take(&db.store, kept.id, None, at(6)).await, None);
        assert_eq!(read(&db.store, async |db| held_by(db, "me").await).await, [taken]);
        assert!(read(&db.store, async |db| held_by(db, "you").await).await.is_empty());
    }

    async fn only_what_may_be_claimed_is(db: TestDb) {
        let later = stored(&db.store, &Job { next_retry_at: at(50), ..job("u", "aij_1") }).await;
        assert_eq!(take(&db.store, later.id, None, at(49)).await, None);
        assert_eq!(take(&db.store, later.id, Some(0), at(49)).await, None);
        let mut hinted = later.clone();
        hinted.dispatch_no = 3;
        assert_eq!(save(&db.store, &hinted, JobStatus::Pending, None).await, Write::Changed);
        assert_eq!(take(&db.store, later.id, Some(2), at(49)).await, None);
        assert!(take(&db.store, later.id, Some(3), at(49)).await.is_some());
        // One running job a user.
        let other = stored(&db.store, &job("u", "aij_2")).await;
        assert_eq!(take(&db.store, other.id, None, at(60)).await, None);
        assert!(claimable(&db.store, at(60), 1_000, 10).await.is_empty());
        let late = stored(&db.store, &Job { deadline_at: at(10), ..job("v", "aij_3") }).await;
        assert_eq!(take(&db.store, late.id, None, at(10)).await, None);
        let mut used = stored(&db.store, &job("w", "aij_4")).await;
        used.attempt_count = used.max_attempts;
        assert_eq!(save(&db.store, &used, JobStatus::Pending, None).await, Write::Changed);
        assert_eq!(take(&db.store, used.id, None, at(60)).await, None);
        assert_eq!(take(&db.store, JobId(999), None, at(60)).await, None);
    }

    async fn claims_go_by_priority_then_age_and_nobody_starves(db: TestDb) {
        let add = async |user: &str, priority, due| {
            let new = Job { priority, next_retry_at: at(due), ..job(user, &format!("aij_{user}")) };
            stored(&db.store, &new).await.id
        };
        let (batch, second, first, not_yet) =
            (add("a", 5, 0).await, add("b", 1, 90).await, add("c", 1, 80).await, add("d", 0, 101).await);
        assert_eq!(claimable(&db.store, at(100), 1_000, 10).await, [first, second, batch]);
        assert_eq!(claimable(&db.store, at(100), 1_000, 1).await, [first]);
        // A step of priority for each 20 ms: four steps are made up for by 80 ms.
        assert_eq!(claimable(&db.store, at(100), 20, 10).await, [batch, first, second]);
        assert_eq!(claimable(&db.store, at(101), 1_000, 1).await, [not_yet]);
        assert!(claimable(&db.store, at(-1), 1_000, 10).await.is_empty());
    }

    async fn of_many_claims_at_once_one_wins(db: TestDb) {
        let kept = stored(&db.store, &job("u", "aij_1")).await;
        let claims = (0..50).map(|n| {
            let store = db.store.clone();
            tokio::spawn(async move { take(&store, kept.id, None, at(n)).await.is_some() })
        });
        let mut won = 0;
        for claim in claims.collect::<Vec<_>>() {
            won += u32::from(claim.await.unwrap());
        }
        assert_eq!(won, 1);
        let row = read(&db.store, async |db| find(db, kept.id).await).await.unwrap();
        assert_eq!(row.attempt_count, 1);
    }

    async fn a_write_needs_the_status_and_the_token(db: TestDb) {
        let kept = stored(&db.store, &job("u", "aij_1")).await;
        let running = take(&db.store, kept.id, None, at(5)).await.unwrap();
        let token = running.lease_token.clone();
        let mut ended = running.clone();
        ended.status = JobStatus::Completed;
        (ended.lease_token, ended.lease_expires_at, ended.worker_id) = (None, None, None);
        ended.phase = Phase::Deliver;
        ended.answer = Some(Answer {
            text: UNICODE.to_owned(),
            tools_used: vec!["t".to_owned()],
            action_not_performed: true,
            pending_confirmation: Some(PendingConfirmation {
                id: Some(1),
                preview_tool: "preview_x".to_owned(),
                confirmation_tool: Some("confirm_x".to_owned()),
                arguments: json!({"a": UNICODE}),
                summary: None,
            }),
            usage: Usage { input_tokens: 7, ..Usage::default() },
        });
        ended.last_error = Some(UNICODE.to_owned());
        ended.last_error_class = Some(ErrorClass::ToolSchema);
        ended.last_retry_decision = Some(json!({"retry": false}));
        ended.completed_at = Some(at(9));
        (ended.requeue_count, ended.requeue_tries, ended.dispatch_no) = (1, 2, 3);
        (ended.stale_count, ended.delivery_attempts) = (4, 5);
        for (was, token) in [
            (JobStatus::Running, None),
            (JobStatus::Running, Some("other")),
            (JobStatus::Pending, token.as_deref()),
            (JobStatus::Pending, None),
        ] {
            assert_eq!(save(&db.store, &ended, was, token).await, Write::Stale);
        }
        assert_eq!(read(&db.store, async |db| find(db, kept.id).await).await, Some(running));
        assert_eq!(save(&db.store, &ended, JobStatus::Running, token.as_deref()).await, Write::Changed);
        ended.updated_at = at(5);
        let row = read(&db.store, async |db| find(db, kept.id).await).await.unwrap();
        assert_eq!(row, ended);
        assert_eq!(save(&db.store, &ended, JobStatus::Running, token.as_deref()).await, Write::Stale);
    }

    async fn a_lease_is_renewed_by_its_holder_alone(db: TestDb) {
        let kept = stored(&db.store, &job("u", "aij_1")).await;
        let mut running = take(&db.store, kept.id, None, at(0)).await.unwrap();
        let token = running.lease_token.clone().unwrap();
        let beat = async |token: &str, now| {
            write(&db.store, async |tx| renew(tx, kept.id, token, at(now), at(now + 100)).await).await.unwrap()
        };
        assert_eq!(beat("other", 10).await, None);
        assert!(read(&db.store, async |db| expired(db, at(99), 10).await).await.is_empty());
        assert_eq!(read(&db.store, async |db| expired(db, at(100), 10).await).await.len(), 1);
        assert_eq!(beat(&token, 50).await, Some(false));
        assert!(read(&db.store, async |db| expired(db, at(149), 10).await).await.is_empty());
        running.cancel_requested_at = Some(at(60));
        running.lease_expires_at = Some(at(150));
        assert_eq!(save(&db.store, &running, JobStatus::Running, Some(&token)).await, Write::Changed);
        assert_eq!(beat(&token, 60).await, Some(true));
        assert_eq!(read(&db.store, async |db| to_cancel(db, "me").await).await, [kept.id]);
        assert!(read(&db.store, async |db| to_cancel(db, "you").await).await.is_empty());
    }

    async fn what_comes_next_is_known(db: TestDb) {
        let next = async |now| read(&db.store, async |db| next_due(db, at(now)).await).await;
        assert_eq!(next(0).await, None);
        let first = stored(&db.store, &job("u", "aij_1")).await;
        let second = stored(&db.store, &Job { next_retry_at: at(70), ..job("u", "aij_2") }).await;
        assert_eq!(next(0).await, Some(at(70)));
        assert_eq!(read(&db.store, async |db| due(db, at(70), 10).await).await, [first.clone(), second]);
        assert_eq!(read(&db.store, async |db| due(db, at(69), 10).await).await, std::slice::from_ref(&first));
        assert_eq!(read(&db.store, async |db| due(db, at(70), 1).await).await, std::slice::from_ref(&first));
        take(&db.store, first.id, None, at(10)).await.unwrap();
        assert_eq!(next(100).await, Some(at(110)));
    }

    async fn what_is_long_over_is_emptied_and_then_removed(db: TestDb) {
        let mut ended = stored(&db.store, &job("u", "aij_1")).await;
        ended.status = JobStatus::Completed;
        ended.answer = Some(Answer { text: "secret".to_owned(), ..Answer::default() });
        assert_eq!(save(&db.store, &ended, JobStatus::Pending, None).await, Write::Changed);
        let waiting = stored(&db.store, &job("v", "aij_2")).await;
        let empty = async |before| write(&db.store, async |tx| redact(tx, at(before), at(500), 10).await).await.unwrap();
        assert_eq!(empty(0).await, 0);
        assert_eq!(empty(1).await, 1);
        assert_eq!(empty(1).await, 0);
        let row = read(&db.store, async |db| find(db, ended.id).await).await.unwrap();
        assert_eq!((row.request_text.as_str(), row.history.len()), ("", 0));
        assert_eq!(row.answer.unwrap().text, "");
        for id in [ended.id, waiting.id] {
            let entry = NewJobEvent::new(JobEventType::Queued, "test");
            write(&db.store, async |tx| store::job_events::append(tx, id, &entry, at(1)).await).await.unwrap();
        }
        let drop = async |status, before| {
            write(&db.store, async |tx| prune(tx, status, at(before), 10).await).await.unwrap()
        };
        assert_eq!(drop(JobStatus::Canceled, 1).await, 0);
        assert_eq!(drop(JobStatus::Completed, 0).await, 0);
        assert_eq!(drop(JobStatus::Completed, 1).await, 1);
        assert_eq!(count(&db.store, &format!("ai_job_events where job_id = {}", waiting.id)).await, 1);
        assert_eq!(count(&db.store, "ai_job_events").await, 1, "a timeline goes with its job");
        assert_eq!(read(&db.store, async |db| find(db, waiting.id).await).await, Some(waiting));
        assert_eq!(count(&db.store, "ai_jobs").await, 1);
    }

    async fn the_schema_holds_a_second_time(db: TestDb) {
        let kept = stored(&db.store, &job("u", "aij_1")).await;
        let other = stored(&db.store, &job("u", "aij_2")).await;
        take(&db.store, kept.id, None, at(5)).await.unwrap();
        for sql in [
            format!("update ai_jobs set status = 'running', lease_token = 't', lease_expires_at = 1 where id = {}", other.id),
            format!("update ai_jobs set status = 'running' where id = {}", other.id),
            format!("update ai_jobs set status = 'other' where id = {}", other.id),
            format!("update ai_jobs set status = 'pending' where id = {}", kept.id),
            format!("update ai_jobs set phase = 'deliver' where id = {}", other.id),
            format!("update ai_jobs set correlation_id = 'aij_1' where id = {}", other.id),
            format!("update ai_jobs set timeout_seconds = 29 where id = {}", other.id),
            format!("update ai_jobs set max_attempts = 21 where id = {}", other.id),
            format!("update ai_jobs set priority = 10 where id = {}", other.id),
        ] {
            assert!(execute(&db.store, &sql).await.is_err(), "{sql}");
        }
    }

    async fn what_was_hinted_at_and_not_taken_is_found_again(db: TestDb) {
        let mut ids = Vec::new();
        // Hinted at; never hinted at; due again already; taken.
        for (n, (tries, due)) in [(1, 60), (0, 60), (1, 0), (1, 60)].into_iter().enumerate() {
            let id = stored(&db.store, &job(&format!("u{n}"), &format!("aij_{n}"))).await.id;
            let due = at(due).millis();
            let sql = format!("update ai_jobs set requeue_tries = {tries}, next_retry_at = {due} where id = {id}");
            execute(&db.store, &sql).await.unwrap();
            ids.push(id);
        }
        take(&db.store, ids[3], None, at(60)).await.unwrap();
        let found = async |limit| {
            let rows = read(&db.store, async |db| dispatched(db, at(1), limit).await).await;
            rows.into_iter().map(|job| job.id).collect::<Vec<_>>()
        };
        assert_eq!((found(9).await, found(0).await), (vec![ids[0]], vec![]));
    }

    async fn many_are_stored_taken_and_ended_by_one_statement_each(db: TestDb) {
        let keyed = |user: &str, correlation: &str, key: &str| Job { unique_key: Some(key.to_owned()), ..job(user, correlation) };
        let new = [keyed("u", "aij_1", "k"), job("v", "aij_2"), keyed("w", "aij_3", "k"), job("x", "aij_4")];
        let ids = write(&db.store, async |tx| insert_all(tx, &new).await).await.unwrap();
        assert_eq!(ids.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false, true]);
        let ids: Vec<JobId> = ids.into_iter().flatten().collect();
        assert!(ids.is_sorted());
        let kept = read(&db.store, async |db| find(db, ids[1]).await).await.unwrap();
        assert_eq!(kept, stored_as(&new[1], ids[1]));
        let is_due = async |now| read(&db.store, async |db| any_due(db, now).await).await;
        assert_eq!((is_due(at(-1)).await, is_due(at(0)).await), (false, true));

        // The second is another's already.
        take(&db.store, ids[1], None, at(1)).await.unwrap();
        let lease = Lease { token: "t", worker: "me", now: at(2), until: at(9) };
        let taken = write(&db.store, async |tx| claim_all(tx, &ids, &lease).await).await.unwrap();
        let mut got: Vec<_> = taken.iter().map(|job| (job.id, job.attempt_count, job.lease_token.as_deref())).collect();
        got.sort_unstable();
        assert_eq!(got, [(ids[0], 1, Some("t")), (ids[2], 1, Some("t"))]);
        assert!(!is_due(at(2)).await);

        let runs = [(ids[0], "t"), (ids[1], "t"), (ids[2], "another")];
        let ended = write(&db.store, async |tx| end_runs(tx, &runs, JobStatus::Completed, at(3)).await).await.unwrap();
        assert_eq!(ended, [ids[0]]);
        let row = read(&db.store, async |db| find(db, ids[0]).await).await.unwrap();
        assert_eq!((row.status, row.completed_at, row.lease_token, row.worker_id), (JobStatus::Completed, Some(at(3)), None, None));
        for id in &ids[1..] {
            let row = read(&db.store, async |db| find(db, *id).await).await.unwrap();
            assert_eq!(row.status, JobStatus::Running);
        }
    }

    async fn no_claim_looks_through_the_backlog(db: TestDb) {
        if db.engine() == Engine::Sqlite {
            let sql = claimable_sql(Engine::Sqlite);
            let plan = rows(&db.store, &format!("explain query plan {sql}").replace("$1", "1").replace("$2", "1").replace("$3", "1")).await;
            let text = plan.iter().map(|row| row.join(" ")).collect::<Vec<_>>().join("\n");
            let claims = text.matches("SEARCH ai_jobs USING INDEX ai_jobs_claim (priority=? AND next_retry_at<?)").count()
                + text.matches("SEARCH ai_jobs USING COVERING INDEX ai_jobs_claim (priority=? AND next_retry_at<?)").count();
            assert_eq!(claims, 10, "{text}");
            assert!(!text.contains("SCAN ai_jobs"), "{text}");
            assert!(text.contains("ai_jobs_running_user"), "{text}");
            for sql in [ANY_DUE, NEXT_DUE, TO_CANCEL, &claim_all_sql(Engine::Sqlite), &end_runs_sql(Engine::Sqlite)] {
                let sql = (1..=6).fold(sql.to_owned(), |sql, n| sql.replace(&format!("${n}"), "'[]'"));
                let plan = rows(&db.store, &format!("explain query plan {sql}")).await;
                let text = plan.iter().map(|row| row.join(" ")).collect::<Vec<_>>().join("\n");
                let whole = text.lines().any(|line| line.ends_with("SCAN ai_jobs"));
                assert!(!whole && !text.contains("ai_jobs_ended"), "{sql}\n{text}");
            }
            return;
        }
        let fill = "insert into ai_jobs (correlation_id, source, user_id, request_text, response_target_json, queue, priority, \
             next_retry_at, deadline_at, created_at, updated_at) select 'aij_' || n, 's', 'u' || n, 't', '{}', 'dm', n % 3, n, 1, 1, 1 \
             from generate_series(1, 20000) n";
        execute(&db.store, fill).await.unwrap();
        execute(&db.store, "analyze ai_jobs").await.unwrap();
        let sql = claimable_sql(Engine::Postgres).replace("$1", "30000").replace("$2", "1").replace("$3", "1");
        let mut tx = db.store.write().await.unwrap();
        let plan = tx.fetch_raw(&format!("explain {sql}")).await.unwrap();
        let text = plan.iter().flatten().flatten().cloned().collect::<HashSet<_>>();
        assert!(text.iter().any(|line| line.contains("ai_jobs_claim")), "{text:?}");
        assert!(!text.iter().any(|line| line.contains("Seq Scan on ai_jobs")), "{text:?}");
    }
}
