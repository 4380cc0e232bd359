-- Groups of jobs: counters of what lives in them, data, and what comes when they end.

CREATE TABLE groups (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,         -- one of group_kinds when it was opened; '': none
    name TEXT NOT NULL,
    parent INTEGER NOT NULL,    -- 1: the root
    depth INTEGER NOT NULL,     -- of the root 0
    opener INTEGER NOT NULL,    -- the job or request that opened it, else its own id
    node INTEGER NOT NULL,      -- the server whose request may still add to it; 0: none
    state INTEGER NOT NULL,     -- core/group/group.h, as the flags
    flags INTEGER NOT NULL,
    made INTEGER NOT NULL,      -- members, from here on
    waiting INTEGER NOT NULL,
    running INTEGER NOT NULL,
    done INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    dropped INTEGER NOT NULL,
    children INTEGER NOT NULL,  -- groups that have not ended
    version INTEGER NOT NULL,   -- of the data
    finaliser INTEGER NOT NULL, -- the job; 0: none yet
    work INTEGER NOT NULL,      -- what is to be done about its members and children; 0: nothing
    place INTEGER NOT NULL,     -- up to this id it is done
    keep_us INTEGER NOT NULL,   -- how long it is kept after its end
    keep_failed_us INTEGER NOT NULL, -- the same if it has failed
    ended_at INTEGER NOT NULL,
    gone_at INTEGER NOT NULL,   -- when it is removed; 0: it has not ended
    data TEXT,                  -- JSON object
    finally_json TEXT,          -- JSON object, core/group/group_def.h
    key TEXT,                   -- it was opened with
    content INTEGER NOT NULL    -- hash of the request under the key
);

-- One job or request opens a group of that kind and name once.
CREATE UNIQUE INDEX groups_opener ON groups (opener, kind, name) WHERE state = 1;
CREATE UNIQUE INDEX groups_key ON groups (key) WHERE key IS NOT NULL;
CREATE INDEX groups_parent ON groups (parent);
CREATE INDEX groups_node ON groups (node) WHERE node <> 0;
CREATE INDEX groups_work ON groups (id) WHERE work <> 0;
CREATE INDEX groups_gone ON groups (gone_at) WHERE gone_at <> 0;

-- Kinds of groups, which definitions name.
CREATE TABLE group_kinds (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    definition TEXT NOT NULL    -- JSON, core/group/group_def.h
);
