-- Schedules, their firings, and the expiry of jobs.

CREATE TABLE schedules (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    definition TEXT NOT NULL,   -- canonical JSON, core/clock/schedule_def.h
    paused INTEGER NOT NULL,
    last_at INTEGER NOT NULL,   -- nominal times up to this one are settled
    next_at INTEGER NOT NULL,   -- when to look again; the largest number: never
    job INTEGER NOT NULL,       -- of the last firing; 0: none
    entries INTEGER NOT NULL,   -- number of the last row in `firings`
    fired INTEGER NOT NULL,     -- how often
    skipped INTEGER NOT NULL,
    missed INTEGER NOT NULL
);

CREATE INDEX schedules_next ON schedules (next_at);

-- What became of nominal times: the last 100 rows of each schedule.
CREATE TABLE firings (
    schedule INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    state INTEGER NOT NULL,     -- a number of store/clock/schedules.h
    nominal_at INTEGER NOT NULL,
    until_at INTEGER NOT NULL,  -- the last of several nominal times in a row
    n INTEGER NOT NULL,         -- how many there are
    at INTEGER NOT NULL,        -- when that was decided
    job INTEGER NOT NULL,       -- 0: none
    why TEXT NOT NULL,
    PRIMARY KEY (schedule, seq)
) WITHOUT ROWID;

-- Until when jobs must have started.  A row outlives the start of its job and goes at its time.
CREATE TABLE expiries (
    job INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    look_at INTEGER NOT NULL       -- when to judge it, or again because it may still be handed back
);

CREATE INDEX expiries_look ON expiries (look_at, job);
