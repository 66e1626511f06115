-- How many tasks an owner has in each state, so that the total of a list is read and not counted. Triggers keep it in the
-- transaction of each write, so that it is right whatever changes a task.
create table task_count (
    owner text    not null,
    agent text    not null,
    state text    not null,
    tasks integer not null,
    primary key (owner, agent, state)
) without rowid;

insert into task_count (owner, agent, state, tasks)
select owner, agent, state, count(*)
from task
group by owner, agent, state;

create trigger task_created after insert on task
begin
    insert into task_count (owner, agent, state, tasks)
    values (new.owner, new.agent, new.state, 1)
    on conflict (owner, agent, state) do update set tasks = tasks + 1;
end;

create trigger task_moved after update of state on task when old.state <> new.state
begin
    insert into task_count (owner, agent, state, tasks)
    values (new.owner, new.agent, new.state, 1)
    on conflict (owner, agent, state) do update set tasks = tasks + 1;
    update task_count
    set tasks = tasks - 1
    where owner = old.owner and agent = old.agent and state = old.state;
end;

-- With an owner's last task its counts go, too.
create trigger task_forgotten after delete on task
begin
    update task_count
    set tasks = tasks - 1
    where owner = old.owner and agent = old.agent and state = old.state;
    delete from task_count
    where owner = old.owner and agent = old.agent and tasks = 0;
end;

-- The order of a list of one state.
create index task_by_state on task (owner, agent, state, at_ms desc, id desc);

-- The order of a list of one conversation. State is in it so that filtering and counting never open a row.
drop index task_by_context;
create index task_by_context on task (context_id, owner, agent, at_ms desc, id desc, state);

-- What waits in a conversation: every message looks for it.
create index task_paused_in on task (context_id, owner, agent, at_ms desc, id desc)
where state in ('input-required', 'auth-required');
