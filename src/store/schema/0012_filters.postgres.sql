-- What filters remember: keys that are taken, what was dropped, and jobs that wait for a verdict.

-- Keys of `unique`.  A row says that the job has the key within the scope.
CREATE TABLE uniques (
    scope BIGINT NOT NULL,     -- 0: all; above: id of a group, 1 is the root; below: minus a queue
    hash1 BIGINT NOT NULL,     -- of the key, 128 bits
    hash2 BIGINT NOT NULL,
    job BIGINT NOT NULL,
    queue BIGINT NOT NULL,     -- of the job
    for_us BIGINT NOT NULL,    -- kept this long after the job's end; 0: for ever; -1: until then
    until_at BIGINT NOT NULL,  -- when to look again whether it is still kept; 0: never
    PRIMARY KEY (scope, hash1, hash2)
);

CREATE INDEX uniques_until ON uniques (until_at) WHERE until_at > 0;

-- Scopes that are gone: their keys are removed step by step.
CREATE TABLE gone_scopes (
    scope BIGINT PRIMARY KEY
);

-- The last drops of each queue.
CREATE TABLE drops (
    id BIGINT PRIMARY KEY,     -- carries the time
    queue BIGINT NOT NULL,
    filter BIGINT NOT NULL,    -- 1 unique, 2 limit, 3 match, 4 command
    job BIGINT NOT NULL,       -- that it clashed with; 0: none
    text TEXT COLLATE "C" NOT NULL -- why
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

CREATE INDEX drops_queue ON drops (queue, id);

-- Kept numbers of each queue.
CREATE TABLE filter_counts (
    queue BIGINT NOT NULL,
    what BIGINT NOT NULL,      -- filter, as in drops; 0: keys that are kept for ever
    node BIGINT NOT NULL,      -- of the server that counted
    n BIGINT NOT NULL,
    PRIMARY KEY (queue, what, node)
) WITH (fillfactor = 50);

-- Jobs that are held until a command has judged them.
CREATE TABLE filter_waits (
    job BIGINT PRIMARY KEY,
    queue BIGINT NOT NULL,
    due_at BIGINT NOT NULL,    -- not asked before
    tries BIGINT NOT NULL,     -- that failed
    why TEXT COLLATE "C"        -- how the last one failed
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

CREATE INDEX filter_waits_due ON filter_waits (queue, due_at, job);

-- What was dropped of the jobs of a request: JSON, as it was answered; NULL: nothing.
ALTER TABLE emits ADD COLUMN dropped TEXT COLLATE "C";
