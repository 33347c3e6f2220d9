-- The repositories of workspaces, and which tasks are about which.

create table repositories (
    id text primary key,
    workspace_id text not null references workspaces (id) on delete cascade,
    name text not null check (name <> ''),
    local_path text,
    provider text not null check (provider in ('none', 'github', 'gitlab')),
    host text,
    project_path text,
    default_branch text,
    created_at integer not null,
    updated_at integer not null,
    check ((host is null) = (project_path is null)),
    check (host is not null or (provider = 'none' and local_path is not null))
);
-- A repository is there once, by its place and by its folder. Providers do not tell letters of different size apart.
create unique index repositories_by_place on repositories (workspace_id, host, lower(project_path)) where host is not null;
create unique index repositories_by_folder on repositories (workspace_id, local_path) where local_path is not null;

create table task_repositories (
    task_id text not null references tasks (id) on delete cascade,
    repository_id text not null references repositories (id) on delete cascade,
    created_at integer not null,
    primary key (task_id, repository_id)
);
create index task_repositories_by_repository on task_repositories (repository_id);
