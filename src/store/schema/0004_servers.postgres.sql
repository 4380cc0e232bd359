-- Servers that share the store: a row a node, kept for ever, so that a node's ids go on above those of its
-- servers before.
CREATE TABLE servers (
    node BIGINT PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    incarnation BIGINT NOT NULL,    -- grows with each server that takes the node
    batch BIGINT NOT NULL,          -- the last that it committed
    ids_mark BIGINT NOT NULL,       -- ids below may have been handed out
    alive_until_at BIGINT NOT NULL, -- by the database's clock; 0: gone, and others have its claims
    former BIGINT NOT NULL,         -- the incarnation before, and what it committed last
    former_batch BIGINT NOT NULL,
    host TEXT,
    pid BIGINT NOT NULL,
    version TEXT,
    url TEXT,
    joined_at BIGINT NOT NULL
) WITH (fillfactor = 50);

-- What a dead node has granted, and what a worker holds that tells all it knows of.
CREATE INDEX claims_node ON claims (node, token);
CREATE INDEX claims_worker ON claims (worker, token);
