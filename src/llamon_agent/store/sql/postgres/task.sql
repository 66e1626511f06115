-- Each writing statement takes the rows of many callers as arrays: a group of writes is one statement, one plan and one
-- round trip. A group has at most one row of each task, and its rows are sorted by the task's id, so that all processes
-- lock rows in the same order.

-- name: reached
select 1 from llamon_task where id = '';

-- name: create
with new as (
    select *
    from unnest(
        %(id)b::text[], %(owner)b::text[], %(agent)b::text[], %(context_id)b::text[], %(state)b::text[],
        %(terminal)b::boolean[], %(at_ms)s::bigint[], %(seq)s::bigint[], %(body)b::bytea[], %(turn)b::bytea[],
        %(key)b::text[], %(digest)b::text[], %(key_at_ms)s::bigint[]
    ) as new (id, owner, agent, context_id, state, terminal, at_ms, seq, body, turn, key, digest, key_at_ms)
),
keyed as (
    insert into llamon_idempotency (owner, agent, key, digest, task_id, at_ms)
    select owner, agent, key, digest, id, key_at_ms
    from new
    where key is not null and not exists (select from llamon_task where llamon_task.id = new.id)
    order by owner, agent, key
    on conflict do nothing
    returning task_id
)
insert into llamon_task (id, owner, agent, context_id, state, terminal, at_ms, seq, holder, attempt, turn, body)
select id, owner, agent, context_id, state, terminal, at_ms, seq,
       case when turn is not null then %(holder)s end, (turn is not null)::integer, turn, body
from new
where key is null or id in (select task_id from keyed)
on conflict (id) do nothing
returning id;

-- name: save
-- A task that another process holds is not saved: a process that was taken over overwrites nothing. `again` says that the
-- kept value is a write of this process that was in doubt, and that no caller has seen: it may be replaced even if it is
-- terminal.
with new as (
    select *
    from unnest(
        %(id)b::text[], %(state)b::text[], %(terminal)b::boolean[], %(settled)b::boolean[], %(at_ms)s::bigint[],
        %(seq)s::bigint[], %(body)b::bytea[], %(turn)b::bytea[], %(expect)s::bigint[], %(again)b::boolean[],
        %(key)b::text[], %(digest)b::text[], %(key_at_ms)s::bigint[]
    ) as new (id, state, terminal, settled, at_ms, seq, body, turn, expect, again, key, digest, key_at_ms)
),
keyed as (
    -- A key has one task, so it is written first; the lock keeps the task as it is read here.
    insert into llamon_idempotency (owner, agent, key, digest, task_id, at_ms)
    select task.owner, task.agent, new.key, new.digest, task.id, new.key_at_ms
    from new
    join llamon_task as task on task.id = new.id
    where new.key is not null
      and task.seq = new.expect
      and (not task.terminal or new.again)
      and (task.holder is null or task.holder = %(holder)s)
    order by task.owner, task.agent, new.key
    for update of task
    on conflict do nothing
    returning task_id
)
update llamon_task as task
set state = new.state,
    terminal = new.terminal,
    at_ms = new.at_ms,
    seq = new.seq,
    body = new.body,
    holder = case when new.settled then null when new.turn is not null then %(holder)s else task.holder end,
    attempt = case when new.settled then 0 when new.turn is not null then 1 else task.attempt end,
    turn = case when new.settled then null else coalesce(new.turn, task.turn) end
from new
left join keyed on keyed.task_id = new.id
where task.id = new.id
  and task.seq = new.expect
  and (not task.terminal or new.again)
  and (task.holder is null or task.holder = %(holder)s)
  and (new.key is null or keyed.task_id is not null or new.again)
returning task.id;

-- name: kept_seqs
-- For tasks of which a write is in doubt.
select id, seq
from llamon_task
where id = any(%(id)b::text[]);

-- name: undo_creates
-- Tasks that may have been created although their callers got an error.
with undone as (
    delete from llamon_task as task
    using unnest(%(id)b::text[], %(seq)s::bigint[]) as doubtful (id, seq)
    where task.id = doubtful.id and task.seq = doubtful.seq and (task.holder is null or task.holder = %(holder)s)
    returning task.id
)
delete from llamon_idempotency
where task_id in (select id from undone);

-- name: get
select body
from llamon_task
where id = %(id)s and owner = %(owner)s and agent = %(agent)s;

-- name: paused_in
select body
from llamon_task
where context_id = %(context_id)s
  and owner = %(owner)s
  and agent = %(agent)s
  and state in ('input-required', 'auth-required')
order by at_ms desc, id desc
limit 1;
