-- Jobs that running jobs emit.

-- One row for each attempt that emitted jobs or saved a cursor, until its last staged job is
-- released or dropped.
CREATE TABLE emitters (
    owner BIGINT NOT NULL,     -- the job that emits
    token BIGINT NOT NULL,     -- of its claim
    seq BIGINT NOT NULL,       -- of the last request that was accepted
    visible_upto BIGINT NOT NULL, -- the last cursor releases staged jobs up to this seq
    staged BIGINT NOT NULL,    -- number of staged jobs
    fate BIGINT NOT NULL,      -- of the staged jobs: 0 open, 1 release, 2 drop
    PRIMARY KEY (owner, token)
) WITH (fillfactor = 50);

-- One row for each request.  Its id is below those of its jobs and above those of the row before,
-- so a staged job belongs to the nearest row below its id.
CREATE TABLE emits (
    id BIGINT PRIMARY KEY,
    owner BIGINT NOT NULL,
    token BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    visible BIGINT NOT NULL,   -- 1: a cursor releases them, 0: only the end of the attempt
    staged BIGINT NOT NULL,    -- 1: its jobs are staged, 0: they are not
    jobs BYTEA NOT NULL,         -- ids, 8 bytes each, little endian
    contents BYTEA               -- hashes of keyed jobs, 8 bytes for each job; NULL: no keys
);

ALTER TABLE emits ALTER jobs SET STORAGE EXTERNAL, ALTER contents SET STORAGE EXTERNAL;

CREATE UNIQUE INDEX emits_by_owner ON emits (owner, token, seq);
CREATE INDEX emits_visible ON emits (owner, token, seq) WHERE staged = 1 AND visible = 1;

-- Positions saved by jobs that enumerate, for their next attempts.
CREATE TABLE cursors (
    job BIGINT PRIMARY KEY,
    cursor TEXT COLLATE "C" NOT NULL -- JSON
);
