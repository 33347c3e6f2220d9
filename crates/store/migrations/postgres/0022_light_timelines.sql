-- Entries are written in the transaction that writes their job, and go with it (`jobs::prune`). To look the job up again for each entry
-- cost four times as much as the entry.
alter table ai_job_events drop constraint ai_job_events_job_id_fkey;
