-- Large fan-outs: decided by one commit, carried out by the commits that follow.

-- Jobs can have their body in common as well as their params.
ALTER TABLE shared ALTER params DROP NOT NULL;
ALTER TABLE shared ADD COLUMN body BYTEA;

-- Publications some of whose jobs are not made yet.
CREATE TABLE spreads (
    id BIGINT PRIMARY KEY,      -- id of its first job, and of the shared params and body
    key BYTEA UNIQUE,           -- the key it was published with
    -- hash of what was published under the key; for a join: the queue of the job that fired it
    content BIGINT NOT NULL,
    chained BIGINT NOT NULL,    -- 1: by the end of a job; 2: by a join, to destinations in `bill`
    priority BIGINT NOT NULL,
    labels TEXT COLLATE "C",    -- JSON object
    bill TEXT COLLATE "C" NOT NULL, -- JSON, core/route/routing.h
    targets BYTEA NOT NULL,     -- queue and job, 8 bytes each, little endian
    place BIGINT NOT NULL       -- targets before this one have their jobs
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);

ALTER TABLE spreads ALTER targets SET STORAGE EXTERNAL; -- ids are not worth compressing

-- Ends of jobs and steps some of whose destinations are not followed yet.
CREATE TABLE follows (
    id BIGINT PRIMARY KEY,
    job BIGINT NOT NULL,
    queue BIGINT NOT NULL,      -- in which it ended
    state BIGINT NOT NULL,
    step BIGINT NOT NULL,       -- its number; 0: the job itself
    whole BIGINT NOT NULL,      -- 1: the job has ended, not only a step of it
    dests TEXT COLLATE "C",     -- JSON: destinations of its queue at that time
    place BIGINT NOT NULL       -- destinations before this one have been followed
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

CREATE INDEX follows_job ON follows (job);

-- Finds the lowest level of a signal that a job waits for: below it nobody is woken.
CREATE INDEX waits_level ON waits (target, level) WHERE kind = 2;

-- A row is removed with the last job that uses it.  If two servers remove the last two jobs at the
-- same time, the second waits for the first and then finds no other job.
CREATE OR REPLACE FUNCTION shared_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM shared WHERE id = OLD.shared FOR UPDATE;
    DELETE FROM shared WHERE id = OLD.shared
        AND NOT EXISTS (SELECT 1 FROM payload WHERE payload.shared = OLD.shared)
        AND NOT EXISTS (SELECT 1 FROM spreads WHERE spreads.id = OLD.shared);
    RETURN NULL;
END $$;

CREATE FUNCTION spread_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM shared WHERE id = OLD.id FOR UPDATE;
    DELETE FROM shared WHERE id = OLD.id
        AND NOT EXISTS (SELECT 1 FROM payload WHERE payload.shared = OLD.id);
    RETURN NULL;
END $$;

CREATE TRIGGER spread_gone AFTER DELETE ON spreads FOR EACH ROW EXECUTE FUNCTION spread_gone();
