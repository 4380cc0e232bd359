-- Jobs that were cancelled because of another job's end.  Running that job again brings them back.

CREATE TABLE undone (
    waiter INTEGER PRIMARY KEY, -- a job that was cancelled because of a condition
    target INTEGER NOT NULL     -- the job that decided it
);

CREATE INDEX undone_target ON undone (target, waiter);

-- Jobs that were run again, while jobs that they had cancelled are still to be brought back.
CREATE TABLE revivals (
    target INTEGER PRIMARY KEY,
    cursor INTEGER NOT NULL     -- the last waiter that was checked
);
