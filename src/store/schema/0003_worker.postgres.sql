-- Descriptions of workers, times of log parts, and events of queues.

ALTER TABLE queues ADD COLUMN restarts BIGINT NOT NULL DEFAULT 0;

-- 1: `queues` is the worker's own description; 0: it is taken from its last claim.
ALTER TABLE workers ADD COLUMN described BIGINT NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN slots BIGINT NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN broken TEXT COLLATE "C"; -- JSON object: queue to reason

-- Marks of a log: pairs of an offset and an instant, 8 bytes each, little endian.
CREATE TABLE log_times (
    job BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    marks BYTEA NOT NULL,
    PRIMARY KEY (job, seq)
);

CREATE TABLE queue_log (
    queue BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    what TEXT COLLATE "C" NOT NULL,
    text BYTEA,
    PRIMARY KEY (queue, seq)
);
