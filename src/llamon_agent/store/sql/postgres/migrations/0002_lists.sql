-- How many tasks an owner has in each state, so that the total of a list is read and not counted. Triggers keep it in the
-- transaction of each write, so that it is right whatever changes a task: also a process of an earlier version, and psql.
create table llamon_task_count (
    owner text   collate "C" not null,
    agent text   collate "C" not null,
    state text   collate "C" not null,
    tasks bigint not null,
    primary key (owner, agent, state)
) with (fillfactor = 50);  -- few rows, which change often: room for their next versions

-- Once for each statement, and in one order: so that two statements never wait for each other. When it runs, its statement
-- has locked all its tasks.
create function llamon_count_tasks() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        insert into llamon_task_count as kept (owner, agent, state, tasks)
        select owner, agent, state, count(*)
        from after_it
        group by owner, agent, state
        order by owner, agent, state collate "C"
        on conflict (owner, agent, state) do update set tasks = kept.tasks + excluded.tasks;
    elsif tg_op = 'UPDATE' then
        insert into llamon_task_count as kept (owner, agent, state, tasks)
        select owner, agent, state, sum(change)
        from (
            select owner, agent, state, 1 as change from after_it
            union all
            select owner, agent, state, -1 from before_it
        ) as changed
        group by owner, agent, state
        having sum(change) <> 0
        order by owner, agent, state collate "C"
        on conflict (owner, agent, state) do update set tasks = kept.tasks + excluded.tasks;
    elsif tg_op = 'TRUNCATE' then
        delete from llamon_task_count;
    else
        insert into llamon_task_count as kept (owner, agent, state, tasks)
        select owner, agent, state, -count(*)
        from before_it
        group by owner, agent, state
        order by owner, agent, state collate "C"
        on conflict (owner, agent, state) do update set tasks = kept.tasks + excluded.tasks;
        -- With an owner's last task its counts go, too; one that is in use is left for the next time.
        delete from llamon_task_count
        where (owner, agent, state) in (
            select owner, agent, state
            from llamon_task_count
            where (owner, agent) in (select owner, agent from before_it) and tasks = 0
            for update skip locked
        );
    end if;
    return null;
end
$$;

-- The first one locks the table against writes until this migration is committed.
create trigger llamon_task_created after insert on llamon_task
referencing new table as after_it
for each statement execute function llamon_count_tasks();

create trigger llamon_task_moved after update on llamon_task
referencing old table as before_it new table as after_it
for each statement execute function llamon_count_tasks();

create trigger llamon_task_forgotten after delete on llamon_task
referencing old table as before_it
for each statement execute function llamon_count_tasks();

create trigger llamon_task_emptied after truncate on llamon_task
for each statement execute function llamon_count_tasks();

insert into llamon_task_count (owner, agent, state, tasks)
select owner, agent, state, count(*)
from llamon_task
group by owner, agent, state;

-- The order of a list of one state.
create index llamon_task_by_state on llamon_task (owner, agent, state, at_ms desc, id desc);

-- The order of a list of one conversation. State is in it so that filtering and counting never open a row.
drop index llamon_task_by_context;
create index llamon_task_by_context on llamon_task (context_id, owner, agent, at_ms desc, id desc, state);

-- What waits in a conversation: every message looks for it.
create index llamon_task_paused_in on llamon_task (context_id, owner, agent, at_ms desc, id desc)
where state in ('input-required', 'auth-required');
