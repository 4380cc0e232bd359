-- Jobs that running jobs emit.

-- Attempts that have emitted something, or saved a cursor: a row each, until the last of what they have staged
-- is released or dropped.
CREATE TABLE emitters (
    owner BIGINT NOT NULL,     -- the job that emits
    token BIGINT NOT NULL,     -- of its claim
    seq BIGINT NOT NULL,       -- the last that was taken
    visible_upto BIGINT NOT NULL, -- what is staged until the next cursor is to be released up to this seq
    staged BIGINT NOT NULL,    -- jobs that are staged
    fate BIGINT NOT NULL,      -- of the staged ones: 0 open, 1 release, 2 drop
    PRIMARY KEY (owner, token)
) WITH (fillfactor = 50);

-- One row a request.  Its id is older than its jobs and younger than those of the row before: so the nearest row
-- below a staged job is the one that it belongs to.
CREATE TABLE emits (
    id BIGINT PRIMARY KEY,
    owner BIGINT NOT NULL,
    token BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    visible BIGINT NOT NULL,   -- 1: a cursor releases them, 0: only the end of the attempt
    staged BIGINT NOT NULL,    -- 1: its jobs are staged, 0: they are on their own
    jobs BYTEA NOT NULL,         -- ids, 8 bytes each, little endian
    contents BYTEA               -- hashes of what came with the keys, 8 bytes a job; NULL: no keys
);

ALTER TABLE emits ALTER jobs SET STORAGE EXTERNAL, ALTER contents SET STORAGE EXTERNAL;

CREATE UNIQUE INDEX emits_by_owner ON emits (owner, token, seq);
CREATE INDEX emits_visible ON emits (owner, token, seq) WHERE staged = 1 AND visible = 1;

-- How far a job that enumerates has come, for its next attempt.
CREATE TABLE cursors (
    job BIGINT PRIMARY KEY,
    cursor TEXT COLLATE "C" NOT NULL -- JSON
);
