-- How agents are run: what is done in their folder before the first of them starts and after the last task has left it, and which of
-- their profile's servers they are given. There is one executor, so a profile without a row is the usual one: nothing of all that.
create table executor_profiles (
    id text primary key,
    executor_id text not null check (executor_id <> ''),
    name text not null check (name <> ''),
    mcp_policy text not null check (mcp_policy in ('all', 'remote_only', 'none')),
    prepare_script text not null,
    cleanup_script text not null,
    config text not null,
    created_at bigint not null,
    updated_at bigint not null,
    unique (executor_id, name)
);

alter table tasks add column executor_profile_id text references executor_profiles (id);
alter table sessions add column executor_profile_id text references executor_profiles (id);
create index tasks_by_executor_profile on tasks (executor_profile_id) where executor_profile_id is not null;

-- A folder that was prepared for agents, or is being, on the machine of a node. The row goes when the folder was cleaned up; it outlives
-- the tasks that worked there, so it keeps what is to be run and names them without a foreign key.
create table preparations (
    id text primary key,
    node text not null check (node <> ''),
    folder text not null check (folder <> ''),
    executor_profile_id text not null references executor_profiles (id),
    state text not null check (state in ('preparing', 'prepared', 'left', 'cleaning')),
    -- Whose agent is to start when the script has run.
    session_id text,
    -- The last task that worked there.
    task_id text,
    cleanup_script text not null,
    cleanup_seconds bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    unique (node, folder, executor_profile_id),
    check ((state = 'preparing') = (session_id is not null)),
    check ((state in ('left', 'cleaning')) = (task_id is not null))
);
