-- What operators ask, of all owners' tasks. A filter that is off is null.

-- name: latest
select body
from llamon_task
where (%(owner)s::text is null or owner = %(owner)s)
  and (%(agent)s::text is null or agent = %(agent)s)
  and (%(context_id)s::text is null or context_id = %(context_id)s)
  and (%(states)s::text[] is null or state = any(%(states)s))
  and at_ms >= %(since_ms)s
  and at_ms < %(before_ms)s
order by at_ms desc, id desc
limit %(limit)s;

-- name: every
select body
from llamon_task
where (%(owner)s::text is null or owner = %(owner)s)
  and (%(agent)s::text is null or agent = %(agent)s)
  and (%(context_id)s::text is null or context_id = %(context_id)s)
  and (%(states)s::text[] is null or state = any(%(states)s))
  and at_ms >= %(since_ms)s
  and at_ms < %(before_ms)s
order by id;

-- name: count
select count(*)
from llamon_task
where (%(owner)s::text is null or owner = %(owner)s)
  and (%(agent)s::text is null or agent = %(agent)s)
  and (%(context_id)s::text is null or context_id = %(context_id)s)
  and (%(states)s::text[] is null or state = any(%(states)s))
  and at_ms >= %(since_ms)s
  and at_ms < %(before_ms)s;

-- name: find
select body
from llamon_task
where id = %(id)s;

-- name: states
select state, count(*)
from llamon_task
group by state;

-- name: count_webhooks
select count(*)
from llamon_push;

-- name: count_keys
select count(*)
from llamon_idempotency;

-- name: size_bytes
select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint
from pg_class
where relkind = 'r' and relname like 'llamon\_%%' and pg_table_is_visible(oid);
