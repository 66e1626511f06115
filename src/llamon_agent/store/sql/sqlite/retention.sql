-- name: find_key
select digest, task_id
from idempotency
where owner = :owner and agent = :agent and key = :key;

-- name: keep_key
insert into idempotency (owner, agent, key, digest, task_id, at_ms)
values (:owner, :agent, :key, :digest, :task_id, :at_ms);

-- name: forget_keys
delete from idempotency
where (owner, agent, key) in (
    select owner, agent, key
    from idempotency
    where at_ms < :before_ms
    order by at_ms
    limit :limit
);

-- name: paused_before
select body
from task indexed by task_paused
where state in ('input-required', 'auth-required') and at_ms < :before_ms
order by at_ms, id
limit :limit;

-- name: ended_before
select id, owner, agent, context_id
from task indexed by task_ended
where terminal and at_ms < :before_ms
order by at_ms, id
limit :limit;

-- name: forget_task
delete from task
where id = :id;

-- name: forget_pushes
delete from push
where task_id = :id;

-- name: forget_keys_of
delete from idempotency
where task_id = :id;

-- name: has_tasks
select exists (
    select 1
    from task indexed by task_by_context
    where context_id = :context_id and owner = :owner and agent = :agent
);
