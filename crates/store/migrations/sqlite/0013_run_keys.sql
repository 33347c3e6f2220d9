-- Every call of a client under a key of its own, also one that started nothing: what found its twin, what answered a run that waited.
-- A repeat is told of the same run, whatever became of it.
create table run_keys (
    token_id text not null,
    idempotency_key text not null,
    payload_hash text not null,
    run_id text not null references runs (id) on delete cascade,
    primary key (token_id, idempotency_key)
);
insert into run_keys (token_id, idempotency_key, payload_hash, run_id)
    select token_id, idempotency_key, payload_hash, id from runs where idempotency_key is not null;
create index run_keys_by_run on run_keys (run_id);
drop index runs_by_key;
alter table runs drop column idempotency_key;
alter table runs drop column payload_hash;
