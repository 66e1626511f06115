-- name: reached
select 1 from task where id = '';

-- name: create
insert into task (id, owner, agent, context_id, state, terminal, at_ms, seq, body, holder, attempt, turn)
values (
    :id, :owner, :agent, :context_id, :state, :terminal, :at_ms, :seq, :body,
    iif(:turn is null, null, :holder), :turn is not null, :turn
)
on conflict (id) do nothing;

-- name: save
-- A process whose run was taken over is no longer the holder, and overwrites nothing.
update task
set state = :state, terminal = :terminal, at_ms = :at_ms, seq = :seq, body = :body
where id = :id and seq = :expect and not terminal and (holder is null or holder = :holder);

-- name: save_begun
update task
set state = :state, terminal = :terminal, at_ms = :at_ms, seq = :seq, body = :body,
    holder = :holder, attempt = 1, turn = :turn
where id = :id and seq = :expect and not terminal and (holder is null or holder = :holder);

-- name: save_settled
update task
set state = :state, terminal = :terminal, at_ms = :at_ms, seq = :seq, body = :body,
    holder = null, attempt = 0, turn = null
where id = :id and seq = :expect and not terminal and (holder is null or holder = :holder);

-- name: get
select body
from task
where id = :id and owner = :owner and agent = :agent;

-- name: paused_in
select body
from task indexed by task_paused_in
where context_id = :context_id
  and owner = :owner
  and agent = :agent
  and state in ('input-required', 'auth-required')
order by at_ms desc, id desc
limit 1;

-- name: list_all
select body
from task indexed by task_by_status
where owner = :owner
  and agent = :agent
  and at_ms >= :changed_since_ms
  and (at_ms, id) < (:after_ms, :after_id)
order by at_ms desc, id desc
limit :rows;

-- name: list_state
select body
from task indexed by task_by_state
where owner = :owner
  and agent = :agent
  and state = :state
  and at_ms >= :changed_since_ms
  and (at_ms, id) < (:after_ms, :after_id)
order by at_ms desc, id desc
limit :rows;

-- name: list_context
select body
from task indexed by task_by_context
where context_id = :context_id
  and owner = :owner
  and agent = :agent
  and at_ms >= :changed_since_ms
  and (at_ms, id) < (:after_ms, :after_id)
  and state between :first_state and :last_state
order by at_ms desc, id desc
limit :rows;

-- name: total
select coalesce(sum(tasks), 0)
from task_count
where owner = :owner
  and agent = :agent
  and state between :first_state and :last_state;

-- name: count_all
select count(*)
from task indexed by task_by_status
where owner = :owner
  and agent = :agent
  and at_ms >= :changed_since_ms;

-- name: count_state
select count(*)
from task indexed by task_by_state
where owner = :owner
  and agent = :agent
  and state = :state
  and at_ms >= :changed_since_ms;

-- name: count_context
select count(*)
from task indexed by task_by_context
where context_id = :context_id
  and owner = :owner
  and agent = :agent
  and at_ms >= :changed_since_ms
  and state between :first_state and :last_state;
