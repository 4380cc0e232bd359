-- Routes, and what ties jobs together: waits, signals, joins.

-- What few jobs have: core/route/routing.h.
ALTER TABLE payload ADD COLUMN bill TEXT;       -- JSON
ALTER TABLE payload ADD COLUMN assigned TEXT;   -- JSON object: what its steps have set, merged

ALTER TABLE jobs ADD COLUMN awaited INTEGER NOT NULL DEFAULT 0; -- 1: others may wait for its end

-- Conditions that do not hold yet, a row each.  Their kinds are those of core/route/routing.h.
CREATE TABLE waits (
    waiter INTEGER NOT NULL,    -- the job that waits
    seq INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    target INTEGER NOT NULL,    -- id of the job or the signal
    step INTEGER NOT NULL,      -- of the job; 0: the job itself
    upon INTEGER NOT NULL,      -- which end of the job it waits for
    level INTEGER NOT NULL,     -- that the signal must have
    take INTEGER NOT NULL,      -- 1: the level is used up
    PRIMARY KEY (waiter, seq)
) WITHOUT ROWID;

CREATE INDEX waits_target ON waits (target, waiter, seq);
CREATE INDEX waits_step ON waits (target, step, waiter, seq) WHERE step <> 0;

-- Targets whose waits are still to be looked at, beyond the commit that ended them.
CREATE TABLE releases (
    target INTEGER PRIMARY KEY,
    state INTEGER NOT NULL,     -- that it ended in, or what else there is to be told: engine/after.h
    cursor INTEGER NOT NULL     -- waiters up to here were looked at
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
    definition TEXT NOT NULL,   -- canonical JSON, core/join_def.h
    fired INTEGER NOT NULL,     -- how often
    fired_at INTEGER NOT NULL
);

-- What has met under a key since its join fired last.
CREATE TABLE arrivals (
    join_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    n INTEGER NOT NULL,
    first_at INTEGER NOT NULL,
    jobs BLOB NOT NULL,         -- ids of the first ones, 8 bytes each, little endian
    PRIMARY KEY (join_id, key)
);
