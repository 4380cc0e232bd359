-- The first schema.  Instants are microseconds since 1970; 0: none.  States, outcomes and causes
-- are the numbers of core/job/state.h and core/job/job.h.
--
-- Texts that may contain any byte (keys, output of programs) are BYTEA: a text of PostgreSQL cannot
-- contain NUL.  Names and JSON are TEXT, compared by their bytes.  Tables with many inserts and
-- deletes are vacuumed after a fixed number of changes, not after a share of the table, and without
-- pauses.  Tables with many updates leave room in their pages.

CREATE TABLE meta (
    key TEXT COLLATE "C" PRIMARY KEY,
    value BIGINT NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE queues (
    id BIGINT PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    state BIGINT NOT NULL,
    definition TEXT COLLATE "C" NOT NULL, -- canonical JSON, core/queue/def.h
    streak BIGINT NOT NULL,     -- failures in a row
    changed_at BIGINT NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE workers (
    id BIGINT PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    host TEXT COLLATE "C",
    pid BIGINT NOT NULL,
    version TEXT COLLATE "C",
    queues TEXT COLLATE "C",    -- JSON object: name to slots
    seen_at BIGINT NOT NULL
) WITH (fillfactor = 50);

-- Jobs that have not ended.  Only columns that change are here; the rest is in `payload` and is
-- never copied.  A column that was never set holds the id, as in the embedded store.  An ended job
-- moves to `ended`, so this table stays as small as the remaining work.  New columns are added at
-- the end of both tables.
CREATE TABLE jobs (
    id BIGINT PRIMARY KEY,
    queue BIGINT NOT NULL,
    state BIGINT NOT NULL,
    priority BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    token BIGINT NOT NULL,
    prev_token BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    lease_until_at BIGINT NOT NULL,
    worker BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    history TEXT COLLATE "C"    -- JSON: values that most jobs lack, store/jobs/history.h
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000,
        autovacuum_analyze_scale_factor = 0.5, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX jobs_ready ON jobs (queue, priority DESC, id) WHERE state = 4;
CREATE INDEX jobs_due ON jobs (due_at) WHERE state = 3;

CREATE TABLE ended (
    id BIGINT PRIMARY KEY,
    queue BIGINT NOT NULL,
    state BIGINT NOT NULL,
    priority BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    token BIGINT NOT NULL,
    prev_token BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    finished_at BIGINT NOT NULL,
    worker BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    history TEXT COLLATE "C"
);

CREATE INDEX ended_failed ON ended (id) WHERE state = 7;

-- When jobs ended, for retention: one row for all jobs that a batch ended in one queue and state.
-- Retention skips a job that was removed or run again since.
CREATE TABLE endings (
    id BIGINT PRIMARY KEY,
    queue BIGINT NOT NULL,
    state BIGINT NOT NULL,
    finished_at BIGINT NOT NULL,
    jobs BYTEA NOT NULL         -- ids, 8 bytes each, little endian
) WITH (toast_tuple_target = 8160);

ALTER TABLE endings ALTER jobs SET STORAGE EXTERNAL; -- ids are not worth compressing

CREATE INDEX endings_by_time ON endings (queue, state, finished_at);

-- Keys, params, results and so on.  A job without any has no row.
CREATE TABLE payload (
    id BIGINT PRIMARY KEY,
    key BYTEA,
    params TEXT COLLATE "C",
    body BYTEA,
    labels TEXT COLLATE "C",
    options TEXT COLLATE "C",   -- JSON: retry, timeout, command
    result TEXT COLLATE "C"
);

-- Attempts that were followed by another.  The last attempt is in the job's own row.
CREATE TABLE progress (
    job BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    number BIGINT NOT NULL,
    attempt BIGINT NOT NULL,
    token BIGINT NOT NULL,
    outcome BIGINT NOT NULL,
    cause BIGINT NOT NULL,
    exit BIGINT,
    queue BIGINT NOT NULL,
    worker BIGINT NOT NULL,
    started_at BIGINT NOT NULL,
    ended_at BIGINT NOT NULL,
    text BYTEA,
    assigned TEXT COLLATE "C",
    PRIMARY KEY (job, seq)
);

-- One row for each claim request, to find the running jobs after a restart.  It names at least the
-- jobs that still run under its token.
CREATE TABLE claims (
    token BIGINT PRIMARY KEY,
    node BIGINT NOT NULL,
    worker BIGINT NOT NULL,
    lease_us BIGINT NOT NULL,
    jobs BYTEA NOT NULL         -- ids, 8 bytes each, little endian
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

CREATE TABLE keys (
    key BYTEA PRIMARY KEY,
    job BIGINT NOT NULL,
    content BIGINT NOT NULL
);

CREATE TABLE counts (
    queue BIGINT NOT NULL,
    state BIGINT NOT NULL,
    node BIGINT NOT NULL,
    n BIGINT NOT NULL,
    PRIMARY KEY (queue, state, node)
) WITH (fillfactor = 20);

CREATE TABLE logs (
    job BIGINT NOT NULL,
    first BIGINT NOT NULL,      -- offset of the first byte
    data BYTEA NOT NULL,
    PRIMARY KEY (job, first)
);

-- Actions on too many jobs for one transaction, carried out in chunks.
CREATE TABLE work (
    id BIGINT PRIMARY KEY,
    kind BIGINT NOT NULL,
    args TEXT COLLATE "C" NOT NULL,
    phase BIGINT NOT NULL,
    cursor BIGINT NOT NULL,
    last BIGINT NOT NULL,       -- jobs with higher ids came later and are not changed
    changed BIGINT NOT NULL,
    refused BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    finished_at BIGINT NOT NULL
);
