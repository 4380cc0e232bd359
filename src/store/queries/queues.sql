-- name: queue_load
SELECT id, name, state, definition, streak, changed_at, restarts FROM queues ORDER BY id;

-- name: queue_add
INSERT INTO queues (id, name, state, definition, streak, changed_at)
VALUES ($1, $2, $3, $4, 0, $5);

-- name: queue_set
UPDATE queues SET state = $2, definition = $3, streak = CASE WHEN $4 < 0 THEN streak ELSE $4 END,
       changed_at = $5, restarts = $6
WHERE id = $1;

-- Consecutive failures, counted over all servers.
-- name: queue_streak_lock
-- only: postgres
SELECT streak FROM queues WHERE id = $1 FOR UPDATE;

-- name: queue_streak_set
-- only: postgres
UPDATE queues SET streak = $2 WHERE id = $1 AND streak <> $2;

-- name: queue_remove
DELETE FROM queues WHERE id = $1;

-- name: queue_next_ready
SELECT id FROM jobs WHERE state = 4 AND queue = $1 ORDER BY priority DESC, id LIMIT 1;

-- name: worker_number
SELECT id FROM workers WHERE name = $1;

-- Replaces only the instance that the caller knows: another server may have accepted a new one.
-- name: worker_put
INSERT INTO workers (id, name, host, pid, version, queues, seen_at, described, slots, broken,
                     instance, boot, since_at,
                     lease_us)
VALUES ($7, $1, $2, $3, $4, $5, $6, $8, $9, $10, $11, $12, $13, $14)
ON CONFLICT (name) DO UPDATE SET host = excluded.host, pid = excluded.pid,
       version = excluded.version, queues = excluded.queues, seen_at = excluded.seen_at,
       described = excluded.described, slots = excluded.slots, broken = excluded.broken,
       instance = excluded.instance, boot = excluded.boot, since_at = excluded.since_at,
       lease_us = excluded.lease_us
WHERE workers.instance IS NOT DISTINCT FROM $15 OR workers.instance = excluded.instance
RETURNING id;

-- name: worker_say
UPDATE workers SET seen_at = $2 WHERE id = $1 AND seen_at < $2;

-- name: worker_remove
DELETE FROM workers WHERE id = $1 AND seen_at <= $2;

-- name: worker_find
SELECT id, name, host, pid, version, queues, seen_at, described, slots, broken, instance, boot,
       since_at, lease_us
FROM workers WHERE id = $1;

-- name: worker_named
SELECT id, name, host, pid, version, queues, seen_at, described, slots, broken, instance, boot,
       since_at, lease_us
FROM workers WHERE name = $1;

-- name: worker_load
SELECT id, name, host, pid, version, queues, seen_at, described, slots, broken, instance, boot,
       since_at, lease_us
FROM workers ORDER BY name;

-- name: queue_log_last
SELECT COALESCE(MAX(seq), 0) FROM queue_log WHERE queue = $1;

-- name: queue_log_add
INSERT INTO queue_log (queue, seq, at, what, text) VALUES ($1, $2, $3, $4, $5);

-- name: queue_log_cut
-- store: sqlite
DELETE FROM queue_log WHERE queue = $1
  AND seq <= (SELECT seq FROM queue_log WHERE queue = $1 ORDER BY seq DESC LIMIT 1 OFFSET $2);
-- store: postgres
DELETE FROM queue_log WHERE queue = $1 AND seq IN
    (SELECT seq FROM queue_log WHERE queue = $1 ORDER BY seq DESC OFFSET $2 FOR UPDATE SKIP LOCKED);

-- name: queue_log_read
SELECT at, what, text FROM queue_log WHERE queue = $1 ORDER BY seq DESC LIMIT $2;

-- name: queue_log_newest
SELECT at, what, text FROM queue_log WHERE queue = $1 AND what = $2 ORDER BY seq DESC LIMIT 1;

-- name: queue_log_remove
DELETE FROM queue_log WHERE queue = $1;
