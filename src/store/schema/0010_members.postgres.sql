-- A job may be in a group, and in a lane of its queue; 0: in none.

ALTER TABLE jobs ADD COLUMN group_id BIGINT NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN lane BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ended ADD COLUMN group_id BIGINT NOT NULL DEFAULT 0;
ALTER TABLE ended ADD COLUMN lane BIGINT NOT NULL DEFAULT 0;

CREATE INDEX jobs_group ON jobs (group_id, id) WHERE group_id <> 0;
CREATE INDEX ended_group ON ended (group_id, id) WHERE group_id <> 0;

-- Jobs in lanes are found by their lanes.
DROP INDEX jobs_ready;
CREATE INDEX jobs_ready ON jobs (queue, priority DESC, id) WHERE state = 4 AND lane = 0;
CREATE INDEX jobs_lane ON jobs (lane, priority DESC, id) WHERE state = 4 AND lane <> 0;
