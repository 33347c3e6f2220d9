//! Follow-ups of transitions and their leases.

use crate::row::{Columns, opt};
use crate::{Engine, Result, Snapshot, Tx, Write};
use domain::effect::{Effect, EffectKind};
use domain::ids::{EffectId, SessionId, TaskId};
use domain::time::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const COLUMNS: &str = "id, kind, task_id, session_id, subject_id, attempt, run_after";

fn read(row: &AnyRow) -> Result<Effect> {
    Ok(Effect {
        id: row.id("id")?,
        kind: row.word("kind", EffectKind::parse)?,
        task_id: row.id("task_id")?,
        session_id: row.id("session_id")?,
        subject_id: row.opt_text("subject_id")?,
        attempt: row.int("attempt")?,
        run_after: row.time("run_after")?,
    })
}

/// Adds a follow-up. A like one that nobody has begun with stands for both; the earlier time of the two holds.
pub async fn insert(
    tx: &mut Tx,
    kind: EffectKind,
    task: TaskId,
    session: SessionId,
    subject: Option<&str>,
    run_after: Timestamp,
) -> Result<()> {
    sqlx::query(match tx.engine() {
        // SQLite's `min` of several values is Postgres' `least`.
        Engine::Sqlite => {
            "insert into effects (id, kind, task_id, session_id, subject_id, run_after, created_at) \
             values ($1, $2, $3, $4, $5, $6, $6) \
             on conflict (session_id, kind, coalesce(subject_id, '')) where holder is null \
             do update set run_after = min(effects.run_after, excluded.run_after)"
        }
        Engine::Postgres => {
            "insert into effects (id, kind, task_id, session_id, subject_id, run_after, created_at) \
             values ($1, $2, $3, $4, $5, $6, $6) \
             on conflict (session_id, kind, coalesce(subject_id, '')) where holder is null \
             do update set run_after = least(effects.run_after, excluded.run_after)"
        }
    })
    .bind(EffectId::new().to_string())
    .bind(kind.as_str())
    .bind(task.to_string())
    .bind(session.to_string())
    .bind(subject)
    .bind(run_after.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Takes up to `limit` due follow-ups, also those whose former holder let its lease run out; what was due first comes first.
/// Those of sessions that another holder has are left to it: its agents are where they can be carried out.
pub async fn claim(
    tx: &mut Tx,
    holder: &str,
    now: Timestamp,
    lease_until: Timestamp,
    limit: i64,
) -> Result<Vec<Effect>> {
    let mut claimed = sqlx::query(AssertSqlSafe(format!(
        "update effects set holder = $1, lease_until = $2, attempt = attempt + 1 where id in (\
             select id from effects where run_after <= $3 and (holder is null or lease_until < $3) \
             and not exists (select 1 from sessions s where s.id = effects.session_id and s.holder <> $1 \
             and s.lease_until >= $3) \
             order by run_after, id limit $4) \
         returning {COLUMNS}"
    )))
    .bind(holder)
    .bind(lease_until.millis())
    .bind(now.millis())
    .bind(limit)
    .fetch_all(tx.connection())
    .await?
    .iter()
    .map(read)
    .collect::<Result<Vec<_>>>()?;
    // Neither engine promises an order of what `returning` gives. An agent that is to end does so before its session's next
    // prompt is looked for, also when both were put back and have lost their order.
    claimed.sort_by_key(|effect| {
        (
            effect.kind != EffectKind::StopProcess,
            effect.run_after,
            effect.id,
        )
    });
    Ok(claimed)
}

/// Removes a follow-up that was carried out, if it is still held in this attempt.
pub async fn finish_if_held(tx: &mut Tx, effect: &Effect, holder: &str) -> Result<Write> {
    let done = sqlx::query("delete from effects where id = $1 and holder = $2 and attempt = $3")
        .bind(effect.id.to_string())
        .bind(holder)
        .bind(effect.attempt)
        .execute(tx.connection())
        .await?;
    Ok(Write::from_rows(done.rows_affected()))
}

/// Puts a follow-up back for a later time, if it is still held in this attempt. When a like one waits already, that one serves.
pub async fn release_if_held(
    tx: &mut Tx,
    effect: &Effect,
    holder: &str,
    run_after: Timestamp,
) -> Result<Write> {
    let write = finish_if_held(tx, effect, holder).await?;
    if write == Write::Changed {
        insert(
            tx,
            effect.kind,
            effect.task_id,
            effect.session_id,
            effect.subject_id.as_deref(),
            run_after,
        )
        .await?;
        sqlx::query(
            "update effects set attempt = $1 where session_id = $2 and kind = $3 and coalesce(subject_id, '') = $4 \
             and holder is null and attempt < $1",
        )
        .bind(effect.attempt)
        .bind(effect.session_id.to_string())
        .bind(effect.kind.as_str())
        .bind(effect.subject_id.clone().unwrap_or_default())
        .execute(tx.connection())
        .await?;
    }
    Ok(write)
}

/// Removes follow-ups of a kind for a session; those that somebody has begun with too.
pub async fn delete(
    tx: &mut Tx,
    kind: EffectKind,
    session: SessionId,
    subject: Option<&str>,
) -> Result<()> {
    sqlx::query(
        "delete from effects where session_id = $1 and kind = $2 and coalesce(subject_id, '') = $3",
    )
    .bind(session.to_string())
    .bind(kind.as_str())
    .bind(opt(subject.as_ref()).unwrap_or_default())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Drops the leases of a holder that has just started: what it held before, it no longer works on.
pub async fn release_all(tx: &mut Tx, holder: &str) -> Result<u64> {
    // Where a like follow-up waits, the held one is dropped, else it waits again.
    sqlx::query(
        "delete from effects where holder = $1 and exists (select 1 from effects w where w.holder is null \
         and w.session_id = effects.session_id and w.kind = effects.kind \
         and coalesce(w.subject_id, '') = coalesce(effects.subject_id, ''))",
    )
    .bind(holder)
    .execute(tx.connection())
    .await?;
    let done = sqlx::query("update effects set lease_until = 0 where holder = $1")
        .bind(holder)
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected())
}

/// When the next follow-up is due, or a lease runs out.
pub async fn next_due(db: &mut Snapshot) -> Result<Option<Timestamp>> {
    let row = sqlx::query(match db.engine() {
        Engine::Sqlite => {
            "select min(case when holder is null then run_after else max(run_after, lease_until + 1) end) as due from effects"
        }
        Engine::Postgres => {
            "select min(case when holder is null then run_after else greatest(run_after, lease_until + 1) end) as due \
             from effects"
        }
    })
    .fetch_one(db.connection())
    .await?;
    row.opt_time("due")
}

/// As [`next_due`], for one holder: what belongs to a session of another holder is due when that one's lease is over.
pub async fn next_due_for(db: &mut Snapshot, holder: &str) -> Result<Option<Timestamp>> {
    let row = sqlx::query(match db.engine() {
        Engine::Sqlite => {
            "select min(case when s.id is null then e.due else max(e.due, coalesce(s.lease_until + 1, 0)) end) as due from (\
                 select session_id, \
                 case when holder is null then run_after else max(run_after, lease_until + 1) end as due from effects) e \
             left join sessions s on s.id = e.session_id and s.holder <> $1"
        }
        Engine::Postgres => {
            "select min(case when s.id is null then e.due else greatest(e.due, coalesce(s.lease_until + 1, 0)) end) as due from (\
                 select session_id, \
                 case when holder is null then run_after else greatest(run_after, lease_until + 1) end as due from effects) e \
             left join sessions s on s.id = e.session_id and s.holder <> $1"
        }
    })
    .bind(holder)
    .fetch_one(db.connection())
    .await?;
    row.opt_time("due")
}
