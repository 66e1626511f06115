-- Who executes a task's run, in which attempt, and what it was begun with.
alter table task add column holder text;
alter table task add column attempt integer not null default 0;
alter table task add column turn blob;

-- What was unsettled before there were holders has a holder that nobody knows: so it is taken over, without its turn.
update task set holder = '', attempt = 1 where state in ('submitted', 'working');

-- A row per live run, however many tasks there are.
create index task_by_holder on task (holder) where holder is not null;

-- What retention looks at.
create index task_ended on task (at_ms, id) where terminal;
create index task_paused on task (at_ms, id) where state in ('input-required', 'auth-required');

-- One row per process that executes runs: so renewing a lease costs one small write, however many runs there are.
create table holder (
    id       text    not null primary key,
    until_ms integer not null
) without rowid;

-- Which task a caller's key stands for.
create table idempotency (
    owner   text    not null,
    agent   text    not null,
    key     text    not null,
    digest  text    not null,
    task_id text    not null,
    at_ms   integer not null,
    primary key (owner, agent, key)
) without rowid;

create index idempotency_by_task on idempotency (task_id);
create index idempotency_by_time on idempotency (at_ms);
