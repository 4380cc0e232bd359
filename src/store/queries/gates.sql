-- Gates: resources and lanes, and what running jobs use of them.  Kinds: 1 resource, 2 lane, 3 jobs
-- with the same needs.
--
-- On PostgreSQL a claim locks the rows that it judges and skips those of other servers.  Locks are
-- FOR NO KEY UPDATE: jobs that are added to a lane hold its row with FOR KEY SHARE.

-- part: gate_row
id, kind, queue, name, needs, lane, definition, in_use, starts, shut_until_at, shut_us, why,
probe_until_at, probe_why, probed_at, wanted

-- name: resources_load
SELECT {gate_row} FROM gates WHERE queue = 0 AND kind = 1 ORDER BY name;

-- name: resources_list
SELECT {gate_row} FROM gates WHERE queue = 0 AND kind = 1 AND name > $1 ORDER BY name LIMIT $2;

-- name: resource_find
SELECT {gate_row} FROM gates WHERE queue = 0 AND kind = 1 AND name = $1 AND needs = '';

-- name: gate_add
INSERT INTO gates (id, kind, queue, name, needs, lane, definition, in_use, shut_until_at, shut_us,
                   probe_until_at, probed_at, wanted)
VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, 0, 0, 0, 0);

-- A lane is a queue of its own for its jobs: `lanes` says whose it is.
-- name: lane_put
INSERT INTO lanes (id, queue) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: lane_add
INSERT INTO gates (id, kind, queue, name, needs, lane, in_use, shut_until_at, shut_us,
                   probe_until_at, probed_at, wanted)
VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 0, 0, 0, 0) ON CONFLICT DO NOTHING;

-- The first ready job of each lane is looked up by itself: a join would read all ready jobs.
-- part: lane_found
SELECT found.*, (SELECT j.priority FROM jobs AS j WHERE j.id = found.first)
FROM (SELECT {gate_row},
             (SELECT j.id FROM jobs AS j WHERE j.state = 4 AND j.queue = g.id
              ORDER BY j.priority DESC, j.id LIMIT 1) AS first
-- name: lanes_ready
{lane_found} FROM gates AS g WHERE g.queue = $1) AS found WHERE found.first IS NOT NULL;

-- name: lanes_ready_of
-- store: sqlite
{lane_found} FROM rows($1) AS r CROSS JOIN gates AS g ON g.id = r.c1) AS found
WHERE found.first IS NOT NULL;
-- store: postgres
{lane_found} FROM gates AS g WHERE g.id = ANY (CAST($1 AS BIGINT[]))) AS found
WHERE found.first IS NOT NULL;

-- name: lanes_queues
SELECT DISTINCT queue FROM gates WHERE queue > 0;

-- name: gate_define
UPDATE gates SET definition = $2 WHERE id = $1;

-- name: gate_remove
DELETE FROM gates WHERE id = $1;

-- Those that another server judges are missing on PostgreSQL.
-- name: gates_hold
-- store: sqlite
SELECT {gate_row} FROM gates WHERE id IN (SELECT r.c1 FROM rows($1) AS r);
-- store: postgres
SELECT {gate_row} FROM gates WHERE id = ANY (CAST($1 AS BIGINT[]))
ORDER BY id FOR NO KEY UPDATE SKIP LOCKED;

-- name: gate_find
SELECT {gate_row} FROM gates WHERE id = $1;

-- Waits for other servers: for what is changed by hand.
-- name: gate_lock
-- store: sqlite
SELECT {gate_row} FROM gates WHERE id = $1;
-- store: postgres
SELECT {gate_row} FROM gates WHERE id = $1 FOR NO KEY UPDATE;

-- name: gate_write
-- store: sqlite
UPDATE OR ROLLBACK gates SET in_use = $2, starts = $3, wanted = $4 WHERE id = $1;
-- store: postgres
UPDATE gates SET in_use = $2, starts = $3, wanted = $4 WHERE id = $1;

-- name: gate_shut
UPDATE gates SET shut_until_at = $2, shut_us = $3, why = $4 WHERE id = $1;

-- The clock was set back: what was shut for some time is not shut for longer from now on.
-- name: gates_bound
UPDATE gates SET shut_until_at = $1 + shut_us WHERE shut_us > 0 AND shut_until_at > $1 + shut_us;

-- name: uses_add
-- store: sqlite
INSERT OR ROLLBACK INTO gate_uses (job, gate, weight, started_at)
SELECT r.c1, r.c2, r.c3, r.c4 FROM rows($1) AS r;
-- store: postgres
INSERT INTO gate_uses (job, gate, weight, started_at)
SELECT * FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]),
                     CAST($4 AS BIGINT[]));

-- PostgreSQL removes and returns them at once.
-- name: uses_take
-- store: sqlite
SELECT u.gate, u.weight FROM rows($1) AS r CROSS JOIN gate_uses AS u ON u.job = r.c1;
-- store: postgres
DELETE FROM gate_uses WHERE job = ANY (CAST($1 AS BIGINT[])) RETURNING gate, weight;

-- name: uses_remove
-- only: sqlite
DELETE FROM gate_uses WHERE job IN (SELECT r.c1 FROM rows($1) AS r);

-- Slots come back.  Rows are locked in the order of their ids.
-- name: gates_free
-- store: sqlite
UPDATE OR ROLLBACK gates SET in_use = gates.in_use - r.c2 FROM rows($1) AS r
WHERE gates.id = r.c1 RETURNING id, in_use, wanted;
-- store: postgres
WITH held AS (SELECT g.id, r.c2 AS weight
              FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[])) AS r(c1, c2)
              JOIN gates AS g ON g.id = r.c1 ORDER BY g.id FOR NO KEY UPDATE OF g)
UPDATE gates AS g SET in_use = g.in_use - held.weight FROM held
WHERE g.id = held.id RETURNING g.id, g.in_use, g.wanted;

-- name: uses_any
SELECT 1 FROM gate_uses LIMIT 1;

-- name: uses_of
SELECT job, gate, weight, started_at FROM gate_uses WHERE job = $1 ORDER BY gate;

-- name: uses_of_gate
SELECT job, gate, weight, started_at FROM gate_uses WHERE gate = $1 ORDER BY job LIMIT $2;
