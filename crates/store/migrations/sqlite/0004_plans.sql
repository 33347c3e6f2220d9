-- Plans and their history, walkthroughs, review findings, and the words of their events.

-- One plan a task. Its text also stands in its last revision; it is here so that reading it never depends on the history.
create table plans (
    id text primary key,
    task_id text not null unique references tasks (id) on delete cascade,
    title text not null check (title <> ''),
    content text not null,
    created_by text not null check (created_by in ('agent', 'user')),
    version text not null unique,
    created_at integer not null,
    updated_at integer not null
);

-- No foreign key to the plan: the history outlives it, so that a deleted plan can come back.
create table plan_revisions (
    id text primary key,
    task_id text not null references tasks (id) on delete cascade,
    plan_id text not null,
    revision_number integer not null check (revision_number > 0),
    version text not null unique,
    title text not null check (title <> ''),
    content text not null,
    author_kind text not null check (author_kind in ('agent', 'user')),
    author_name text not null,
    author_session_id text,
    revert_of text references plan_revisions (id) on delete set null,
    created_at integer not null,
    updated_at integer not null,
    unique (task_id, revision_number)
);

-- One walkthrough a task, replaced as a whole.
create table walkthroughs (
    task_id text primary key references tasks (id) on delete cascade,
    id text not null unique,
    title text not null check (title <> ''),
    steps text not null,
    created_at integer not null
);

create table review_findings (
    id text primary key,
    task_id text not null references tasks (id) on delete cascade,
    session_id text,
    repo text not null,
    file text not null check (file <> ''),
    line integer not null check (line > 0),
    line_end integer not null check (line_end >= line),
    side text not null check (side in ('new', 'old')),
    severity text not null check (severity in ('blocker', 'major', 'minor', 'nit')),
    category text not null check (category <> ''),
    title text not null check (title <> ''),
    body text not null,
    suggestion text,
    status text not null check (status in ('open', 'resolved')),
    created_at integer not null,
    updated_at integer not null,
    resolved_at integer,
    check ((status = 'open') = (resolved_at is null))
);
create index review_findings_by_task on review_findings (task_id, created_at);
-- The same finding published again is the same finding, as long as nobody has resolved it.
create unique index one_open_finding_a_place on review_findings
    (task_id, repo, file, line, line_end, side, title) where status = 'open';

-- SQLite cannot change a check, so the log moves into a table with more words. Its counter goes on where it was.
create table events_with_more_words (
    id integer primary key autoincrement,
    kind text not null check (kind in (
        'workspace.updated', 'workflow.updated', 'agent.updated', 'task.created', 'task.updated', 'task.deleted',
        'task.state_changed', 'session.state_changed', 'session.info_updated', 'session.message.added',
        'session.message.updated', 'session.turn.started', 'session.turn.completed', 'message.queue.status_changed',
        'session.clarification_changed', 'session.permission_changed', 'task.parent_question_changed',
        'task.plan.updated', 'task.walkthrough.updated', 'task.review.updated'
    )),
    workspace_id text,
    task_id text,
    session_id text,
    subject_id text,
    created_at integer not null
);
insert into events_with_more_words (id, kind, workspace_id, task_id, session_id, subject_id, created_at)
    select id, kind, workspace_id, task_id, session_id, subject_id, created_at from events order by id;
drop table events;
alter table events_with_more_words rename to events;
