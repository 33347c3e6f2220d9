-- Whether the provider could merge a request when it was seen last. What was seen before this was noted is found out at the next look.
alter table change_requests add column mergeable text check (mergeable in ('ready', 'conflict', 'not_yet'));
update change_requests set mergeable = 'not_yet' where seen_at is not null;
