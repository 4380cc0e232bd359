-- Descriptions of workers, times of log parts, and events of queues.

ALTER TABLE queues ADD COLUMN restarts INTEGER NOT NULL DEFAULT 0;

-- 1: `queues` is the worker's own description; 0: it is taken from its last claim.
ALTER TABLE workers ADD COLUMN described INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN slots INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN broken TEXT;     -- JSON object: queue to reason

-- Marks of a log: pairs of an offset and an instant, 8 bytes each, little endian.
CREATE TABLE log_times (
    job INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    marks BLOB NOT NULL,
    PRIMARY KEY (job, seq)
);

CREATE TABLE queue_log (
    queue INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    what TEXT NOT NULL,
    text TEXT,
    PRIMARY KEY (queue, seq)
);
