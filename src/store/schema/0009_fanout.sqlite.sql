-- Large fan-outs: decided by one commit, carried out by the commits that follow.

-- What several jobs carry alike: their params, and now their body as well.
DROP TRIGGER shared_gone;
CREATE TABLE shared_new (
    id INTEGER PRIMARY KEY,     -- of the first job that was made with it
    params TEXT,                -- JSON
    body BLOB
);
INSERT INTO shared_new (id, params) SELECT id, params FROM shared;
DROP TABLE shared;
ALTER TABLE shared_new RENAME TO shared;

-- Publications of which some jobs are still to be made.
CREATE TABLE spreads (
    id INTEGER PRIMARY KEY,     -- of its first job, and of what its jobs share
    key TEXT UNIQUE,            -- that it was published under
    content INTEGER NOT NULL,   -- hash of what was published under the key; of a firing the queue of its cause
    chained INTEGER NOT NULL,   -- 1: by the end of a job; 2: a join has fired, to the destinations in the bill
    priority INTEGER NOT NULL,
    labels TEXT,                -- JSON object
    bill TEXT NOT NULL,         -- JSON, core/route/routing.h
    targets BLOB NOT NULL,      -- queue and job, 8 bytes each, little endian
    place INTEGER NOT NULL      -- targets before this one have their jobs
);

-- Ends of jobs and of steps that still lead somewhere.
CREATE TABLE follows (
    id INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    queue INTEGER NOT NULL,     -- in which it ended
    state INTEGER NOT NULL,
    step INTEGER NOT NULL,      -- its number; 0: the job itself
    whole INTEGER NOT NULL,     -- 1: the job has ended, not only a step of it
    dests TEXT,                 -- JSON: where its queue led at that time
    place INTEGER NOT NULL      -- destinations before this one have been followed
);

CREATE INDEX follows_job ON follows (job);

-- The lowest level of a signal that anybody waits for: one that rises below it is told to nobody.
CREATE INDEX waits_level ON waits (target, level) WHERE kind = 2;

-- It goes with the last one that uses it.
CREATE TRIGGER shared_gone AFTER DELETE ON payload WHEN OLD.shared IS NOT NULL
BEGIN
    DELETE FROM shared WHERE id = OLD.shared AND NOT EXISTS (SELECT 1 FROM payload WHERE payload.shared = OLD.shared)
        AND NOT EXISTS (SELECT 1 FROM spreads WHERE spreads.id = OLD.shared);
END;

CREATE TRIGGER spread_gone AFTER DELETE ON spreads
BEGIN
    DELETE FROM shared WHERE id = OLD.id AND NOT EXISTS (SELECT 1 FROM payload WHERE payload.shared = OLD.id);
END;
