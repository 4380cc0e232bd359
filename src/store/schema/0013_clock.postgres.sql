-- Schedules, their firings, and the expiry of jobs.

CREATE TABLE schedules (
    id BIGINT PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    definition TEXT COLLATE "C" NOT NULL, -- canonical JSON, core/clock/schedule_def.h
    paused BIGINT NOT NULL,
    last_at BIGINT NOT NULL,   -- nominal times up to this one are settled
    next_at BIGINT NOT NULL,   -- when to look again; the largest number: never
    job BIGINT NOT NULL,       -- of the last firing; 0: none
    entries BIGINT NOT NULL,   -- number of the last row in `firings`
    fired BIGINT NOT NULL,     -- how often
    skipped BIGINT NOT NULL,
    missed BIGINT NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);

CREATE INDEX schedules_next ON schedules (next_at);

-- What became of nominal times: the last 100 rows of each schedule.
CREATE TABLE firings (
    schedule BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    state BIGINT NOT NULL,     -- a number of store/clock/schedules.h
    nominal_at BIGINT NOT NULL,
    until_at BIGINT NOT NULL,  -- the last of several nominal times in a row
    n BIGINT NOT NULL,         -- how many there are
    at BIGINT NOT NULL,        -- when that was decided
    job BIGINT NOT NULL,       -- 0: none
    why TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (schedule, seq)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

-- Until when jobs must have started.  A row outlives the start of its job and goes at its time.
CREATE TABLE expiries (
    job BIGINT PRIMARY KEY,
    at BIGINT NOT NULL,
    look_at BIGINT NOT NULL       -- when to judge it, or again because it may still be handed back
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
        autovacuum_vacuum_cost_delay = 0);

CREATE INDEX expiries_look ON expiries (look_at, job);
