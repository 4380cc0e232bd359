-- Routes, waits, signals and joins.

-- The routing, which few jobs have: core/route/routing.h.
ALTER TABLE payload ADD COLUMN bill TEXT COLLATE "C";     -- JSON
ALTER TABLE payload ADD COLUMN assigned TEXT COLLATE "C"; -- JSON object: values set by its steps

ALTER TABLE jobs ADD COLUMN awaited BIGINT NOT NULL DEFAULT 0; -- 1: others may wait for its end
-- A claim makes a second version of every row.  With room for it in the same page it costs a
-- quarter less.
ALTER TABLE jobs SET (fillfactor = 45);

-- One row for each condition that is not met yet.  `kind` is a number of core/route/routing.h.
CREATE TABLE waits (
    waiter BIGINT NOT NULL,     -- the job that waits
    seq BIGINT NOT NULL,
    kind BIGINT NOT NULL,
    target BIGINT NOT NULL,     -- id of the job or the signal
    step BIGINT NOT NULL,       -- of the job; 0: the job itself
    upon BIGINT NOT NULL,       -- which end of the job it waits for
    level BIGINT NOT NULL,      -- required level of the signal
    take BIGINT NOT NULL,       -- 1: the wait subtracts it from the signal
    PRIMARY KEY (waiter, seq)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
        autovacuum_vacuum_cost_delay = 0);

CREATE INDEX waits_target ON waits (target, waiter, seq);
CREATE INDEX waits_step ON waits (target, step, waiter, seq) WHERE step <> 0;

-- Targets whose waits did not fit into the commit that changed them.
CREATE TABLE releases (
    target BIGINT PRIMARY KEY,
    state BIGINT NOT NULL,      -- its last state, or a number of engine/followups/after.h
    cursor BIGINT NOT NULL      -- the last waiter that was checked
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE signals (
    id BIGINT PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    level BIGINT NOT NULL,
    changed_at BIGINT NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE joins (
    id BIGINT PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    definition TEXT COLLATE "C" NOT NULL, -- canonical JSON, core/route/join_def.h
    fired BIGINT NOT NULL,      -- how often
    fired_at BIGINT NOT NULL
) WITH (fillfactor = 50);

-- Jobs that arrived under a key since its join fired last.
CREATE TABLE arrivals (
    join_id BIGINT NOT NULL,
    key BYTEA NOT NULL,
    n BIGINT NOT NULL,
    first_at BIGINT NOT NULL,
    jobs BYTEA NOT NULL,        -- ids of the first jobs, 8 bytes each, little endian
    PRIMARY KEY (join_id, key)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

ALTER TABLE arrivals ALTER jobs SET STORAGE EXTERNAL; -- ids are not worth compressing
