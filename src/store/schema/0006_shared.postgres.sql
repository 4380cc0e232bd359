-- Params that several jobs have in common, for example those of one publication, are stored once.

CREATE TABLE shared (
    id BIGINT PRIMARY KEY,              -- id of the first job that has them
    params TEXT COLLATE "C" NOT NULL    -- JSON
);

-- Id of the job's shared params; NULL: it has its own or none.
ALTER TABLE payload ADD COLUMN shared BIGINT;

CREATE INDEX payload_shared ON payload (shared) WHERE shared IS NOT NULL;

-- A row is removed with the last job that uses it.  If two servers remove the last two jobs at the
-- same time, the second waits for the first and then finds no other job.
CREATE FUNCTION shared_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM shared WHERE id = OLD.shared FOR UPDATE;
    DELETE FROM shared WHERE id = OLD.shared
        AND NOT EXISTS (SELECT 1 FROM payload WHERE payload.shared = OLD.shared);
    RETURN NULL;
END $$;

CREATE TRIGGER shared_gone AFTER DELETE ON payload FOR EACH ROW WHEN (OLD.shared IS NOT NULL)
EXECUTE FUNCTION shared_gone();
