-- What several jobs carry alike, as those of one publication, is stored once.

CREATE TABLE shared (
    id BIGINT PRIMARY KEY,              -- of the first job that was made with it
    params TEXT COLLATE "C" NOT NULL    -- JSON
);

-- Where the params of a job are, unless it has its own; NULL: nowhere.
ALTER TABLE payload ADD COLUMN shared BIGINT;

CREATE INDEX payload_shared ON payload (shared) WHERE shared IS NOT NULL;

-- It goes with the last one that uses it.  Two servers may remove the last two at once: who comes second waits for the
-- first, and then sees that nobody is left.
CREATE FUNCTION shared_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM shared WHERE id = OLD.shared FOR UPDATE;
    DELETE FROM shared WHERE id = OLD.shared AND NOT EXISTS (SELECT 1 FROM payload WHERE payload.shared = OLD.shared);
    RETURN NULL;
END $$;

CREATE TRIGGER shared_gone AFTER DELETE ON payload FOR EACH ROW WHEN (OLD.shared IS NOT NULL)
EXECUTE FUNCTION shared_gone();
