-- Gates: what must be open before a job starts.  A resource is one, a lane is one for each key.

CREATE TABLE gates (
    id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,      -- 1: a resource; 2: a lane; 3: jobs that have the same needs
    queue INTEGER NOT NULL,     -- 0: a resource, for all of them
    name TEXT NOT NULL,         -- of a resource; else the key of the lane, or nothing
    needs TEXT NOT NULL,        -- kind 3: JSON, core/gate/needs.h; else empty
    lane INTEGER NOT NULL,      -- kind 3: the lane that its jobs are in; 0: none
    definition TEXT,            -- kind 1: JSON, core/gate/resource_def.h
    in_use INTEGER NOT NULL,    -- sum of its weights in gate_uses
    starts BLOB,                -- core/gate/window.h
    shut_until_at INTEGER NOT NULL, -- 0: it is not shut
    shut_us INTEGER NOT NULL,   -- for how long it was shut; 0: until an instant
    why TEXT,
    probe_until_at INTEGER NOT NULL, -- shut by its probe; 0: it is not
    probe_why TEXT,
    probed_at INTEGER NOT NULL, -- when the last probe began
    wanted INTEGER NOT NULL     -- 1: a server waits for slots
);

CREATE UNIQUE INDEX gates_name ON gates (queue, kind, name, needs);

-- What running jobs were granted, with the weight it was granted with.
CREATE TABLE gate_uses (
    job INTEGER NOT NULL,
    gate INTEGER NOT NULL,
    weight INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    PRIMARY KEY (job, gate)
) WITHOUT ROWID;
