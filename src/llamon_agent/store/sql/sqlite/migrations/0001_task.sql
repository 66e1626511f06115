-- One row per task: the whole task as JSON in body, and beside it the columns that queries look at.
create table task (
    id         text    not null primary key,
    owner      text    not null,
    agent      text    not null,
    context_id text    not null,
    state      text    not null,
    terminal   integer not null,
    at_ms      integer not null,  -- of the status
    seq        integer not null,
    body       blob    not null   -- last, so that the columns are read without it
);

-- The order of a list. State is in it so that filtering and counting never open a row.
create index task_by_status on task (owner, agent, at_ms desc, id desc, state);

-- A conversation has few tasks; and unlike the other index this one stays as it is when a task changes.
create index task_by_context on task (context_id);
