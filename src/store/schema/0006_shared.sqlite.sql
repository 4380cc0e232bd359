-- What several jobs carry alike, as those of one publication, is stored once.

CREATE TABLE shared (
    id INTEGER PRIMARY KEY,     -- of the first job that was made with it
    params TEXT NOT NULL        -- JSON
);

-- Where the params of a job are, unless it has its own; NULL: nowhere.
ALTER TABLE payload ADD COLUMN shared INTEGER;

CREATE INDEX payload_shared ON payload (shared) WHERE shared IS NOT NULL;

-- It goes with the last one that uses it.
CREATE TRIGGER shared_gone AFTER DELETE ON payload WHEN OLD.shared IS NOT NULL
BEGIN
    DELETE FROM shared WHERE id = OLD.shared AND NOT EXISTS (SELECT 1 FROM payload WHERE payload.shared = OLD.shared);
END;
