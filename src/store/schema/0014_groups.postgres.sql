-- Groups of jobs: counters of what lives in them, data, and what comes when they end.

CREATE TABLE groups (
    id BIGINT PRIMARY KEY,
    kind TEXT COLLATE "C" NOT NULL,         -- one of group_kinds when it was opened; '': none
    name TEXT COLLATE "C" NOT NULL,
    parent BIGINT NOT NULL,    -- 1: the root
    depth BIGINT NOT NULL,     -- of the root 0
    opener BIGINT NOT NULL,    -- the job or request that opened it, else its own id
    node BIGINT NOT NULL,      -- the server whose request may still add to it; 0: none
    state BIGINT NOT NULL,     -- core/group/group.h, as the flags
    flags BIGINT NOT NULL,
    made BIGINT NOT NULL,      -- members, from here on
    waiting BIGINT NOT NULL,
    running BIGINT NOT NULL,
    done BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    cancelled BIGINT NOT NULL,
    dropped BIGINT NOT NULL,
    children BIGINT NOT NULL,  -- groups that have not ended
    version BIGINT NOT NULL,   -- of the data
    finaliser BIGINT NOT NULL, -- the job; 0: none yet
    work BIGINT NOT NULL,      -- what is to be done about its members and children; 0: nothing
    place BIGINT NOT NULL,     -- up to this id it is done
    keep_us BIGINT NOT NULL,   -- how long it is kept after its end
    keep_failed_us BIGINT NOT NULL, -- the same if it has failed
    ended_at BIGINT NOT NULL,
    gone_at BIGINT NOT NULL,   -- when it is removed; 0: it has not ended
    data TEXT COLLATE "C",                  -- JSON object
    finally_json TEXT COLLATE "C",          -- JSON object, core/group/group_def.h
    key BYTEA,                   -- it was opened with
    content BIGINT NOT NULL    -- hash of the request under the key
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);

-- One job or request opens a group of that kind and name once.
CREATE UNIQUE INDEX groups_opener ON groups (opener, kind, name) WHERE state = 1;
CREATE UNIQUE INDEX groups_key ON groups (key) WHERE key IS NOT NULL;
CREATE INDEX groups_parent ON groups (parent, id);
CREATE INDEX groups_node ON groups (node) WHERE node <> 0;
CREATE INDEX groups_work ON groups (id) WHERE work <> 0;
CREATE INDEX groups_gone ON groups (gone_at) WHERE gone_at <> 0;

-- Kinds of groups, which definitions name.
CREATE TABLE group_kinds (
    id BIGINT PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    definition  TEXT COLLATE "C" NOT NULL    -- JSON, core/group/group_def.h
);
