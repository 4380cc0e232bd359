-- Routes, waits, signals and joins.

-- The routing, which few jobs have: core/route/routing.h.
ALTER TABLE payload ADD COLUMN bill TEXT;       -- JSON
ALTER TABLE payload ADD COLUMN assigned TEXT;   -- JSON object: values set by its steps

ALTER TABLE jobs ADD COLUMN awaited INTEGER NOT NULL DEFAULT 0; -- 1: others may wait for its end

-- One row for each condition that is not met yet.  `kind` is a number of core/route/routing.h.
CREATE TABLE waits (
    waiter INTEGER NOT NULL,    -- the job that waits
    seq INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    target INTEGER NOT NULL,    -- id of the job or the signal
    step INTEGER NOT NULL,      -- of the job; 0: the job itself
    upon INTEGER NOT NULL,      -- which end of the job it waits for
    level INTEGER NOT NULL,     -- required level of the signal
    take INTEGER NOT NULL,      -- 1: the wait subtracts it from the signal
    PRIMARY KEY (waiter, seq)
) WITHOUT ROWID;

CREATE INDEX waits_target ON waits (target, waiter, seq);
CREATE INDEX waits_step ON waits (target, step, waiter, seq) WHERE step <> 0;

-- Targets whose waits did not fit into the commit that changed them.
CREATE TABLE releases (
    target INTEGER PRIMARY KEY,
    state INTEGER NOT NULL,     -- its last state, or a number of engine/followups/after.h
    cursor INTEGER NOT NULL     -- the last waiter that was checked
);

CREATE TABLE signals (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    level INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
);

CREATE TABLE joins (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    definition TEXT NOT NULL,   -- canonical JSON, core/route/join_def.h
    fired INTEGER NOT NULL,     -- how often
    fired_at INTEGER NOT NULL
);

-- Jobs that arrived under a key since its join fired last.
CREATE TABLE arrivals (
    join_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    n INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    jobs BLOB NOT NULL,         -- ids of the first jobs, 8 bytes each, little endian
    PRIMARY KEY (join_id, key)
);
