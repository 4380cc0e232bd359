-- Which process of a worker's name may claim under it: engine/instance.c.  NULL where it has not told.
ALTER TABLE workers ADD COLUMN instance TEXT COLLATE "C";
ALTER TABLE workers ADD COLUMN boot TEXT COLLATE "C";      -- of its machine
ALTER TABLE workers ADD COLUMN since_at BIGINT NOT NULL DEFAULT 0;   -- when that instance came
ALTER TABLE workers ADD COLUMN lease_us BIGINT NOT NULL DEFAULT 0;   -- so long may it be away
