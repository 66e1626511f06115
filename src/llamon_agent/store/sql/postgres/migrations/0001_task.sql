-- One row per task: the whole task as JSON in body, and beside it the columns that queries look at. The body is bytea, as
-- jsonb takes no \u0000 and would rewrite what it is given. Names are compared as bytes: an index whose order is a
-- language's is broken by the next version of the system's library, and this one orders task ids as all stores do.
create table llamon_task (
    id         text    collate "C" not null primary key,
    owner      text    collate "C" not null,
    agent      text    collate "C" not null,
    context_id text    collate "C" not null,
    state      text    not null,
    terminal   boolean not null,
    at_ms      bigint  not null,     -- of the status
    seq        bigint  not null,
    holder     text    collate "C",  -- who executes its run; null where nobody does
    attempt    integer not null,     -- of the run; 0 where there is none
    turn       bytea,                -- what the run was begun with, as JSON
    body       bytea   not null
) with (fillfactor = 80);  -- a snapshot changes no index: room in its page keeps it from touching any

-- The order of a list. State is in it so that filtering and counting never open a row.
create index llamon_task_by_status on llamon_task (owner, agent, at_ms desc, id desc, state);

-- A conversation has few tasks; and unlike the other index this one stays as it is when a task changes.
create index llamon_task_by_context on llamon_task (context_id);

-- What a process that takes over has to look at: a row per live run.
create index llamon_task_held on llamon_task (holder) where holder is not null;

-- What has ended, the oldest first: what retention looks at.
create index llamon_task_ended on llamon_task (at_ms) where terminal;

-- What waits for its caller, the oldest first.
create index llamon_task_paused on llamon_task (at_ms) where state in ('input-required', 'auth-required');

-- One row per process that executes runs: so renewing a lease costs one small write, however many runs there are.
create table llamon_holder (
    id       text   collate "C" not null primary key,
    until_ms bigint not null
);

-- Which task a caller's key stands for.
create table llamon_idempotency (
    owner   text   collate "C" not null,
    agent   text   collate "C" not null,
    key     text   collate "C" not null,
    digest  text   not null,
    task_id text   collate "C" not null,
    at_ms   bigint not null,
    primary key (owner, agent, key)
);
create index llamon_idempotency_by_task on llamon_idempotency (task_id);
create index llamon_idempotency_by_time on llamon_idempotency (at_ms);

-- One row per webhook of a task: the whole of it as JSON in body, but for what it was told.
create table llamon_push (
    task_id  text    collate "C" not null,
    id       text    collate "C" not null,
    owner    text    collate "C" not null,
    agent    text    collate "C" not null,
    told_seq bigint  not null,
    done     boolean not null,  -- the task had ended when its last event was told: nothing follows
    body     bytea   not null,
    primary key (task_id, id)
);

-- What a start has to look at; webhooks of tasks that are over, most of them in time, are not in it.
create index llamon_push_to_tell on llamon_push (task_id, id) where not done;
