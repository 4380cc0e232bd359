-- Large fan-outs: decided by one commit, carried out by the commits that follow.

-- What several jobs carry alike: their params, and now their body as well.
ALTER TABLE shared ALTER params DROP NOT NULL;
ALTER TABLE shared ADD COLUMN body BYTEA;

-- Publications of which some jobs are still to be made.
CREATE TABLE spreads (
    id BIGINT PRIMARY KEY,      -- of its first job, and of what its jobs share
    key BYTEA UNIQUE,           -- that it was published under
    content BIGINT NOT NULL,    -- hash of what was published under the key; of a firing the queue of its cause
    chained BIGINT NOT NULL,    -- 1: by the end of a job; 2: a join has fired, to the destinations in the bill
    priority BIGINT NOT NULL,
    labels TEXT COLLATE "C",    -- JSON object
    bill TEXT COLLATE "C" NOT NULL, -- JSON, core/route/routing.h
    targets BYTEA NOT NULL,     -- queue and job, 8 bytes each, little endian
    place BIGINT NOT NULL       -- targets before this one have their jobs
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);

ALTER TABLE spreads ALTER targets SET STORAGE EXTERNAL; -- ids are not worth compressing

-- Ends of jobs and of steps that still lead somewhere.
CREATE TABLE follows (
    id BIGINT PRIMARY KEY,
    job BIGINT NOT NULL,
    queue BIGINT NOT NULL,      -- in which it ended
    state BIGINT NOT NULL,
    step BIGINT NOT NULL,       -- its number; 0: the job itself
    whole BIGINT NOT NULL,      -- 1: the job has ended, not only a step of it
    dests TEXT COLLATE "C",     -- JSON: where its queue led at that time
    place BIGINT NOT NULL       -- destinations before this one have been followed
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX follows_job ON follows (job);

-- The lowest level of a signal that anybody waits for: one that rises below it is told to nobody.
CREATE INDEX waits_level ON waits (target, level) WHERE kind = 2;

-- It goes with the last one that uses it.  Two servers may remove the last two at once: who comes second waits for the
-- first, and then sees that nobody is left.
CREATE OR REPLACE FUNCTION shared_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM shared WHERE id = OLD.shared FOR UPDATE;
    DELETE FROM shared WHERE id = OLD.shared AND NOT EXISTS (SELECT 1 FROM payload WHERE payload.shared = OLD.shared)
        AND NOT EXISTS (SELECT 1 FROM spreads WHERE spreads.id = OLD.shared);
    RETURN NULL;
END $$;

CREATE FUNCTION spread_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM shared WHERE id = OLD.id FOR UPDATE;
    DELETE FROM shared WHERE id = OLD.id AND NOT EXISTS (SELECT 1 FROM payload WHERE payload.shared = OLD.id);
    RETURN NULL;
END $$;

CREATE TRIGGER spread_gone AFTER DELETE ON spreads FOR EACH ROW EXECUTE FUNCTION spread_gone();
