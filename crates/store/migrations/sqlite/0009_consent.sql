-- Consent by a button is kept before anything is done, and the end after it: a crash in between leaves a row that says what is to be
-- carried out still, under a key by which it is done once.
alter table pending_confirmations add column agreed_at integer;
alter table pending_confirmations add column outcome text check (outcome in ('confirmed', 'declined'));
alter table pending_confirmations add column result_json text;
update pending_confirmations set outcome = 'confirmed' where consumed_at is not null;
create index pending_confirmations_agreed on pending_confirmations (id) where agreed_at is not null and consumed_at is null;
