-- The first store.  Instants are microseconds since 1970, 0 for none.  States, outcomes and causes are
-- the numbers of core/job_state.h and core/job.h.
--
-- Texts that may hold any byte (keys, what programs say) are BYTEA: PostgreSQL's texts hold no NUL.
-- Names and JSON are TEXT, compared by their bytes.  Tables whose rows come and go are vacuumed by how much has
-- changed, not by their share of the whole, and as fast as it goes; rows that change all the time have room in
-- their pages for that.

CREATE TABLE meta (
    key TEXT COLLATE "C" PRIMARY KEY,
    value BIGINT NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE queues (
    id BIGINT PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    state BIGINT NOT NULL,
    definition TEXT COLLATE "C" NOT NULL, -- canonical JSON, core/queue_def.h
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

-- Jobs that live.  Only what moves stands here; the payload has a table of its own and is never copied.  What was
-- never filled holds the id, as in the embedded store.  An ended job moves to `ended`: this table stays as small
-- as the work that is left.  Later columns (group, route, lane …) are added at the end of both.
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
    history TEXT COLLATE "C"    -- JSON of what most jobs never have, store/history.h
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

-- When jobs ended, for retention: one row for what one batch ended in one queue and state.  A job that was
-- removed or run again since is passed over when the row's time comes.
CREATE TABLE endings (
    id BIGINT PRIMARY KEY,
    queue BIGINT NOT NULL,
    state BIGINT NOT NULL,
    finished_at BIGINT NOT NULL,
    jobs BYTEA NOT NULL         -- ids, 8 bytes each, little endian
) WITH (toast_tuple_target = 8160);

ALTER TABLE endings ALTER jobs SET STORAGE EXTERNAL; -- ids are not worth compressing

CREATE INDEX endings_by_time ON endings (queue, state, finished_at);

-- What a job carries; a job that carries nothing has no row.
CREATE TABLE payload (
    id BIGINT PRIMARY KEY,
    key BYTEA,
    params TEXT COLLATE "C",
    body BYTEA,
    labels TEXT COLLATE "C",
    options TEXT COLLATE "C",   -- JSON: retry, timeout, command
    result TEXT COLLATE "C"
);

-- Attempts that ended and were followed by another.  The last one stands in the job's own row.
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

-- One row a claim request: finds the running jobs again after a restart.  It names at least those that
-- still run under its token.
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

-- Effects too large for one transaction, worked off in chunks.
CREATE TABLE work (
    id BIGINT PRIMARY KEY,
    kind BIGINT NOT NULL,
    args TEXT COLLATE "C" NOT NULL,
    phase BIGINT NOT NULL,
    cursor BIGINT NOT NULL,
    last BIGINT NOT NULL,       -- jobs above came later and are not meant
    changed BIGINT NOT NULL,
    refused BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    finished_at BIGINT NOT NULL
);
