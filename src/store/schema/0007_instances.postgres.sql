-- The process that may claim under a worker's name: engine/queues/instance.c.  NULL: unknown.
ALTER TABLE workers ADD COLUMN instance TEXT COLLATE "C";
ALTER TABLE workers ADD COLUMN boot TEXT COLLATE "C";      -- boot id of its machine
ALTER TABLE workers ADD COLUMN since_at BIGINT NOT NULL DEFAULT 0;   -- when that instance came
ALTER TABLE workers ADD COLUMN lease_us BIGINT NOT NULL DEFAULT 0;   -- how long it may be silent
