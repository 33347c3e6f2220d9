-- The repositories of workspaces, which tasks are about which, and the requests to change their code that tasks care for.

create table repositories (
    id text primary key,
    workspace_id text not null references workspaces (id) on delete cascade,
    name text not null check (name <> ''),
    local_path text,
    provider text not null check (provider in ('none', 'github', 'gitlab')),
    host text,
    project_path text,
    default_branch text,
    created_at bigint not null,
    updated_at bigint not null,
    check ((host is null) = (project_path is null)),
    check (host is not null or (provider = 'none' and local_path is not null))
);
-- A repository is there once, by its place and by its folder. Providers do not tell letters of different size apart.
create unique index repositories_by_place on repositories (workspace_id, host, lower(project_path)) where host is not null;
create unique index repositories_by_folder on repositories (workspace_id, local_path) where local_path is not null;

create table task_repositories (
    task_id text not null references tasks (id) on delete cascade,
    repository_id text not null references repositories (id) on delete cascade,
    created_at bigint not null,
    primary key (task_id, repository_id)
);
create index task_repositories_by_repository on task_repositories (repository_id);

-- Pull and merge requests, with what is done about them by itself and what they were seen to be.
create table change_requests (
    id text primary key,
    task_id text not null references tasks (id) on delete cascade,
    repository_id text not null references repositories (id) on delete cascade,
    number bigint not null check (number > 0),
    auto_fix_enabled bigint not null check (auto_fix_enabled in (0, 1)),
    auto_merge_enabled bigint not null check (auto_merge_enabled in (0, 1)),
    prompt_on_review_requested bigint not null check (prompt_on_review_requested in (0, 1)),
    prompt_on_merged bigint not null check (prompt_on_merged in (0, 1)),
    prompt_on_closed bigint not null check (prompt_on_closed in (0, 1)),
    auto_fix_prompt_override text,
    title text,
    url text,
    state text check (state in ('open', 'merged', 'closed')),
    checks text check (checks in ('none', 'pending', 'passed', 'failed')),
    seen_at bigint,
    problem text,
    next_look_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    unique (task_id, repository_id, number)
);
create index change_requests_by_repository on change_requests (repository_id);
create index due_change_requests on change_requests (next_look_at, id) where next_look_at is not null;

-- What was told of them: under one subject, once. A row is written in the transaction that queues the prompt.
create table change_request_news (
    change_request_id text not null references change_requests (id) on delete cascade,
    subject text not null check (subject <> ''),
    told_at bigint not null,
    primary key (change_request_id, subject)
);
