-- What filters remember: keys that are taken, what was dropped, and jobs that wait for a verdict.

-- Keys of `unique`.  A row says that the job has the key within the scope.
CREATE TABLE uniques (
    scope INTEGER NOT NULL,     -- 0: all; above: id of a group, 1 is the root; below: minus a queue
    hash1 INTEGER NOT NULL,     -- of the key, 128 bits
    hash2 INTEGER NOT NULL,
    job INTEGER NOT NULL,
    queue INTEGER NOT NULL,     -- of the job
    for_us INTEGER NOT NULL,    -- kept this long after the job's end; 0: for ever; -1: until then
    until_at INTEGER NOT NULL,  -- when to look again whether it is still kept; 0: never
    PRIMARY KEY (scope, hash1, hash2)
) WITHOUT ROWID;

CREATE INDEX uniques_until ON uniques (until_at) WHERE until_at > 0;

-- Scopes that are gone: their keys are removed step by step.
CREATE TABLE gone_scopes (
    scope INTEGER PRIMARY KEY
);

-- The last drops of each queue.
CREATE TABLE drops (
    id INTEGER PRIMARY KEY,     -- carries the time
    queue INTEGER NOT NULL,
    filter INTEGER NOT NULL,    -- 1 unique, 2 limit, 3 match, 4 command
    job INTEGER NOT NULL,       -- that it clashed with; 0: none
    text TEXT NOT NULL -- why
);

CREATE INDEX drops_queue ON drops (queue);

-- Kept numbers of each queue.
CREATE TABLE filter_counts (
    queue INTEGER NOT NULL,
    what INTEGER NOT NULL,      -- filter, as in drops; 0: keys that are kept for ever
    node INTEGER NOT NULL,      -- of the server that counted
    n INTEGER NOT NULL,
    PRIMARY KEY (queue, what, node)
) WITHOUT ROWID;

-- Jobs that are held until a command has judged them.
CREATE TABLE filter_waits (
    job INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL,
    due_at INTEGER NOT NULL,    -- not asked before
    tries INTEGER NOT NULL,     -- that failed
    why TEXT                    -- how the last one failed
);

CREATE INDEX filter_waits_due ON filter_waits (queue, due_at);

-- What was dropped of the jobs of a request: JSON, as it was answered; NULL: nothing.
ALTER TABLE emits ADD COLUMN dropped TEXT;
