-- name: make_known
insert into llamon_holder (id, until_ms)
values (%(holder)s, %(until_ms)s)
on conflict (id) do update
set until_ms = excluded.until_ms;

-- name: renew
update llamon_holder
set until_ms = %(until_ms)s
where id = %(holder)s;

-- name: release_holder
delete from llamon_holder
where id = %(holder)s;

-- name: wait_for_turn
-- One process takes over at a time: the snapshot of another might be older than the row of this holder. And one process
-- prunes at a time: of two that delete the last tasks of a context, each would still see the other's tasks, and neither
-- would report the context. The number is one that no other program uses, and differs from that of `take_turn`, because
-- a process that waits here holds a snapshot.
select pg_advisory_xact_lock(19393172602883);

-- name: end_holders
delete from llamon_holder
where until_ms <= %(now_ms)s and id <> %(holder)s;

-- name: abandoned
-- Also the tasks that this process may have taken without getting the answer.
select id
from llamon_task as task
where (
    (
        holder is not null
        and holder <> %(holder)s
        and not exists (select from llamon_holder as known where known.id = task.holder)
    ) or (holder = %(holder)s and id = any(%(doubtful)b::text[]))
) and (%(only)s::text is null or id = %(only)s)
order by at_ms, id
limit %(limit)s
for update of task;

-- name: take
with taken as (
    update llamon_task as task
    set attempt = attempt + (state <> 'submitted' and holder <> %(holder)s)::integer,
        holder = %(holder)s
    where id = any(%(id)b::text[])
    returning at_ms, id, body, turn, attempt
)
select body, turn, attempt
from taken
order by at_ms, id;

-- name: held
select body
from llamon_task
where holder = %(holder)s and not (id = any(%(excluding)b::text[]))
limit %(limit)s;

-- name: paused_before
select body
from llamon_task
where state in ('input-required', 'auth-required') and at_ms < %(before_ms)s
order by at_ms, id
limit %(limit)s;

-- name: prune
with gone as (
    delete from llamon_task
    where id in (
        select id
        from llamon_task
        where terminal and at_ms < %(before_ms)s
        order by at_ms, id
        limit %(limit)s
        for update skip locked
    )
    returning id, owner, agent, context_id, at_ms
),
webhooks as (
    delete from llamon_push
    where task_id in (select id from gone)
),
keys as (
    delete from llamon_idempotency
    where task_id in (select id from gone)
)
select gone.id, gone.owner, gone.agent, gone.context_id, other.id is not null
from gone
left join lateral (
    select task.id
    from llamon_task as task
    where task.context_id = gone.context_id
      and task.owner = gone.owner
      and task.agent = gone.agent
      and task.id not in (select id from gone)  -- all parts of a statement see what was there before it
    limit 1
) as other on true
order by gone.at_ms, gone.id;

-- name: find_key
select digest, task_id
from llamon_idempotency
where owner = %(owner)s and agent = %(agent)s and key = %(key)s;

-- name: forget_keys
delete from llamon_idempotency
where (owner, agent, key) in (
    select owner, agent, key
    from llamon_idempotency
    where at_ms < %(before_ms)s
    order by at_ms
    limit %(limit)s
    for update skip locked
);
