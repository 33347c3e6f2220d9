-- AI jobs. The row is the truth; hints about it may be lost, doubled or late. Whoever works on one holds its lease, and every write
-- from then on names the lease's token.
create table ai_jobs (
    id bigint generated always as identity primary key,
    correlation_id text not null,
    source text not null,
    status text not null default 'pending' check (status in ('pending', 'running', 'completed', 'failed_terminal', 'canceled')),
    phase text not null default 'generate' check (phase in ('generate', 'deliver')),
    user_id text not null,
    user_name text,
    guild_id text,
    request_text text not null,
    history_json text,
    managed_guilds_json text,
    selected_guild_json text,
    response_target_json text not null,
    provider_chain_json text,
    metadata_json text,
    queue text not null,
    priority bigint not null check (priority between 0 and 9),
    unique_key text,
    timeout_seconds bigint not null default 300 check (timeout_seconds between 30 and 3600),
    max_attempts bigint not null default 6 check (max_attempts between 1 and 20),
    attempt_count bigint not null default 0 check (attempt_count >= 0),
    delivery_attempts bigint not null default 0 check (delivery_attempts >= 0),
    stale_count bigint not null default 0,
    next_retry_at bigint not null,
    deadline_at bigint not null,
    started_at bigint,
    first_started_at bigint,
    completed_at bigint,
    last_error text,
    last_error_class text,
    last_retry_decision_json text,
    lease_token text,
    lease_expires_at bigint,
    heartbeat_at bigint,
    worker_id text,
    cancel_requested_at bigint,
    requeue_count bigint not null default 0,
    requeue_tries bigint not null default 0,
    dispatch_no bigint not null default 0,
    result_text text,
    result_json text,
    redacted_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    check ((status = 'running') = (lease_token is not null)),
    check ((lease_token is null) = (lease_expires_at is null)),
    check ((result_text is null) = (result_json is null)),
    check (phase = 'generate' or result_text is not null)
);
create unique index ai_jobs_correlation on ai_jobs (correlation_id);
-- A repeat of a message collapses for as long as its job is kept, also when that has ended.
create unique index ai_jobs_unique_key on ai_jobs (unique_key) where unique_key is not null;
-- A conversation goes one step at a time.
create unique index ai_jobs_running_user on ai_jobs (user_id) where status = 'running';
-- What to take next, by priority; when to wake; whose lease is over. Ended jobs are in none of them.
create index ai_jobs_claim on ai_jobs (priority, next_retry_at, id) where status = 'pending';
create index ai_jobs_due on ai_jobs (next_retry_at, id) where status = 'pending';
create index ai_jobs_lease on ai_jobs (lease_expires_at) where status = 'running';
create index ai_jobs_user on ai_jobs (user_id, id);
create index ai_jobs_ended on ai_jobs (status, updated_at);

create table ai_job_events (
    id bigint generated always as identity primary key,
    job_id bigint not null references ai_jobs (id) on delete cascade,
    event_type text not null,
    source text not null default 'unknown',
    step text,
    message text,
    metadata_json text,
    created_at bigint not null
);
create index ai_job_events_job on ai_job_events (job_id, id);

create table ai_job_attempts (
    job_id bigint not null references ai_jobs (id) on delete cascade,
    run bigint not null,
    attempt bigint not null,
    worker_id text not null,
    started_at bigint not null,
    ended_at bigint,
    outcome text,
    error_class text,
    error text,
    primary key (job_id, run)
);

create table ai_job_deliveries (
    job_id bigint not null references ai_jobs (id) on delete cascade,
    kind text not null check (kind in ('answer', 'failure_notice')),
    chunk_no bigint not null check (chunk_no >= 0),
    body text not null,
    body_hash text not null,
    nonce text not null,
    state text not null default 'waiting' check (state in ('waiting', 'delivered', 'abandoned')),
    attempts bigint not null default 0,
    platform_message_id text,
    next_try_at bigint not null,
    created_at bigint not null,
    delivered_at bigint,
    primary key (job_id, kind, chunk_no)
);
create index ai_job_notices on ai_job_deliveries (next_try_at) where kind = 'failure_notice' and state = 'waiting';

create table ai_job_tool_calls (
    job_id bigint not null references ai_jobs (id) on delete cascade,
    seq bigint not null,
    tool text not null,
    args_hash text not null,
    idempotency_key text not null,
    state text not null check (state in ('started', 'finished', 'failed')),
    result_json text,
    started_at bigint not null,
    ended_at bigint,
    primary key (job_id, seq)
);
create index ai_job_tool_calls_same on ai_job_tool_calls (job_id, tool, args_hash);

create table pending_confirmations (
    id bigint generated always as identity primary key,
    job_id bigint not null references ai_jobs (id) on delete cascade,
    user_id text not null,
    conversation text not null,
    preview_tool text not null,
    confirmation_tool text not null,
    args_json text not null,
    args_hash text not null,
    summary text,
    expires_at bigint not null,
    consumed_at bigint,
    created_at bigint not null
);
create index pending_confirmations_open on pending_confirmations (user_id, confirmation_tool, args_hash, id);
create index pending_confirmations_job on pending_confirmations (job_id);
