-- Entries are written in the transaction that writes their job, and go with it (`jobs::prune`). On Postgres to look the job up again for
-- each entry cost four times as much as the entry; the schema is one.
create table ai_job_timelines (
    id integer primary key autoincrement,
    job_id integer not null,
    event_type text not null,
    source text not null default 'unknown',
    step text,
    message text,
    metadata_json text,
    created_at integer not null
);
insert into ai_job_timelines (id, job_id, event_type, source, step, message, metadata_json, created_at)
    select id, job_id, event_type, source, step, message, metadata_json, created_at from ai_job_events order by id;
-- Numbers grow for ever, also when the newest entries are gone.
insert into sqlite_sequence (name, seq) select 'ai_job_timelines', 0
    where not exists (select 1 from sqlite_sequence where name = 'ai_job_timelines');
update sqlite_sequence set seq = coalesce((select seq from sqlite_sequence where name = 'ai_job_events'), 0)
    where name = 'ai_job_timelines';
drop table ai_job_events;
alter table ai_job_timelines rename to ai_job_events;
create index ai_job_events_job on ai_job_events (job_id, id);
