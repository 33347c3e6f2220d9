-- What an agent was told about each message it sent: a repeat under the same key gets the same answer, a chain of replies can
-- be counted, and so can the traffic of a pair. No foreign keys to the target: a repeat is answered also when that is gone.
create table message_receipts (
    id text primary key,
    sender_task_id text not null references tasks (id) on delete cascade,
    sender_session_id text not null references sessions (id) on delete cascade,
    target_task_id text not null,
    target_session_id text not null,
    prompt_id text not null,
    pair text not null,
    hops bigint not null check (hops > 0),
    idempotency_key text,
    fingerprint text,
    status text not null check (status in ('sent', 'queued', 'started', 'already_answered')),
    merged bigint not null check (merged in (0, 1)),
    sent_at bigint not null,
    unique (sender_session_id, idempotency_key),
    check ((idempotency_key is null) = (fingerprint is null))
);
create index receipts_by_pair on message_receipts (pair, sent_at);
create index receipts_by_prompt on message_receipts (prompt_id);
create index receipts_by_age on message_receipts (sent_at);
