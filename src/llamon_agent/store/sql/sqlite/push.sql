-- name: put_push
insert into push (task_id, id, owner, agent, told_seq, done, body)
values (:task_id, :id, :owner, :agent, :told_seq, 0, :body)
on conflict (task_id, id) do update
set owner = excluded.owner, agent = excluded.agent, told_seq = excluded.told_seq, done = 0, body = excluded.body;

-- name: list_push
select owner, agent, task_id, told_seq, body
from push
where task_id = :task_id and owner = :owner and agent = :agent
order by id;

-- name: delete_push
delete from push
where task_id = :task_id and id = :id and owner = :owner and agent = :agent;

-- name: mark_delivered
update push
set told_seq = :seq,
    done = exists (select 1 from task where task.id = push.task_id and task.terminal and task.seq <= :seq)
where task_id = :task_id and id = :id and told_seq < :seq;

-- name: undelivered
select push.owner, push.agent, push.task_id, push.told_seq, push.body
from push indexed by push_to_tell
join task on task.id = push.task_id
where not push.done
  and (not task.terminal or task.seq > push.told_seq)
order by push.task_id, push.id;
