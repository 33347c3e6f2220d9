-- Runs of outside clients: one prompt and what follows from it in a session. Where a run stands is derived from the session's rows
-- as long as it goes on; how it ended is frozen here. No foreign keys: a result outlives its card.
create table runs (
    id text primary key,
    token_id text not null,
    task_id text not null,
    session_id text not null,
    agent text not null check (agent <> ''),
    -- The session that the client asked to go on with; empty for a new one.
    thread text not null default '',
    idempotency_key text,
    payload_hash text not null,
    -- Empty for a run that is nobody's twin.
    twin_hash text,
    prompt_id text not null,
    -- What was asked; shown to its owner when asked for by name, and nowhere else.
    asked_task text,
    asked_context text,
    asked_by text,
    from_seq bigint not null,
    from_generation bigint not null,
    poll_count bigint not null default 0 check (poll_count >= 0),
    revision bigint not null default 0 check (revision >= 0),
    outcome text check (outcome in ('completed', 'completed_no_summary', 'error', 'cancelled')),
    reason text check (reason in (
        'finished', 'cancel_requested', 'turn_cancelled', 'stopped', 'withdrawn', 'deleted', 'turn_failed', 'agent_failed',
        'interrupted', 'expired'
    )),
    summary text,
    error_category text check (error_category in ('auth', 'timeout', 'merge_conflict', 'test_failure', 'tooling', 'unknown')),
    error_message text,
    to_seq bigint,
    started_at bigint,
    ended_at bigint,
    retrieved_at bigint,
    created_at bigint not null,
    check ((outcome is null) = (ended_at is null)),
    check ((outcome is null) = (reason is null)),
    check ((outcome is null) = (to_seq is null)),
    check ((error_category is null) = (error_message is null)),
    check ((outcome = 'completed') = (summary is not null) or outcome in ('error', 'cancelled') or outcome is null)
);
-- One after another in a session.
create unique index one_live_run_a_session on runs (session_id) where ended_at is null;
-- A key is its client's for as long as its run is kept.
create unique index runs_by_key on runs (token_id, idempotency_key) where idempotency_key is not null;
-- The same words twice at once are one run.
create unique index one_active_twin on runs (token_id, agent, thread, twin_hash) where ended_at is null and twin_hash is not null;
create index runs_by_token on runs (token_id, id);
create index live_runs_by_token on runs (token_id, id) where ended_at is null;
create index runs_by_session on runs (session_id, id);
create index runs_by_end on runs (ended_at) where ended_at is not null;
