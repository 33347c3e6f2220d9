-- Only of jobs that are over. With the others in it, SQLite took it for what is due, and sorted all that waits.
drop index ai_jobs_ended;
create index ai_jobs_ended on ai_jobs (status, updated_at) where status in ('completed', 'failed_terminal', 'canceled');
