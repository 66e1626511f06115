-- name: create
insert into task (id, owner, agent, context_id, state, terminal, at_ms, seq, body)
values (:id, :owner, :agent, :context_id, :state, :terminal, :at_ms, :seq, :body)
on conflict (id) do nothing;

-- name: save
update task
set state = :state, terminal = :terminal, at_ms = :at_ms, seq = :seq, body = :body
where id = :id and seq = :expect and not terminal;

-- name: get
select body
from task
where id = :id and owner = :owner and agent = :agent;

-- name: unfinished
-- Asked once, at the start: reading all of an index then costs less than keeping another one with every write.
select body
from task
where id in (select id from task where state in (select value from json_each(:states)))
order by at_ms, id;

-- name: list
select body
from task
where owner = :owner
  and agent = :agent
  and at_ms >= :changed_since_ms
  and (at_ms, id) < (:after_ms, :after_id)
  and state in (select value from json_each(:states))
order by at_ms desc, id desc
limit :rows;

-- name: count
select count(*)
from task
where owner = :owner
  and agent = :agent
  and at_ms >= :changed_since_ms
  and state in (select value from json_each(:states));

-- name: list_context
select body
from task indexed by task_by_context
where context_id = :context_id
  and owner = :owner
  and agent = :agent
  and at_ms >= :changed_since_ms
  and (at_ms, id) < (:after_ms, :after_id)
  and state in (select value from json_each(:states))
order by at_ms desc, id desc
limit :rows;

-- name: count_context
select count(*)
from task indexed by task_by_context
where context_id = :context_id
  and owner = :owner
  and agent = :agent
  and at_ms >= :changed_since_ms
  and state in (select value from json_each(:states));
