-- One row per webhook of a task: the whole configuration as JSON in body, and beside it the columns that queries look at.
create table push (
    task_id  text    not null,
    id       text    not null,
    owner    text    not null,
    agent    text    not null,
    told_seq integer not null,
    done     integer not null,  -- the task had ended when its last event was told: nothing follows
    body     blob    not null,
    primary key (task_id, id)
) without rowid;

-- What a start has to look at; webhooks of tasks that are over, most of them in time, are not in it.
create index push_to_tell on push (task_id, id) where not done;
