-- Words that an operator saved under a name.
create table saved_prompts (
    name text primary key,
    content text not null check (content <> ''),
    created_at bigint not null,
    updated_at bigint not null
);
