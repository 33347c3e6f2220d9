-- The trunk: workspaces, workflows, agents, tasks, conversations, questions, follow-ups, events.
--
-- Both engines have this file with the same version and name; only integer types, the event counter and the trigger differ. Ids are
-- UUIDs as text, times are UTC milliseconds, flags are 0 or 1, JSON is text: both engines then read alike.

create table workspaces (
    id text primary key,
    name text not null check (name <> ''),
    description text not null default '',
    owner_id text not null default '',
    created_at bigint not null,
    updated_at bigint not null
);

create table agents (
    id text primary key,
    name text not null unique check (name <> ''),
    command text not null check (command <> ''),
    args text not null,
    env text not null,
    supports_mcp bigint check (supports_mcp in (0, 1)),
    created_at bigint not null,
    updated_at bigint not null
);

create table agent_profiles (
    id text primary key,
    agent_id text not null references agents (id) on delete cascade,
    name text not null check (name <> ''),
    model text,
    mode text,
    passthrough bigint not null check (passthrough in (0, 1)),
    created_at bigint not null,
    updated_at bigint not null,
    unique (agent_id, name)
);

create table workflows (
    id text primary key,
    workspace_id text not null references workspaces (id) on delete cascade,
    name text not null check (name <> ''),
    description text not null default '',
    prompt text not null default '',
    agent_profile_id text references agent_profiles (id) on delete set null,
    sort_order bigint not null default 0,
    hidden bigint not null default 0 check (hidden in (0, 1)),
    created_at bigint not null,
    updated_at bigint not null
);
create index workflows_by_workspace on workflows (workspace_id, sort_order, id);

create table steps (
    id text primary key,
    workflow_id text not null references workflows (id) on delete cascade,
    name text not null check (name <> ''),
    position bigint not null check (position >= 0),
    color text not null,
    prompt text not null default '',
    events text not null,
    allow_manual_move bigint not null check (allow_manual_move in (0, 1)),
    is_start_step bigint not null check (is_start_step in (0, 1)),
    show_in_command_panel bigint not null check (show_in_command_panel in (0, 1)),
    auto_archive_after_hours bigint not null default 0 check (auto_archive_after_hours >= 0),
    agent_profile_id text references agent_profiles (id) on delete set null,
    wip_limit bigint not null default 0 check (wip_limit >= 0),
    pull_from_step_id text references steps (id) on delete set null,
    stage_type text not null check (stage_type in ('work', 'review', 'approval', 'custom')),
    auto_advance_requires_signal bigint not null check (auto_advance_requires_signal in (0, 1)),
    cancel_triggers_turn_complete bigint not null check (cancel_triggers_turn_complete in (0, 1))
);
create index steps_by_workflow on steps (workflow_id, position);
create unique index one_start_step_a_workflow on steps (workflow_id) where is_start_step = 1;

create table tasks (
    id text primary key,
    workspace_id text not null references workspaces (id) on delete cascade,
    workflow_id text not null references workflows (id),
    workflow_step_id text not null references steps (id),
    title text not null check (title <> ''),
    description text not null default '',
    state text not null check (state in (
        'TODO', 'CREATED', 'SCHEDULING', 'IN_PROGRESS', 'REVIEW', 'BLOCKED', 'WAITING_FOR_INPUT', 'COMPLETED', 'FAILED',
        'CANCELLED'
    )),
    priority text check (priority in ('critical', 'high', 'medium', 'low')),
    position bigint not null check (position >= 0),
    parent_id text references tasks (id) on delete set null,
    autopilot bigint not null default 0 check (autopilot in (0, 1)),
    origin text not null check (origin in ('manual', 'agent_created', 'routine', 'automation_run')),
    external_id text,
    title_mode text not null check (title_mode in ('settled', 'pending', 'claimed')),
    title_owner_session_id text,
    agent_profile_id text references agent_profiles (id) on delete set null,
    working_directory text,
    interrupted_at bigint,
    archived_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    check (parent_id <> id)
);
create unique index tasks_by_external_id on tasks (workspace_id, external_id) where external_id is not null;
create index tasks_by_workspace on tasks (workspace_id, workflow_step_id, position) where archived_at is null;
create index tasks_by_workflow on tasks (workflow_id);
create index tasks_by_step on tasks (workflow_step_id, position);
create index tasks_by_parent on tasks (parent_id) where parent_id is not null;

-- Autopilot is chosen at creation and stays: not even a mistake of ours may change it.
create function refuse_autopilot_change() returns trigger language plpgsql as $$
begin
    raise exception 'autopilot is fixed at creation' using errcode = 'check_violation';
end $$;
create trigger autopilot_is_fixed before update of autopilot on tasks
    for each row when (new.autopilot <> old.autopilot) execute function refuse_autopilot_change();

create table sessions (
    id text primary key,
    task_id text not null references tasks (id) on delete cascade,
    name text,
    state text not null check (state in (
        'CREATED', 'STARTING', 'RUNNING', 'IDLE', 'WAITING_FOR_INPUT', 'COMPLETED', 'FAILED', 'CANCELLED'
    )),
    is_primary bigint not null check (is_primary in (0, 1)),
    is_passthrough bigint not null check (is_passthrough in (0, 1)),
    agent_profile_id text not null references agent_profiles (id),
    provider_session_id text,
    workspace_path text,
    error_message text,
    generation bigint not null default 0,
    auto_run bigint not null default 1 check (auto_run in (0, 1)),
    holder text,
    lease_until bigint,
    started_at bigint,
    completed_at bigint,
    created_at bigint not null,
    updated_at bigint not null,
    version bigint not null,
    check ((state in ('COMPLETED', 'FAILED', 'CANCELLED')) = (completed_at is not null))
);
create index sessions_by_task on sessions (task_id, created_at);
create unique index one_primary_session_a_task on sessions (task_id) where is_primary = 1;
create index sessions_by_holder on sessions (holder, lease_until) where holder is not null;

create table turns (
    id text primary key,
    session_id text not null references sessions (id) on delete cascade,
    task_id text not null references tasks (id) on delete cascade,
    state text not null check (state in ('dispatching', 'open', 'completed', 'cancelled', 'failed', 'interrupted')),
    prompt_id text not null,
    generation bigint not null,
    step_id_at_start text,
    stop_reason text,
    stored_bytes bigint not null default 0,
    started_at bigint not null,
    completed_at bigint,
    check ((state in ('dispatching', 'open')) = (completed_at is null))
);
create index turns_by_session on turns (session_id, started_at);
create unique index one_open_turn_a_session on turns (session_id) where completed_at is null;
create index open_turns_by_task on turns (task_id) where completed_at is null;

create table messages (
    id text primary key,
    session_id text not null references sessions (id) on delete cascade,
    task_id text not null references tasks (id) on delete cascade,
    turn_id text references turns (id) on delete set null,
    seq bigint not null,
    author_type text not null check (author_type in ('user', 'agent')),
    author_id text,
    content text not null,
    hidden_context text,
    message_type text not null check (message_type in (
        'message', 'content', 'tool_call', 'tool_edit', 'tool_read', 'tool_execute', 'progress', 'log', 'error',
        'status', 'permission_request', 'clarification_request', 'script_execution', 'thinking', 'agent_plan', 'todo'
    )),
    metadata text not null,
    requests_input bigint not null check (requests_input in (0, 1)),
    created_at bigint not null,
    updated_at bigint not null,
    unique (session_id, seq)
);

create table parent_questions (
    id text primary key,
    child_task_id text not null references tasks (id) on delete cascade,
    child_session_id text not null references sessions (id) on delete cascade,
    child_turn_id text,
    -- No foreign key: the question outlives its parent, as stale.
    parent_task_id text not null,
    tool_call_key text not null,
    questions text not null,
    context text,
    blocked_effect text,
    status text not null check (status in ('pending', 'answered', 'superseded', 'stale')),
    message_id text not null,
    prompt_id text,
    delivered_at bigint,
    response text,
    answered_by_session_id text,
    created_at bigint not null,
    resolved_at bigint,
    unique (child_session_id, tool_call_key),
    check ((status = 'pending') = (resolved_at is null)),
    check ((status = 'answered') = (response is not null))
);
create unique index one_pending_question_a_session on parent_questions (child_session_id) where status = 'pending';
create index pending_questions_by_child on parent_questions (child_task_id) where status = 'pending';
create index pending_questions_by_parent on parent_questions (parent_task_id) where status = 'pending';

-- Prompts that wait to be delivered, or are being delivered. A row goes when the agent has accepted it.
create table queued_messages (
    id text primary key,
    session_id text not null references sessions (id) on delete cascade,
    task_id text not null references tasks (id) on delete cascade,
    lane text not null check (lane in ('express', 'normal')),
    position bigint not null,
    content text not null,
    hidden_context text,
    metadata text not null,
    queued_by text not null check (queued_by in ('user', 'agent', 'workflow', 'server')),
    sender_task_id text,
    sender_session_id text,
    question_id text unique,
    answer_for_question_id text unique,
    dedupe_key text,
    state text not null check (state in ('queued', 'attempted')),
    turn_id text references turns (id) on delete set null,
    attempts bigint not null default 0,
    queued_at bigint not null,
    check ((state = 'attempted') = (turn_id is not null)),
    unique (session_id, dedupe_key)
);
create index queued_by_session on queued_messages (session_id, lane, position);
create index queued_by_task on queued_messages (task_id);

create table operator_questions (
    id text primary key,
    task_id text not null references tasks (id) on delete cascade,
    session_id text not null references sessions (id) on delete cascade,
    turn_id text,
    request_key text not null,
    questions text not null,
    context text,
    status text not null check (status in ('pending', 'answered', 'rejected', 'expired', 'cancelled')),
    agent_disconnected bigint not null check (agent_disconnected in (0, 1)),
    response text,
    created_at bigint not null,
    resolved_at bigint,
    check ((status = 'pending') = (resolved_at is null))
);
create unique index one_pending_bundle_a_call on operator_questions (session_id, request_key) where status = 'pending';
create index pending_bundles_by_task on operator_questions (task_id) where status = 'pending';
create index pending_bundles_by_session on operator_questions (session_id) where status = 'pending';

create table permissions (
    id text primary key,
    task_id text not null references tasks (id) on delete cascade,
    session_id text not null references sessions (id) on delete cascade,
    turn_id text,
    request_id text not null,
    tool_call text not null,
    options text not null,
    status text not null check (status in ('pending', 'selected', 'cancelled')),
    option_id text,
    created_at bigint not null,
    resolved_at bigint,
    check ((status = 'pending') = (resolved_at is null)),
    check ((status = 'selected') = (option_id is not null))
);
create index pending_permissions_by_task on permissions (task_id) where status = 'pending';
create index pending_permissions_by_session on permissions (session_id) where status = 'pending';

-- `step_complete_kandev`: at most one signal a session and step; it goes when it is used or cancelled.
create table step_signals (
    session_id text not null references sessions (id) on delete cascade,
    step_id text not null references steps (id) on delete cascade,
    summary text not null,
    handoff text,
    blockers text,
    signaled_at bigint not null,
    primary key (session_id, step_id)
);

-- History of moves; only ever added to.
create table step_transitions (
    id text primary key,
    task_id text not null references tasks (id) on delete cascade,
    from_step_id text,
    to_step_id text not null,
    move_trigger text not null check (move_trigger in ('manual', 'auto_complete', 'on_turn_start', 'task_update')),
    actor text not null check (actor in ('human', 'agent', 'system')),
    session_id text,
    created_at bigint not null
);
create index step_transitions_by_task on step_transitions (task_id, created_at);

-- Who may call the tools as which session. Only a hash of the token is kept.
create table mcp_sessions (
    token_hash text primary key,
    task_id text not null references tasks (id) on delete cascade,
    session_id text not null references sessions (id) on delete cascade,
    created_at bigint not null,
    revoked_at bigint
);
create index mcp_sessions_by_session on mcp_sessions (session_id);

create table access_tokens (
    id text primary key,
    name text not null check (name <> ''),
    token_hash text not null unique,
    created_at bigint not null,
    last_used_at bigint,
    revoked_at bigint
);

-- Follow-ups of transitions. A holder has a row until `lease_until`; `attempt` is the fence against a late one. No foreign
-- keys: the wish to end an agent's process must outlive the task it worked on.
create table effects (
    id text primary key,
    kind text not null check (kind in (
        'dispatch', 'cancel_turn', 'stop_process', 'settle_question', 'answer_permission', 'refresh_profile'
    )),
    task_id text not null,
    session_id text not null,
    subject_id text,
    attempt bigint not null default 0,
    run_after bigint not null,
    holder text,
    lease_until bigint,
    created_at bigint not null
);
create index effects_due on effects (run_after, id);
-- Two wishes to dispatch one session are one wish, as long as nobody has begun with it.
create unique index one_waiting_effect_of_a_kind on effects (session_id, kind, coalesce(subject_id, ''))
    where holder is null;

-- The event log. Ids grow in the order of commits: writers take turns (see `store::Tx`).
create table events (
    id bigint generated always as identity primary key,
    kind text not null check (kind in (
        'workspace.updated', 'workflow.updated', 'agent.updated', 'task.created', 'task.updated', 'task.deleted',
        'task.state_changed', 'session.state_changed', 'session.info_updated', 'session.message.added',
        'session.message.updated', 'session.turn.started', 'session.turn.completed', 'message.queue.status_changed',
        'session.clarification_changed', 'session.permission_changed', 'task.parent_question_changed'
    )),
    workspace_id text,
    task_id text,
    session_id text,
    subject_id text,
    created_at bigint not null
);
