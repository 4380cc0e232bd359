-- Servers that share the store, one row for each node.  Rows are never removed, so that a node's
-- ids continue above those of its earlier servers.
CREATE TABLE servers (
    node BIGINT PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    incarnation BIGINT NOT NULL,    -- grows with each server that takes the node
    batch BIGINT NOT NULL,          -- its last committed batch
    ids_mark BIGINT NOT NULL,       -- ids up to here may be in use
    alive_until_at BIGINT NOT NULL, -- by the database's clock; 0: gone, its claims are adopted
    former BIGINT NOT NULL,         -- the incarnation before, and its last batch
    former_batch BIGINT NOT NULL,
    host TEXT,
    pid BIGINT NOT NULL,
    version TEXT,
    url TEXT,
    joined_at BIGINT NOT NULL
) WITH (fillfactor = 50);

-- Claims granted by a dead node, and claims of one worker.
CREATE INDEX claims_node ON claims (node, token);
CREATE INDEX claims_worker ON claims (worker, token);
