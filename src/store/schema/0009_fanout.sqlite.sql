-- Large fan-outs: decided by one commit, carried out by the commits that follow.

-- Jobs can have their body in common as well as their params.
DROP TRIGGER shared_gone;
CREATE TABLE shared_new (
    id INTEGER PRIMARY KEY,     -- id of the first job that has it
    params TEXT,                -- JSON
    body BLOB
);
INSERT INTO shared_new (id, params) SELECT id, params FROM shared;
DROP TABLE shared;
ALTER TABLE shared_new RENAME TO shared;

-- Publications some of whose jobs are not made yet.
CREATE TABLE spreads (
    id INTEGER PRIMARY KEY,     -- id of its first job, and of the shared params and body
    key TEXT UNIQUE,            -- the key it was published with
    -- hash of what was published under the key; for a join: the queue of the job that fired it
    content INTEGER NOT NULL,
    chained INTEGER NOT NULL,   -- 1: by the end of a job; 2: by a join, to destinations in `bill`
    priority INTEGER NOT NULL,
    labels TEXT,                -- JSON object
    bill TEXT NOT NULL,         -- JSON, core/route/routing.h
    targets BLOB NOT NULL,      -- queue and job, 8 bytes each, little endian
    place INTEGER NOT NULL      -- targets before this one have their jobs
);

-- Ends of jobs and steps some of whose destinations are not followed yet.
CREATE TABLE follows (
    id INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    queue INTEGER NOT NULL,     -- in which it ended
    state INTEGER NOT NULL,
    step INTEGER NOT NULL,      -- its number; 0: the job itself
    whole INTEGER NOT NULL,     -- 1: the job has ended, not only a step of it
    dests TEXT,                 -- JSON: destinations of its queue at that time
    place INTEGER NOT NULL      -- destinations before this one have been followed
);

CREATE INDEX follows_job ON follows (job);

-- Finds the lowest level of a signal that a job waits for: below it nobody is woken.
CREATE INDEX waits_level ON waits (target, level) WHERE kind = 2;

-- A row is removed with the last job that uses it.
CREATE TRIGGER shared_gone AFTER DELETE ON payload WHEN OLD.shared IS NOT NULL
BEGIN
    DELETE FROM shared WHERE id = OLD.shared
        AND NOT EXISTS (SELECT 1 FROM payload WHERE payload.shared = OLD.shared)
        AND NOT EXISTS (SELECT 1 FROM spreads WHERE spreads.id = OLD.shared);
END;

CREATE TRIGGER spread_gone AFTER DELETE ON spreads
BEGIN
    DELETE FROM shared WHERE id = OLD.id
        AND NOT EXISTS (SELECT 1 FROM payload WHERE payload.shared = OLD.id);
END;
