-- When the operator last asked for a plan to be carried out, and in which session. No part of its text: it changes no version.
alter table plans add column implementation_started_at integer;
alter table plans add column implementation_started_by text check (implementation_started_by in ('agent', 'user'));
alter table plans add column implementation_started_session_id text;
