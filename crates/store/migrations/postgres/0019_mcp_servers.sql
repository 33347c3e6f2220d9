-- What a profile's agents are given beside Flightdeck's own tools. The servers hold secrets, so they are read by nobody but the start
-- of an agent and the rules for changing them.
create table mcp_configs (
    profile_id text primary key references agent_profiles (id) on delete cascade,
    enabled bigint not null check (enabled in (0, 1)),
    servers text not null,
    updated_at bigint not null
);

-- Whether an agent takes servers over HTTP, when somebody knows better than its handshake.
alter table agents add column supports_mcp_override bigint check (supports_mcp_override in (0, 1));
