-- What workers tell of themselves, when parts of a log were written, and what happened to queues.

ALTER TABLE queues ADD COLUMN restarts INTEGER NOT NULL DEFAULT 0;

-- A worker that has described itself is shown by that, not by what its claims ask for.
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
