-- Jobs in groups, and in lanes of their queues.

-- One row for each member of a group, until the job is removed.
CREATE TABLE members (
    job INTEGER PRIMARY KEY,
    group_id INTEGER NOT NULL   -- the innermost group that it is in
);

CREATE INDEX members_group ON members (group_id);

-- In jobs.queue a living job in a lane has the lane instead of its queue: so its lane is found by
-- the index of ready jobs, and other jobs need no further column.
CREATE TABLE lanes (
    id INTEGER PRIMARY KEY,     -- above the numbers of all queues
    queue INTEGER NOT NULL
);
