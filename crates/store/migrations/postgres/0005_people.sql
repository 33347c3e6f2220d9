-- The answer to a question whose agent no longer waits is claimed first (`responding`), and recorded when the agent has taken the
-- prompt that carries it; a claim that nobody sees through is given back.
alter table operator_questions rename to operator_questions_before;
drop index one_pending_bundle_a_call;
drop index pending_bundles_by_task;
drop index pending_bundles_by_session;

create table operator_questions (
    id text primary key,
    task_id text not null references tasks (id) on delete cascade,
    session_id text not null references sessions (id) on delete cascade,
    turn_id text,
    request_key text not null,
    questions text not null,
    context text,
    status text not null check (status in ('pending', 'responding', 'answered', 'rejected', 'expired', 'cancelled')),
    agent_disconnected bigint not null check (agent_disconnected in (0, 1)),
    response text,
    claim_prompt_id text,
    claim_holder text,
    claim_until bigint,
    created_at bigint not null,
    resolved_at bigint,
    check ((status in ('pending', 'responding')) = (resolved_at is null)),
    check ((status = 'responding') = (claim_until is not null)),
    check ((claim_prompt_id is null) = (claim_until is null)),
    check ((claim_holder is null) = (claim_until is null))
);
create unique index one_open_bundle_a_call on operator_questions (session_id, request_key) where resolved_at is null;
create index open_bundles_by_task on operator_questions (task_id) where resolved_at is null;
create index open_bundles_by_session on operator_questions (session_id) where resolved_at is null;
create index claimed_bundles on operator_questions (claim_until) where claim_until is not null;

insert into operator_questions (id, task_id, session_id, turn_id, request_key, questions, context, status, agent_disconnected, response, created_at,
    resolved_at)
select id, task_id, session_id, turn_id, request_key, questions, context, status, agent_disconnected, response, created_at,
    resolved_at
from operator_questions_before;
drop table operator_questions_before;

-- Tells one database from another: what a client knows of one means nothing beside another.
create table installation (
    id bigint primary key check (id = 1),
    epoch bigint not null
);
insert into installation (id, epoch) values (1, (extract(epoch from clock_timestamp()) * 1000)::bigint);

-- Where a prompt ended up: how a child's question ended is shown where it was put.
create index turns_by_prompt on turns (prompt_id);
