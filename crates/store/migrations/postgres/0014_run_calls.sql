-- How clients wait for runs: when each was waited for last, and the newest calls about it, in numbers, ids and words of closed sets.
alter table runs add column last_polled_at bigint;

create table run_calls (
    id text primary key,
    run_id text not null references runs (id) on delete cascade,
    tool text not null check (tool in (
        'run_task', 'check_task', 'get_task', 'list_tasks', 'cancel_task', 'tasks/get', 'tasks/update', 'tasks/cancel'
    )),
    client text not null check (client in (
        'chatgpt', 'openai', 'claude-code', 'claude', 'codex', 'cursor', 'gemini', 'copilot', 'inspector', 'opencode', 'qwen', 'other'
    )),
    status text check (status in (
        'queued', 'running', 'completed', 'completed_no_summary', 'error', 'blocked', 'needs_human', 'cancelled'
    )),
    outcome text not null check (outcome in ('returned', 'timeout', 'limited', 'closing', 'disconnected', 'refused')),
    error_code text check (error_code in (
        'not_found', 'invalid_params', 'session_busy', 'session_closed', 'idempotency_conflict', 'forbidden', 'unavailable',
        'internal_error'
    )),
    poll bigint,
    requested_wait_ms bigint,
    waited_ms bigint,
    duration_ms bigint not null,
    bytes bigint not null,
    duplicate bigint not null check (duplicate in (0, 1)),
    first_retrieval bigint not null check (first_retrieval in (0, 1)),
    ended_at bigint not null
);
create index run_calls_by_run on run_calls (run_id, id);

-- Operators list the runs of all clients, newest first: those that go on, and those that ended in one way.
create index live_runs on runs (id) where ended_at is null;
create index runs_by_outcome on runs (outcome, id) where outcome is not null;
