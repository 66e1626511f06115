-- name: make_versions
create table if not exists llamon_schema (
    version integer     not null primary key,
    at      timestamptz not null default now()
);

-- name: has_versions
select to_regclass('llamon_schema') is not null;

-- name: version
select coalesce(max(version), 0)
from llamon_schema;

-- name: add_version
insert into llamon_schema (version)
values (%(version)s);

-- name: take_turn
-- The lock lasts as long as the transaction, which a pooler keeps on one connection, too. LangGraph's own migrations have
-- `create index concurrently`, which waits until every older snapshot is gone. So this does not wait, as a statement that
-- waits holds a snapshot; and it has no parameters, as a statement with parameters keeps its snapshot until the next one.
-- The number is one that no other program uses.
select pg_try_advisory_xact_lock(19393172602881);

-- name: no_time_limit
set local statement_timeout = 0;

-- name: facts
select current_setting('server_encoding'), current_setting('transaction_read_only'),
       current_setting('server_version_num')::integer, current_setting('default_transaction_isolation');
