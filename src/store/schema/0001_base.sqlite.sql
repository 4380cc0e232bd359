-- The first schema.  Instants are microseconds since 1970; 0: none.  States, outcomes and causes
-- are the numbers of core/job/state.h and core/job/job.h.

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value INTEGER NOT NULL
);

CREATE TABLE queues (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    state INTEGER NOT NULL,
    definition TEXT NOT NULL,   -- canonical JSON, core/queue/def.h
    streak INTEGER NOT NULL,    -- failures in a row
    changed_at INTEGER NOT NULL
);

CREATE TABLE workers (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    host TEXT,
    pid INTEGER NOT NULL,
    version TEXT,
    queues TEXT,                -- JSON object: name to slots
    seen_at INTEGER NOT NULL
);

-- Jobs that have not ended.  Only columns that change are here; the rest is in `payload` and is
-- never copied.  Columns that a claim sets later hold a number of the same width (the id) from the
-- start, so that a claim changes a row in place and never splits its page.  An ended job moves to
-- `ended`, so this table stays as small as the remaining work.  New columns are added at the end of
-- both tables: existing rows are not rewritten.
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL,
    state INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    token INTEGER NOT NULL,
    prev_token INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    lease_until_at INTEGER NOT NULL,
    worker INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    history TEXT                -- JSON: values that most jobs lack, store/jobs/history.h
);

CREATE INDEX jobs_ready ON jobs (queue, priority DESC) WHERE state = 4;
CREATE INDEX jobs_due ON jobs (due_at) WHERE state = 3;

CREATE TABLE ended (
    id INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL,
    state INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    due_at INTEGER NOT NULL,
    token INTEGER NOT NULL,
    prev_token INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    worker INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    history TEXT
);

CREATE INDEX ended_failed ON ended (state) WHERE state = 7;

-- When jobs ended, for retention: one row for all jobs that a batch ended in one queue and state.
-- Retention skips a job that was removed or run again since.
CREATE TABLE endings (
    id INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL,
    state INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    jobs BLOB NOT NULL          -- ids, 8 bytes each, little endian
);

CREATE INDEX endings_by_time ON endings (queue, state, finished_at);

-- Keys, params, results and so on.  A job without any has no row.
CREATE TABLE payload (
    id INTEGER PRIMARY KEY,
    key TEXT,
    params TEXT,
    body BLOB,
    labels TEXT,
    options TEXT,               -- JSON: retry, timeout, command
    result TEXT
);

-- Attempts that were followed by another.  The last attempt is in the job's own row.
CREATE TABLE progress (
    job INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    number INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    token INTEGER NOT NULL,
    outcome INTEGER NOT NULL,
    cause INTEGER NOT NULL,
    exit INTEGER,
    queue INTEGER NOT NULL,
    worker INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    text TEXT,
    assigned TEXT,
    PRIMARY KEY (job, seq)
);

-- One row for each claim request, to find the running jobs after a restart.  It names at least the
-- jobs that still run under its token.
CREATE TABLE claims (
    token INTEGER PRIMARY KEY,
    node INTEGER NOT NULL,
    worker INTEGER NOT NULL,
    lease_us INTEGER NOT NULL,
    jobs BLOB NOT NULL          -- ids, 8 bytes each, little endian
);

CREATE TABLE keys (
    key TEXT PRIMARY KEY,
    job INTEGER NOT NULL,
    content INTEGER NOT NULL
);

CREATE TABLE counts (
    queue INTEGER NOT NULL,
    state INTEGER NOT NULL,
    node INTEGER NOT NULL,
    n INTEGER NOT NULL,
    PRIMARY KEY (queue, state, node)
);

CREATE TABLE logs (
    job INTEGER NOT NULL,
    first INTEGER NOT NULL,     -- offset of the first byte
    data BLOB NOT NULL,
    PRIMARY KEY (job, first)
);

-- Actions on too many jobs for one transaction, carried out in chunks.
CREATE TABLE work (
    id INTEGER PRIMARY KEY,
    kind INTEGER NOT NULL,
    args TEXT NOT NULL,
    phase INTEGER NOT NULL,
    cursor INTEGER NOT NULL,
    last INTEGER NOT NULL,      -- jobs with higher ids came later and are not changed
    changed INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL
);
