-- What an operator was told about a prompt it sent under a key of its own: a repeat gets the same answer and nothing is queued
-- twice. Of the task, because a prompt to a task that has no session yet has a key too.
create table prompt_receipts (
    task_id text not null references tasks (id) on delete cascade,
    idempotency_key text not null,
    fingerprint text not null,
    session_id text not null,
    prompt_id text not null,
    status text not null check (status in ('sent', 'queued', 'started', 'already_answered')),
    merged integer not null check (merged in (0, 1)),
    sent_at integer not null,
    primary key (task_id, idempotency_key)
);
create index prompt_receipts_by_age on prompt_receipts (sent_at);

-- A prompt whose sender named the session stays with it. Others follow the card when a step gives it to another session.
alter table queued_messages add column pinned integer not null default 1 check (pinned in (0, 1));

-- The agent's model, when a step chose one.
alter table sessions add column session_model text;

-- Steps that archive what rests in them are few; their cards are looked for by this.
create index tasks_by_step_and_age on tasks (workflow_step_id, updated_at) where archived_at is null;
