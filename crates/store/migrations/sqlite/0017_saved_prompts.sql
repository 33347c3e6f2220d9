-- Words that an operator saved under a name.
create table saved_prompts (
    name text primary key,
    content text not null check (content <> ''),
    created_at integer not null,
    updated_at integer not null
);
