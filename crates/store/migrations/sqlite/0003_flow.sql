-- The workflow engine: dependencies, places in a step, moves that wait, and what a step does to a session.

-- A card beyond its step's limit is in the step but not admitted to it. A card that waits in a feeder names the step it waits
-- for.
alter table tasks add column wip_admitted integer not null default 1 check (wip_admitted in (0, 1));
alter table tasks add column queued_for_step_id text references steps (id) on delete set null;
alter table tasks add column queued_at integer;
-- Why the workflow does not move the card any more, in words for a person.
alter table tasks add column workflow_notice text;
create index tasks_beyond_a_limit on tasks (workflow_step_id, position) where wip_admitted = 0;
create index tasks_queued_for_a_step on tasks (queued_for_step_id) where queued_for_step_id is not null;

alter table sessions add column plan_mode integer not null default 0 check (plan_mode in (0, 1));
alter table sessions add column session_mode text;
alter table sessions add column fresh_start text not null default 'none' check (fresh_start in ('none', 'wanted', 'begun'));

create table task_dependencies (
    task_id text not null references tasks (id) on delete cascade,
    depends_on_task_id text not null references tasks (id) on delete cascade,
    created_at integer not null,
    primary key (task_id, depends_on_task_id),
    check (task_id <> depends_on_task_id)
);
create index dependencies_by_predecessor on task_dependencies (depends_on_task_id);

-- A start that was asked for and waits for predecessors or for a place. The row goes when an agent has taken the prompt;
-- `launched` says that it is under way.
create table deferred_launches (
    task_id text primary key references tasks (id) on delete cascade,
    intent text not null check (intent in ('start', 'enter_step')),
    prompt text not null,
    queued_by text not null check (queued_by in ('user', 'agent', 'workflow', 'server')),
    sender_task_id text,
    sender_session_id text,
    metadata text not null,
    launched integer not null default 0 check (launched in (0, 1)),
    created_at integer not null
);

-- A move of a card whose agent is at work: done once, when the turn has ended.
create table pending_moves (
    session_id text primary key references sessions (id) on delete cascade,
    move_id text not null unique,
    task_id text not null unique references tasks (id) on delete cascade,
    step_id text not null references steps (id) on delete cascade,
    position integer,
    move_trigger text not null check (move_trigger in (
        'manual', 'auto_complete', 'approval', 'on_turn_start', 'on_children_completed', 'task_update', 'queue_promotion'
    )),
    actor text not null check (actor in ('human', 'agent', 'system')),
    sender_task_id text,
    sender_session_id text,
    entry_options text,
    created_at integer not null
);

-- What a move asked for that waits for its card's admission; taken once, by the entry.
create table entry_markers (
    task_id text primary key references tasks (id) on delete cascade,
    move_id text not null,
    from_step_id text not null,
    step_id text not null references steps (id) on delete cascade,
    entry_options text not null,
    created_at integer not null
);

-- More triggers, and the move that a change of step belongs to: no move is done twice.
create table step_transitions_with_moves (
    id text primary key,
    task_id text not null references tasks (id) on delete cascade,
    from_step_id text,
    to_step_id text not null,
    move_trigger text not null check (move_trigger in (
        'manual', 'auto_complete', 'approval', 'on_turn_start', 'on_children_completed', 'task_update', 'queue_promotion'
    )),
    actor text not null check (actor in ('human', 'agent', 'system')),
    session_id text,
    move_id text,
    created_at integer not null
);
insert into step_transitions_with_moves (id, task_id, from_step_id, to_step_id, move_trigger, actor, session_id, created_at)
    select id, task_id, from_step_id, to_step_id, move_trigger, actor, session_id, created_at from step_transitions;
drop table step_transitions;
alter table step_transitions_with_moves rename to step_transitions;
create index step_transitions_by_task on step_transitions (task_id, created_at);
create unique index one_transition_a_move on step_transitions (move_id) where move_id is not null;
