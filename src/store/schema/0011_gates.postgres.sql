-- Gates: what must be open before a job starts.  A resource is one, a lane is one for each key.

CREATE TABLE gates (
    id BIGINT PRIMARY KEY,
    kind BIGINT NOT NULL,       -- 1: a resource; 2: a lane; 3: jobs that have the same needs
    queue BIGINT NOT NULL,      -- 0: a resource, for all of them
    name TEXT COLLATE "C" NOT NULL, -- of a resource; else the key of the lane, or nothing
    needs TEXT COLLATE "C" NOT NULL, -- kind 3: JSON, core/gate/needs.h; else empty
    lane BIGINT NOT NULL,       -- kind 3: the lane that its jobs are in; 0: none
    definition TEXT COLLATE "C", -- kind 1: JSON, core/gate/resource_def.h
    in_use BIGINT NOT NULL,     -- sum of its weights in gate_uses
    starts BYTEA,               -- core/gate/window.h
    shut_until_at BIGINT NOT NULL, -- 0: it is not shut
    shut_us BIGINT NOT NULL,    -- for how long it was shut; 0: until an instant
    why TEXT COLLATE "C",
    probe_until_at BIGINT NOT NULL, -- shut by its probe; 0: it is not
    probe_why TEXT COLLATE "C",
    probed_at BIGINT NOT NULL,  -- when the last probe began
    wanted BIGINT NOT NULL      -- 1: a server waits for slots
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
        autovacuum_vacuum_cost_delay = 0);

CREATE UNIQUE INDEX gates_name ON gates (queue, kind, name, needs);

-- What running jobs were granted, with the weight it was granted with.
CREATE TABLE gate_uses (
    job BIGINT NOT NULL,
    gate BIGINT NOT NULL,
    weight BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    PRIMARY KEY (job, gate)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
