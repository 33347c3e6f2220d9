-- Who may sign in. Without any, the person at the machine is the operator, and the server listens on loopback only.
create table operators (
    id text primary key,
    name text not null check (name <> ''),
    -- The name as it is compared: found whatever the case it is typed in.
    name_key text not null unique check (name_key <> ''),
    password_hash text not null check (password_hash like '$argon2id$%'),
    created_at bigint not null,
    last_signed_in_at bigint
);

-- Browsers that are signed in, by the hash of what their cookie holds. They end with their operator.
create table web_sessions (
    key_hash text primary key,
    operator_id text not null references operators (id) on delete cascade,
    record text not null,
    expires_at bigint not null
);
create index web_sessions_by_operator on web_sessions (operator_id);
create index web_sessions_by_end on web_sessions (expires_at);
