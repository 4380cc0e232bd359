-- Jobs that running jobs emit.

-- Attempts that have emitted something, or saved a cursor: a row each, until the last of what they have staged
-- is released or dropped.
CREATE TABLE emitters (
    owner INTEGER NOT NULL,     -- the job that emits
    token INTEGER NOT NULL,     -- of its claim
    seq INTEGER NOT NULL,       -- the last that was taken
    visible_upto INTEGER NOT NULL, -- what is staged until the next cursor is to be released up to this seq
    staged INTEGER NOT NULL,    -- jobs that are staged
    fate INTEGER NOT NULL,      -- of the staged ones: 0 open, 1 release, 2 drop
    PRIMARY KEY (owner, token)
) WITHOUT ROWID;

-- One row a request.  Its id is older than its jobs and younger than those of the row before: so the nearest row
-- below a staged job is the one that it belongs to.
CREATE TABLE emits (
    id INTEGER PRIMARY KEY,
    owner INTEGER NOT NULL,
    token INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    visible INTEGER NOT NULL,   -- 1: a cursor releases them, 0: only the end of the attempt
    staged INTEGER NOT NULL,    -- 1: its jobs are staged, 0: they are on their own
    jobs BLOB NOT NULL,         -- ids, 8 bytes each, little endian
    contents BLOB               -- hashes of what came with the keys, 8 bytes a job; NULL: no keys
);

CREATE UNIQUE INDEX emits_by_owner ON emits (owner, token, seq);
CREATE INDEX emits_visible ON emits (owner, token, seq) WHERE staged = 1 AND visible = 1;

-- How far a job that enumerates has come, for its next attempt.
CREATE TABLE cursors (
    job INTEGER PRIMARY KEY,
    cursor TEXT NOT NULL        -- JSON
);
