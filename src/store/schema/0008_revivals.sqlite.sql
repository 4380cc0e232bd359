-- What a job's end has cancelled, so that running that job again brings it back.

CREATE TABLE undone (
    waiter INTEGER PRIMARY KEY, -- a job that was cancelled because of a condition
    target INTEGER NOT NULL     -- the job that decided it
);

CREATE INDEX undone_target ON undone (target, waiter);

-- Jobs that are run again, and what they had cancelled is still to be brought back.
CREATE TABLE revivals (
    target INTEGER PRIMARY KEY,
    cursor INTEGER NOT NULL     -- waiters up to here were looked at
);
