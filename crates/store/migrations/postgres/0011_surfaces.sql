-- The surfaces of tools beside the board's: what a task is for, and profiles whose agents need not be asked about.

-- Decides which tools the task's sessions see; chosen at creation by the operator alone.
alter table tasks add column purpose text not null default 'work' check (purpose in ('work', 'configuration', 'office'));

-- Permission requests of its agents are allowed without a person.
alter table agent_profiles add column auto_approve bigint not null default 0 check (auto_approve in (0, 1));
