-- A list is one statement, so that the page and its total are of the same moment: `list` with one of the totals and one of
-- the pages below in its places.

-- name: list
-- A row whose body is null is left for the next page, as the page is full: of tasks, or of bytes. The size of a body is
-- known without reading it.
select found.total, page.id, page.body
from ({total}) as found
left join lateral (
    select at_ms, id, case when place < %(rows)s and bytes_before < %(max_bytes)s then body end as body
    from (
        select at_ms, id, body,
               row_number() over newest_first as place,
               coalesce(sum(octet_length(body)) over (
                   newest_first rows between unbounded preceding and 1 preceding
               ), 0) as bytes_before
        from ({page}) as task
        window newest_first as (order by at_ms desc, id desc)
    ) as sized
) as page on true
order by page.at_ms desc, page.id desc;

-- name: page_all
select at_ms, id, body
from llamon_task
where owner = %(owner)s
  and agent = %(agent)s
  and at_ms >= %(changed_since_ms)s
  and (at_ms, id) < (%(after_ms)s, %(after_id)s)
order by at_ms desc, id desc
limit %(rows)s;

-- name: page_state
select at_ms, id, body
from llamon_task
where owner = %(owner)s
  and agent = %(agent)s
  and state = %(state)s
  and at_ms >= %(changed_since_ms)s
  and (at_ms, id) < (%(after_ms)s, %(after_id)s)
order by at_ms desc, id desc
limit %(rows)s;

-- name: page_context
select at_ms, id, body
from llamon_task
where context_id = %(context_id)s
  and owner = %(owner)s
  and agent = %(agent)s
  and at_ms >= %(changed_since_ms)s
  and (at_ms, id) < (%(after_ms)s, %(after_id)s)
  and state between %(first_state)s and %(last_state)s
order by at_ms desc, id desc
limit %(rows)s;

-- name: total
select coalesce(sum(tasks), 0)::bigint as total
from llamon_task_count
where owner = %(owner)s
  and agent = %(agent)s
  and state between %(first_state)s and %(last_state)s;

-- name: count_all
select count(*) as total
from llamon_task
where owner = %(owner)s
  and agent = %(agent)s
  and at_ms >= %(changed_since_ms)s;

-- name: count_state
select count(*) as total
from llamon_task
where owner = %(owner)s
  and agent = %(agent)s
  and state = %(state)s
  and at_ms >= %(changed_since_ms)s;

-- name: count_context
select count(*) as total
from llamon_task
where context_id = %(context_id)s
  and owner = %(owner)s
  and agent = %(agent)s
  and at_ms >= %(changed_since_ms)s
  and state between %(first_state)s and %(last_state)s;
