//! Questions of agents to the operator.

use crate::row::{Columns, flag, opt, opt_millis, opt_text, text, to_json};
use crate::rows::places;
use crate::{Result, Snapshot, Tx, Write};
use domain::clarification::{Claim, Clarification, ClarificationStatus, Cursor};
use domain::ids::{ClarificationId, PromptId, SessionId, TaskId, TurnId, WorkspaceId};
use domain::time::Timestamp;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

const COLUMNS: &str = "id, task_id, session_id, turn_id, request_key, questions, context, status, agent_disconnected, response, \
                       claim_prompt_id, claim_holder, claim_until, created_at, resolved_at";

fn read(row: &AnyRow) -> Result<Clarification> {
    let claim = match (
        row.opt_id("claim_prompt_id")?,
        row.opt_text("claim_holder")?,
        row.opt_time("claim_until")?,
    ) {
        (Some(prompt), Some(holder), Some(until)) => Some(Claim {
            prompt,
            holder,
            until,
        }),
        _ => None,
    };
    Ok(Clarification {
        id: row.id("id")?,
        task_id: row.id("task_id")?,
        session_id: row.id("session_id")?,
        turn_id: row.opt_id("turn_id")?,
        request_key: row.text("request_key")?,
        questions: row.json("questions")?,
        context: row.opt_text("context")?,
        status: row.word("status", ClarificationStatus::parse)?,
        agent_disconnected: row.flag("agent_disconnected")?,
        response: row.opt_json("response")?,
        claim,
        created_at: row.time("created_at")?,
        resolved_at: row.opt_time("resolved_at")?,
    })
}

/// Adds a bundle. A second open one of the same call is [`crate::StoreError::Unique`].
pub async fn insert(tx: &mut Tx, bundle: &Clarification) -> Result<()> {
    sqlx::query(AssertSqlSafe(format!(
        "insert into operator_questions ({COLUMNS}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, \
         $13, $14, $15)"
    )))
    .bind(bundle.id.to_string())
    .bind(bundle.task_id.to_string())
    .bind(bundle.session_id.to_string())
    .bind(opt(bundle.turn_id.as_ref()))
    .bind(text(&bundle.request_key))
    .bind(to_json("questions", &bundle.questions)?)
    .bind(opt_text(bundle.context.as_deref()))
    .bind(bundle.status.as_str())
    .bind(flag(bundle.agent_disconnected))
    .bind(bundle.response.as_ref().map(|r| to_json("response", r)).transpose()?)
    .bind(opt(bundle.claim.as_ref().map(|c| &c.prompt)))
    .bind(bundle.claim.as_ref().map(|c| text(&c.holder)))
    .bind(opt_millis(bundle.claim.as_ref().map(|c| c.until)))
    .bind(bundle.created_at.millis())
    .bind(opt_millis(bundle.resolved_at))
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// Writes where a bundle stands, its response and its claim, if it still stands where it was read. Of any number of attempts from
/// one status exactly one is [`Write::Changed`].
pub async fn update_if(
    tx: &mut Tx,
    bundle: &Clarification,
    before: ClarificationStatus,
) -> Result<Write> {
    let done = sqlx::query(
        "update operator_questions set status = $1, response = $2, resolved_at = $3, claim_prompt_id = $4, claim_holder = $5, \
         claim_until = $6 where id = $7 and status = $8",
    )
    .bind(bundle.status.as_str())
    .bind(bundle.response.as_ref().map(|r| to_json("response", r)).transpose()?)
    .bind(opt_millis(bundle.resolved_at))
    .bind(opt(bundle.claim.as_ref().map(|c| &c.prompt)))
    .bind(bundle.claim.as_ref().map(|c| text(&c.holder)))
    .bind(opt_millis(bundle.claim.as_ref().map(|c| c.until)))
    .bind(bundle.id.to_string())
    .bind(before.as_str())
    .execute(tx.connection())
    .await?;
    Ok(Write::from_rows(done.rows_affected()))
}

/// Notes whether an agent waits for the answer; answers whether that changed anything.
pub async fn set_disconnected(
    tx: &mut Tx,
    id: ClarificationId,
    disconnected: bool,
) -> Result<bool> {
    let done = sqlx::query(
        "update operator_questions set agent_disconnected = $1 \
         where id = $2 and status = 'pending' and agent_disconnected <> $1",
    )
    .bind(flag(disconnected))
    .bind(id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Notes that nobody waits any more for what the session's turn `turn` asked: one statement, which gives the bundles that it
/// changed. Doing it again changes none.
pub async fn detach(tx: &mut Tx, session: SessionId, turn: TurnId) -> Result<Vec<ClarificationId>> {
    sqlx::query(
        "update operator_questions set agent_disconnected = 1 \
         where session_id = $1 and turn_id = $2 and status = 'pending' and agent_disconnected = 0 returning id",
    )
    .bind(session.to_string())
    .bind(turn.to_string())
    .fetch_all(tx.connection())
    .await?
    .iter()
    .map(|row| row.id("id"))
    .collect()
}

/// One bundle.
pub async fn find(db: &mut Snapshot, id: ClarificationId) -> Result<Option<Clarification>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from operator_questions where id = $1"
    )))
    .bind(id.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// The bundle whose answer this prompt carries, while it is on its way.
pub async fn claimed_by(db: &mut Snapshot, prompt: PromptId) -> Result<Option<Clarification>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from operator_questions where claim_until is not null and claim_prompt_id = $1"
    )))
    .bind(prompt.to_string())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(read)
    .transpose()
}

/// Bundles whose answer is on its way and that nobody sees through any more: those of `holder`, which has just started, and
/// those whose time is over.
pub async fn abandoned(
    db: &mut Snapshot,
    holder: Option<&str>,
    now: Timestamp,
) -> Result<Vec<Clarification>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from operator_questions where claim_until is not null and (claim_holder = $1 or claim_until < $2) \
         order by id"
    )))
    .bind(holder)
    .bind(now.millis())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// The open bundles of all tasks, oldest first, at most `limit`.
pub async fn open_of_all(db: &mut Snapshot, limit: i64) -> Result<Vec<Clarification>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from operator_questions where resolved_at is null order by created_at, id limit $1"
    )))
    .bind(limit)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}

/// Which pending bundles [`pending_page`] gives.
#[derive(Debug, Clone, Default)]
pub struct PendingFilter {
    /// Of these workspaces; of all when left out.
    pub workspaces: Option<Vec<WorkspaceId>>,
    /// Asked at this moment or later.
    pub since: Option<Timestamp>,
    /// After this one.
    pub after: Option<Cursor>,
    /// At most so many.
    pub limit: i64,
}

/// Bundles that nobody has answered or begun to, oldest first.
pub async fn pending_page(db: &mut Snapshot, filter: &PendingFilter) -> Result<Vec<Clarification>> {
    let within = match &filter.workspaces {
        None => String::new(),
        Some(none) if none.is_empty() => return Ok(Vec::new()),
        Some(some) => {
            format!(
                " and task_id in (select id from tasks where workspace_id in ({}))",
                places(5, some.len())
            )
        }
    };
    // From before all times where nothing is said: an absent number has no type of its own.
    let since = filter.since.map_or(i64::MIN, Timestamp::millis);
    let (at, id) = filter.after.map_or_else(
        || (i64::MIN, String::new()),
        |after| (after.at.millis(), after.id.to_string()),
    );
    let mut query = sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from operator_questions where status = 'pending' and resolved_at is null and created_at >= $1 \
         and (created_at > $2 or (created_at = $2 and id > $3)){within} order by created_at, id limit $4"
    )))
    .bind(since)
    .bind(at)
    .bind(id)
    .bind(filter.limit);
    for workspace in filter.workspaces.iter().flatten() {
        query = query.bind(workspace.to_string());
    }
    query
        .fetch_all(db.connection())
        .await?
        .iter()
        .map(read)
        .collect()
}

/// The open bundles of a session, oldest first.
pub async fn open_of_session(db: &mut Snapshot, session: SessionId) -> Result<Vec<Clarification>> {
    open(db, "session_id", session.to_string()).await
}

/// The open bundles of a task, oldest first.
pub async fn open_of_task(db: &mut Snapshot, task: TaskId) -> Result<Vec<Clarification>> {
    open(db, "task_id", task.to_string()).await
}

async fn open(db: &mut Snapshot, column: &str, key: String) -> Result<Vec<Clarification>> {
    sqlx::query(AssertSqlSafe(format!(
        "select {COLUMNS} from operator_questions where {column} = $1 and resolved_at is null order by created_at, id"
    )))
    .bind(key)
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(read)
    .collect()
}
