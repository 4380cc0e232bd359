-- What a job's end has cancelled, so that running that job again brings it back.

CREATE TABLE undone (
    waiter BIGINT PRIMARY KEY,  -- a job that was cancelled because of a condition
    target BIGINT NOT NULL      -- the job that decided it
);

CREATE INDEX undone_target ON undone (target, waiter);

-- Jobs that are run again, and what they had cancelled is still to be brought back.
CREATE TABLE revivals (
    target BIGINT PRIMARY KEY,
    cursor BIGINT NOT NULL      -- waiters up to here were looked at
);
