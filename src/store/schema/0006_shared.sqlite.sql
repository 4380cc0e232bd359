-- Params that several jobs have in common, for example those of one publication, are stored once.

CREATE TABLE shared (
    id INTEGER PRIMARY KEY,     -- id of the first job that has them
    params TEXT NOT NULL        -- JSON
);

-- Id of the job's shared params; NULL: it has its own or none.
ALTER TABLE payload ADD COLUMN shared INTEGER;

CREATE INDEX payload_shared ON payload (shared) WHERE shared IS NOT NULL;

-- A row is removed with the last job that uses it.
CREATE TRIGGER shared_gone AFTER DELETE ON payload WHEN OLD.shared IS NOT NULL
BEGIN
    DELETE FROM shared WHERE id = OLD.shared
        AND NOT EXISTS (SELECT 1 FROM payload WHERE payload.shared = OLD.shared);
END;
