-- The surfaces of tools beside the board's: what a task is for, and profiles whose agents need not be asked about.

-- Decides which tools the task's sessions see; chosen at creation by the operator alone.
alter table tasks add column purpose text not null default 'work' check (purpose in ('work', 'configuration', 'office'));

-- Permission requests of its agents are allowed without a person.
alter table agent_profiles add column auto_approve integer not null default 0 check (auto_approve in (0, 1));

-- What tasks beside the board leave: documents by their key, and decisions about a step. A decision is only ever added to.
create table task_documents (
    id text primary key,
    task_id text not null references tasks (id) on delete cascade,
    document_key text not null check (document_key <> ''),
    title text not null check (title <> ''),
    document_type text not null check (document_type <> ''),
    content text not null,
    author_kind text not null check (author_kind in ('agent', 'user')),
    author_session_id text,
    created_at integer not null,
    updated_at integer not null,
    unique (task_id, document_key)
);

create table step_decisions (
    id text primary key,
    task_id text not null references tasks (id) on delete cascade,
    -- No foreign key: what was decided outlives the step.
    step_id text not null,
    session_id text,
    decision text not null check (decision in ('approved', 'rejected')),
    reason text not null check (reason <> ''),
    created_at integer not null
);
create index step_decisions_by_task on step_decisions (task_id, created_at);

-- An access token reaches every workspace, or only those that are named here. That it is limited stands with the token, so that one
-- whose workspaces are all gone reaches none.
alter table access_tokens add column scoped integer not null default 0 check (scoped in (0, 1));
create table token_workspaces (
    token_id text not null references access_tokens (id) on delete cascade,
    workspace_id text not null references workspaces (id) on delete cascade,
    primary key (token_id, workspace_id)
);
