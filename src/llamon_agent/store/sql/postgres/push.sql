-- name: put_push
insert into llamon_push (task_id, id, owner, agent, told_seq, done, body)
values (%(task_id)s, %(id)s, %(owner)s, %(agent)s, %(told_seq)s, false, %(body)s)
on conflict (task_id, id) do update
set owner = excluded.owner, agent = excluded.agent, told_seq = excluded.told_seq, done = false, body = excluded.body;

-- name: list_push
select body, told_seq
from llamon_push
where task_id = %(task_id)s and owner = %(owner)s and agent = %(agent)s
order by id;

-- name: delete_push
delete from llamon_push
where task_id = %(task_id)s and id = %(id)s and owner = %(owner)s and agent = %(agent)s;

-- name: mark_delivered
update llamon_push as push
set told_seq = %(seq)s,
    done = exists (
        select from llamon_task as task
        where task.id = push.task_id and task.terminal and task.seq <= %(seq)s
    )
where task_id = %(task_id)s and id = %(id)s and told_seq < %(seq)s;

-- name: undelivered
select push.body, push.told_seq
from llamon_push as push
join llamon_task as task on task.id = push.task_id
where not push.done
  and (not task.terminal or task.seq > push.told_seq)
order by push.task_id, push.id;
