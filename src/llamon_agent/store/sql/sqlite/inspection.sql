-- What operators ask, of all owners' tasks. Only columns that every version of the schema has, so that a file can be
-- read before it is migrated.

-- name: latest
select body
from task
where (:owner is null or owner = :owner)
  and (:agent is null or agent = :agent)
  and (:context_id is null or context_id = :context_id)
  and (:states is null or state in (select value from json_each(:states)))
  and at_ms >= :since_ms
  and at_ms < :before_ms
order by at_ms desc, id desc
limit :limit;

-- name: every
select body
from task
where (:owner is null or owner = :owner)
  and (:agent is null or agent = :agent)
  and (:context_id is null or context_id = :context_id)
  and (:states is null or state in (select value from json_each(:states)))
  and at_ms >= :since_ms
  and at_ms < :before_ms
order by id;

-- name: count
select count(*)
from task
where (:owner is null or owner = :owner)
  and (:agent is null or agent = :agent)
  and (:context_id is null or context_id = :context_id)
  and (:states is null or state in (select value from json_each(:states)))
  and at_ms >= :since_ms
  and at_ms < :before_ms;

-- name: find
select body
from task
where id = :id;

-- name: states
select state, count(*)
from task
group by state;

-- name: tables
select name
from sqlite_schema
where type = 'table';

-- name: count_webhooks
select count(*)
from push;

-- name: count_keys
select count(*)
from idempotency;
