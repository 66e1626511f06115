-- name: make_known
insert into holder (id, until_ms)
values (:holder, :until_ms);

-- name: renew
update holder
set until_ms = :until_ms
where id = :holder;

-- name: release_holder
delete from holder
where id = :holder;

-- name: end_all
delete from holder;

-- name: end_dead
delete from holder
where until_ms <= :now_ms and id <> :holder;

-- name: take_over
update task
set holder = :holder, attempt = attempt + (state <> 'submitted')
where id in (
    select id
    from task indexed by task_by_holder
    where holder is not null
      and holder <> :holder
      and holder not in (select id from holder)
      and (:task_id is null or id = :task_id)
    order by at_ms, id
    limit :limit
)
returning body, turn, attempt;

-- name: held
select body
from task indexed by task_by_holder
where holder = :holder
  and id not in (select value from json_each(:excluding))
limit :limit;
