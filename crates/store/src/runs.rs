//! Runs of outside clients: their rows, and in the same statement what is known of their sessions, so that a list of any length
//! costs one.

use crate::row::{Columns, opt_millis, opt_text, text};
use crate::{Result, Snapshot, Tx, Write};
use domain::ids::{PromptId, RunId, SessionId, TokenId};
use domain::message::MessageType;
use domain::run::ask::Asked;
use domain::run::standing::Facts;
use domain::run::view::{Artifacts, LogEntry, MAX_ARTIFACTS, MAX_COMMAND, MAX_LOGS, Seen, Update};
use domain::run::{ErrorCategory, Fault, Run, RunEnd, RunStatus, TerminalReason, cut};
use domain::session::SessionState;
use domain::time::Timestamp;
use domain::turn::TurnState;
use serde_json::Value;
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::collections::HashMap;

/// Messages of an agent that are worth telling: what it said, did, asked and failed at; not what it thought.
const TELLING: &str = "('message', 'tool_call', 'tool_edit', 'tool_read', 'tool_execute', 'progress', 'error', 'status', \
                       'permission_request', 'clarification_request', 'agent_plan', 'todo')";

/// Bytes of a message that a log or an update needs at most.
const EXCERPT: usize = 1_200;

/// A run and what is known of its session.
const COLUMNS: &str = "r.id, r.token_id, r.task_id, r.session_id, r.agent, r.from_seq, r.poll_count, r.last_polled_at, r.revision, \
    r.outcome, r.reason, r.summary, r.error_category, r.error_message, r.to_seq, r.started_at, r.ended_at, r.retrieved_at, r.created_at, \
    s.state as session_state, s.auto_run, s.lease_until, t.archived_at, t.wip_admitted, t.queued_for_step_id, \
    (select count(*) from turns x where x.session_id = r.session_id and x.completed_at is null) as open_turns, \
    (select count(*) from queued_messages x where x.session_id = r.session_id) as prompts, \
    (select count(*) from queued_messages x where x.session_id = r.session_id and x.lane = 'express') as express, \
    (select count(*) from permissions x where x.session_id = r.session_id and x.status = 'pending') as permissions, \
    (select count(*) from operator_questions x where x.session_id = r.session_id and x.resolved_at is null \
        and x.status = 'pending') as questions, \
    (select count(*) from operator_questions x where x.session_id = r.session_id and x.resolved_at is null \
        and x.status = 'responding') as answers, \
    (select count(*) from parent_questions x where x.child_session_id = r.session_id and x.status = 'pending') \
        as parent_questions, \
    (select count(*) from deferred_launches x where x.task_id = r.task_id) as starts, \
    (select count(*) from task_dependencies e join tasks p on p.id = e.depends_on_task_id \
        where e.task_id = r.task_id and p.state <> 'COMPLETED') as blockers, \
    (select x.state from turns x where x.session_id = r.session_id and x.generation > r.from_generation \
        order by x.generation desc, x.started_at desc limit 1) as last_turn, \
    (select min(x.started_at) from turns x where x.session_id = r.session_id and x.generation > r.from_generation) \
        as first_started_at, \
    m.message_type, substr(m.content, 1, 1200) as excerpt, m.updated_at as said_at, \
    case when m.metadata like '%\"status\":\"pending\"%' or m.metadata like '%\"status\":\"in_progress\"%' then 1 else 0 end \
        as unfinished";

/// The agent's last telling message is looked up from the end of the transcript.
fn tables() -> String {
    format!(
        "runs r left join sessions s on s.id = r.session_id left join tasks t on t.id = r.task_id \
         left join messages m on m.session_id = r.session_id and m.seq = (select max(x.seq) from messages x \
         where x.session_id = r.session_id and x.author_type = 'agent' and x.message_type in {TELLING} \
         and x.seq > r.from_seq and (r.to_seq is null or x.seq <= r.to_seq))"
    )
}

/// A run as it stands.
pub type Stored = (Run, Seen);

fn read(row: &AnyRow) -> Result<Stored> {
    let fault = row
        .opt_word("error_category", ErrorCategory::parse)?
        .map(|category| {
            Ok::<_, crate::StoreError>(Fault {
                category,
                message: row.text("error_message")?,
            })
        })
        .transpose()?;
    let end = match row.opt_word("outcome", RunStatus::parse)? {
        Some(status) => Some(RunEnd {
            status,
            reason: row.word("reason", TerminalReason::parse)?,
            summary: row.opt_text("summary")?,
            fault,
            to_seq: row.int("to_seq")?,
            started_at: row.opt_time("started_at")?,
            ended_at: row.time("ended_at")?,
        }),
        None => None,
    };
    let run = Run {
        id: row.id("id")?,
        token_id: row.id("token_id")?,
        task_id: row.id("task_id")?,
        session_id: row.id("session_id")?,
        agent: row.text("agent")?,
        from_seq: row.int("from_seq")?,
        poll_count: row.int("poll_count")?,
        last_polled_at: row.opt_time("last_polled_at")?,
        revision: row.int("revision")?,
        created_at: row.time("created_at")?,
        retrieved_at: row.opt_time("retrieved_at")?,
        end,
    };
    let kind = row.opt_word("message_type", MessageType::parse)?;
    let is_tool = kind.is_some_and(|kind| {
        matches!(
            kind,
            MessageType::ToolCall
                | MessageType::ToolEdit
                | MessageType::ToolRead
                | MessageType::ToolExecute
        )
    });
    let last_event_at = row.opt_time("said_at")?;
    let facts = Facts {
        session: row.opt_word("session_state", SessionState::parse)?,
        archived: row.opt_int("archived_at")?.is_some(),
        turn_open: row.int("open_turns")? > 0,
        prompts: row.int("prompts")?,
        express: row.int("express")? > 0,
        auto_run: row.opt_int("auto_run")? != Some(0),
        permissions: row.int("permissions")?,
        questions: row.int("questions")?,
        answers: row.int("answers")?,
        parent_questions: row.int("parent_questions")?,
        waits_for_place: row.opt_int("wip_admitted")? == Some(0)
            || row.opt_text("queued_for_step_id")?.is_some(),
        start_waits: row.int("starts")? > 0,
        blocked: row.int("blockers")? > 0,
        last_turn: row.opt_word("last_turn", TurnState::parse)?,
        started_at: row.opt_time("first_started_at")?,
        lease_until: row.opt_time("lease_until")?,
        tool: kind.filter(|_| is_tool).filter({
            let unfinished = row.flag("unfinished")?;
            move |_| unfinished
        }),
    };
    let latest = match (kind, last_event_at, row.opt_text("excerpt")?) {
        (Some(kind), Some(at), Some(text)) => Some(Update::new(at, kind, &text)),
        _ => None,
    };
    Ok((
        run,
        Seen {
            facts,
            latest,
            last_event_at,
        },
    ))
}

/// A run before it is stored.
#[derive(Debug, Clone)]
pub struct NewRun {
    /// The run; its counters are ignored, it has not ended.
    pub run: Run,
    /// The session that its client asked to go on with.
    pub thread: Option<SessionId>,
    /// Hash of its words; without one it is nobody's twin.
    pub twin_hash: Option<String>,
    /// The prompt that it was queued as.
    pub prompt_id: PromptId,
    /// Prompts of the session up to this one were there before it.
    pub from_generation: i64,
    /// Its words.
    pub asked: Asked,
}

fn thread_key(thread: Option<SessionId>) -> String {
    thread.map(|id| id.to_string()).unwrap_or_default()
}

/// Adds a run. A second live one of a session and an active twin are [`crate::StoreError::Unique`].
pub async fn insert(tx: &mut Tx, new: &NewRun) -> Result<()> {
    sqlx::query(
        "insert into runs (id, token_id, task_id, session_id, agent, thread, twin_hash, prompt_id, asked_task, asked_context, \
         asked_by, from_seq, from_generation, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
    )
    .bind(new.run.id.to_string())
    .bind(new.run.token_id.to_string())
    .bind(new.run.task_id.to_string())
    .bind(new.run.session_id.to_string())
    .bind(text(&new.run.agent))
    .bind(thread_key(new.thread))
    .bind(new.twin_hash.as_deref())
    .bind(new.prompt_id.to_string())
    .bind(text(&new.asked.task))
    .bind(opt_text(new.asked.context.as_deref()))
    .bind(opt_text(new.asked.sender_name.as_deref()))
    .bind(new.run.from_seq)
    .bind(new.from_generation)
    .bind(new.run.created_at.millis())
    .execute(tx.connection())
    .await?;
    Ok(())
}

async fn one(db: &mut Snapshot, condition: &str, keys: &[String]) -> Result<Option<Stored>> {
    let sql = format!(
        "select {COLUMNS} from {} where {condition} order by r.id desc limit 1",
        tables()
    );
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for key in keys {
        query = query.bind(key);
    }
    query
        .fetch_optional(db.connection())
        .await?
        .as_ref()
        .map(read)
        .transpose()
}

/// A run, whoever's it is.
pub async fn of_id(db: &mut Snapshot, id: RunId) -> Result<Option<Stored>> {
    one(db, "r.id = $1", &[id.to_string()]).await
}

/// A run of this client.
pub async fn find(db: &mut Snapshot, token: TokenId, id: RunId) -> Result<Option<Stored>> {
    one(
        db,
        "r.id = $1 and r.token_id = $2",
        &[id.to_string(), token.to_string()],
    )
    .await
}

/// The latest run of a thread of this client.
pub async fn latest_of_thread(
    db: &mut Snapshot,
    token: TokenId,
    session: SessionId,
) -> Result<Option<Stored>> {
    one(
        db,
        "r.session_id = $1 and r.token_id = $2",
        &[session.to_string(), token.to_string()],
    )
    .await
}

/// The run of a session that has not ended.
pub async fn live_of_session(db: &mut Snapshot, session: SessionId) -> Result<Option<Stored>> {
    one(
        db,
        "r.session_id = $1 and r.ended_at is null",
        &[session.to_string()],
    )
    .await
}

/// Whether a session has a run that has not ended: what every transaction about a session asks first.
pub async fn is_live(db: &mut Snapshot, session: SessionId) -> Result<bool> {
    let row =
        sqlx::query("select count(*) as live from runs where session_id = $1 and ended_at is null")
            .bind(session.to_string())
            .fetch_one(db.connection())
            .await?;
    Ok(row.int("live")? > 0)
}

/// The runs of all clients that were asked for before `before` and have not ended.
pub async fn live_since(db: &mut Snapshot, before: Timestamp) -> Result<Vec<Stored>> {
    let sql = format!(
        "select {COLUMNS} from {} where r.ended_at is null and r.created_at < $1 order by r.id",
        tables()
    );
    sqlx::query(AssertSqlSafe(sql))
        .bind(before.millis())
        .fetch_all(db.connection())
        .await?
        .iter()
        .map(read)
        .collect()
}

/// The sessions of all runs that have not ended.
pub async fn live_sessions(db: &mut Snapshot) -> Result<Vec<SessionId>> {
    sqlx::query("select session_id from runs where ended_at is null order by id")
        .fetch_all(db.connection())
        .await?
        .iter()
        .map(|row| row.id("session_id"))
        .collect()
}

/// Notes what a call under a client's key came to; `hash` is of everything that it asked for. A key that is taken is
/// [`crate::StoreError::Unique`].
pub async fn note_key(
    tx: &mut Tx,
    token: TokenId,
    key: &str,
    hash: &str,
    run: RunId,
) -> Result<()> {
    sqlx::query(
        "insert into run_keys (token_id, idempotency_key, payload_hash, run_id) values ($1, $2, $3, $4)",
    )
    .bind(token.to_string())
    .bind(text(key))
    .bind(hash)
    .bind(run.to_string())
    .execute(tx.connection())
    .await?;
    Ok(())
}

/// The run that a client's key stands for, with the hash of what was asked for under it.
pub async fn by_key(
    db: &mut Snapshot,
    token: TokenId,
    key: &str,
) -> Result<Option<(RunId, String)>> {
    sqlx::query(
        "select run_id, payload_hash from run_keys where token_id = $1 and idempotency_key = $2",
    )
    .bind(token.to_string())
    .bind(text(key))
    .fetch_optional(db.connection())
    .await?
    .map(|row| Ok((row.id("run_id")?, row.text("payload_hash")?)))
    .transpose()
}

/// The run that is going on in the same words, and when it was asked for.
pub async fn active_twin(
    db: &mut Snapshot,
    token: TokenId,
    agent: &str,
    thread: Option<SessionId>,
    hash: &str,
) -> Result<Option<(RunId, Timestamp)>> {
    sqlx::query(
        "select id, created_at from runs where token_id = $1 and agent = $2 and thread = $3 and twin_hash = $4 \
         and ended_at is null",
    )
    .bind(token.to_string())
    .bind(text(agent))
    .bind(thread_key(thread))
    .bind(hash)
    .fetch_optional(db.connection())
    .await?
    .map(|row| Ok((row.id("id")?, row.time("created_at")?)))
    .transpose()
}

/// Makes a run nobody's twin: another one in the same words may begin.
pub async fn clear_twin(tx: &mut Tx, id: RunId) -> Result<()> {
    sqlx::query("update runs set twin_hash = null where id = $1")
        .bind(id.to_string())
        .execute(tx.connection())
        .await?;
    Ok(())
}

/// The prompt that a run was queued as.
pub async fn prompt_of(db: &mut Snapshot, id: RunId) -> Result<Option<PromptId>> {
    sqlx::query("select prompt_id from runs where id = $1")
        .bind(id.to_string())
        .fetch_optional(db.connection())
        .await?
        .as_ref()
        .map(|row| row.id("prompt_id"))
        .transpose()
}

/// What was asked of a run; `None` when it is gone or its words were redacted.
pub async fn asked(db: &mut Snapshot, id: RunId) -> Result<Option<Asked>> {
    let row = sqlx::query("select asked_task, asked_context, asked_by from runs where id = $1")
        .bind(id.to_string())
        .fetch_optional(db.connection())
        .await?;
    let Some(row) = row else { return Ok(None) };
    let Some(task) = row.opt_text("asked_task")? else {
        return Ok(None);
    };
    Ok(Some(Asked {
        task,
        context: row.opt_text("asked_context")?,
        sender_name: row.opt_text("asked_by")?,
    }))
}

/// Counts a wait and gives the number of waits so far.
pub async fn polled(tx: &mut Tx, id: RunId, now: Timestamp) -> Result<i64> {
    let row = sqlx::query(
        "update runs set poll_count = poll_count + 1, last_polled_at = $1 where id = $2 returning poll_count",
    )
    .bind(now.millis())
    .bind(id.to_string())
    .fetch_optional(tx.connection())
    .await?;
    row.map_or(Ok(0), |row| row.int("poll_count"))
}

/// Notes that the outcome of a run was handed out; answers whether that was the first time.
pub async fn retrieved(tx: &mut Tx, id: RunId, now: Timestamp) -> Result<bool> {
    let done = sqlx::query(
        "update runs set retrieved_at = $1 where id = $2 and retrieved_at is null and ended_at is not null",
    )
    .bind(now.millis())
    .bind(id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Freezes how a run ended. Of any number of attempts exactly one is [`Write::Changed`].
pub async fn end(tx: &mut Tx, id: RunId, end: &RunEnd) -> Result<Write> {
    let done = sqlx::query(
        "update runs set outcome = $1, reason = $2, summary = $3, error_category = $4, error_message = $5, to_seq = $6, \
         started_at = $7, ended_at = $8 where id = $9 and ended_at is null",
    )
    .bind(end.status.as_str())
    .bind(end.reason.as_str())
    .bind(opt_text(end.summary.as_deref()))
    .bind(end.fault.as_ref().map(|fault| fault.category.as_str()))
    .bind(end.fault.as_ref().map(|fault| text(&fault.message)))
    .bind(end.to_seq)
    .bind(opt_millis(end.started_at))
    .bind(end.ended_at.millis())
    .bind(id.to_string())
    .execute(tx.connection())
    .await?;
    Ok(Write::from_rows(done.rows_affected()))
}

/// Which runs of a client to list.
#[derive(Debug, Clone, Default)]
pub struct RunFilter {
    /// Only those that have not ended.
    pub live: bool,
    /// Of this thread.
    pub session: Option<SessionId>,
    /// Of this agent.
    pub agent: Option<String>,
    /// Only runs older than this one.
    pub before: Option<RunId>,
    /// At most so many.
    pub limit: i64,
}

/// A client's runs, newest first.
pub async fn list(db: &mut Snapshot, token: TokenId, filter: &RunFilter) -> Result<Vec<Stored>> {
    let mut conditions = String::from("r.token_id = $1");
    let mut keys = vec![token.to_string()];
    for (column, key) in [
        ("r.session_id =", filter.session.map(|id| id.to_string())),
        ("r.agent =", filter.agent.clone()),
        ("r.id <", filter.before.map(|id| id.to_string())),
    ] {
        if let Some(key) = key {
            keys.push(text(&key));
            conditions.push_str(&format!(" and {column} ${}", keys.len()));
        }
    }
    if filter.live {
        conditions.push_str(" and r.ended_at is null");
    }
    let sql = format!(
        "select {COLUMNS} from {} where {conditions} order by r.id desc limit ${}",
        tables(),
        keys.len() + 1
    );
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for key in &keys {
        query = query.bind(key);
    }
    query
        .bind(filter.limit)
        .fetch_all(db.connection())
        .await?
        .iter()
        .map(read)
        .collect()
}

/// Which runs of all clients to list.
#[derive(Debug, Clone, Default)]
pub struct PageFilter {
    /// This one.
    pub only: Option<RunId>,
    /// Those that have not ended, or those that have.
    pub live: Option<bool>,
    /// Those that ended so; all when it is empty.
    pub outcomes: Vec<RunStatus>,
    /// With this in the name of the card, of the token or of the agent, in letters of either case.
    pub text: Option<String>,
    /// Only runs older than this one.
    pub before: Option<RunId>,
    /// At most so many.
    pub limit: i64,
}

/// By what names an operator knows a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    /// Of its card; `None` when that is gone.
    pub title: Option<String>,
    /// Of the token that it was started with.
    pub client: Option<String>,
}

/// The runs of all clients, newest first, with their names.
pub async fn page(db: &mut Snapshot, filter: &PageFilter) -> Result<Vec<(Stored, Names)>> {
    let mut conditions = vec!["1 = 1".to_owned()];
    let mut keys = Vec::new();
    let mut key = |value: String| {
        keys.push(value);
        format!("${}", keys.len())
    };
    if let Some(id) = filter.only {
        conditions.push(format!("r.id = {}", key(id.to_string())));
    }
    if let Some(id) = filter.before {
        conditions.push(format!("r.id < {}", key(id.to_string())));
    }
    if let Some(live) = filter.live {
        let is_live = if live { "null" } else { "not null" };
        conditions.push(format!("r.ended_at is {is_live}"));
    }
    if !filter.outcomes.is_empty() {
        let words: Vec<String> = filter
            .outcomes
            .iter()
            .map(|outcome| key(outcome.as_str().to_owned()))
            .collect();
        conditions.push(format!("r.outcome in ({})", words.join(", ")));
    }
    if let Some(wanted) = &filter.text {
        let place = key(containing(wanted));
        let columns = ["t.title", "a.name", "r.agent"];
        // Both sides by the engine's own rule of cases, so that what it does not know is at least like itself.
        let either =
            columns.map(|column| format!("lower({column}) like lower({place}) escape '!'"));
        conditions.push(format!("({})", either.join(" or ")));
    }
    let sql = format!(
        "select {COLUMNS}, t.title, a.name as client from {} left join access_tokens a on a.id = r.token_id \
         where {} order by r.id desc limit ${}",
        tables(),
        conditions.join(" and "),
        keys.len() + 1
    );
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for key in &keys {
        query = query.bind(key);
    }
    query
        .bind(filter.limit)
        .fetch_all(db.connection())
        .await?
        .iter()
        .map(|row| {
            let names = Names {
                title: row.opt_text("title")?,
                client: row.opt_text("client")?,
            };
            Ok((read(row)?, names))
        })
        .collect()
}

/// A pattern for what has this in it, in which nothing of it stands for anything else.
fn containing(wanted: &str) -> String {
    let mut pattern = String::from("%");
    for letter in text(wanted).chars() {
        if matches!(letter, '!' | '%' | '_') {
            pattern.push('!');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}

/// How many runs of a client ended how.
pub async fn outcomes(db: &mut Snapshot, token: TokenId) -> Result<HashMap<RunStatus, i64>> {
    sqlx::query(
        "select outcome, count(*) as number from runs where token_id = $1 and ended_at is not null group by outcome",
    )
    .bind(token.to_string())
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(|row| Ok((row.word("outcome", RunStatus::parse)?, row.int("number")?)))
    .collect()
}

/// The end of a run's share of the transcript.
fn until(run: &Run) -> i64 {
    run.end.as_ref().map_or(i64::MAX, |end| end.to_seq)
}

/// The last message of a session.
pub async fn last_seq(db: &mut Snapshot, session: SessionId) -> Result<i64> {
    sqlx::query("select coalesce(max(seq), 0) as seq from messages where session_id = $1")
        .bind(session.to_string())
        .fetch_one(db.connection())
        .await?
        .int("seq")
}

/// The last words that the agent of a run said, and the last failure that it, or its runtime, reported.
pub async fn last_words(db: &mut Snapshot, run: &Run, kind: MessageType) -> Result<Option<String>> {
    sqlx::query(
        "select content from messages where session_id = $1 and seq > $2 and seq <= $3 and author_type = 'agent' \
         and message_type = $4 and trim(content) <> '' order by seq desc limit 1",
    )
    .bind(run.session_id.to_string())
    .bind(run.from_seq)
    .bind(until(run))
    .bind(kind.as_str())
    .fetch_optional(db.connection())
    .await?
    .as_ref()
    .map(|row| row.text("content"))
    .transpose()
}

/// The log of a run: the newest entries after `after`, in order, and how many there are in all.
pub async fn log(db: &mut Snapshot, run: &Run, after: Option<i64>) -> Result<(Vec<LogEntry>, i64)> {
    let condition = format!(
        "session_id = $1 and seq > $2 and seq <= $3 and author_type = 'agent' and message_type in {TELLING}"
    );
    let count = sqlx::query(AssertSqlSafe(format!(
        "select count(*) as number from messages where {condition}"
    )))
    .bind(run.session_id.to_string())
    .bind(run.from_seq)
    .bind(until(run))
    .fetch_one(db.connection())
    .await?
    .int("number")?;
    // From the cursor on in order, so that nothing is skipped; without one the newest.
    let order = if after.is_some() { "asc" } else { "desc" };
    let mut entries = sqlx::query(AssertSqlSafe(format!(
        "select seq, message_type, substr(content, 1, {EXCERPT}) as content, updated_at from messages where {condition} \
         order by seq {order} limit $4"
    )))
    .bind(run.session_id.to_string())
    .bind(after.unwrap_or_default().max(run.from_seq))
    .bind(until(run))
    .bind(i64::try_from(MAX_LOGS).unwrap_or(i64::MAX))
    .fetch_all(db.connection())
    .await?
    .iter()
    .map(|row| {
        Ok(LogEntry {
            cursor: row.int("seq")?,
            at: row.time("updated_at")?,
            kind: row.word("message_type", MessageType::parse)?,
            text: row.text("content")?,
        })
    })
    .collect::<Result<Vec<_>>>()?;
    if order == "desc" {
        entries.reverse();
    }
    Ok((entries, count))
}

/// What a run has made, as its newest tool calls say.
pub async fn artifacts(db: &mut Snapshot, run: &Run) -> Result<Artifacts> {
    let limit = i64::try_from(MAX_ARTIFACTS).unwrap_or(i64::MAX);
    let calls = async |db: &mut Snapshot, kind: MessageType| {
        sqlx::query(
            "select content, metadata from messages where session_id = $1 and seq > $2 and seq <= $3 \
             and author_type = 'agent' and message_type = $4 order by seq desc limit $5",
        )
        .bind(run.session_id.to_string())
        .bind(run.from_seq)
        .bind(until(run))
        .bind(kind.as_str())
        .bind(limit)
        .fetch_all(db.connection())
        .await
    };
    let mut artifacts = Artifacts::default();
    for row in calls(db, MessageType::ToolEdit).await?.iter().rev() {
        let metadata: Value = row.json("metadata")?;
        let places = metadata.get("locations").and_then(Value::as_array);
        for path in places
            .into_iter()
            .flatten()
            .filter_map(|place| place.get("path")?.as_str())
        {
            let known = artifacts.files_changed.iter().any(|known| known == path);
            if !known && artifacts.files_changed.len() < MAX_ARTIFACTS {
                artifacts.files_changed.push(path.to_owned());
            }
        }
    }
    for row in calls(db, MessageType::ToolExecute).await?.iter().rev() {
        artifacts
            .commands_run
            .push(cut(&row.text("content")?, MAX_COMMAND));
    }
    Ok(artifacts)
}

/// Removes runs that ended before `before`; answers how many.
pub async fn forget(tx: &mut Tx, before: Timestamp) -> Result<u64> {
    let done = sqlx::query("delete from runs where ended_at is not null and ended_at < $1")
        .bind(before.millis())
        .execute(tx.connection())
        .await?;
    Ok(done.rows_affected())
}

/// Removes the words of runs that ended before `before`; answers how many had any.
pub async fn redact(tx: &mut Tx, before: Timestamp) -> Result<u64> {
    let done = sqlx::query(
        "update runs set asked_task = null, asked_context = null, asked_by = null \
         where ended_at is not null and ended_at < $1 and asked_task is not null",
    )
    .bind(before.millis())
    .execute(tx.connection())
    .await?;
    Ok(done.rows_affected())
}
