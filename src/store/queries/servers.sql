-- Servers that share a store, on PostgreSQL only.  Time is the clock of the database.

-- Writers share the lock; a change of queues takes it exclusively.
-- name: server_lock_beside
-- only: postgres
SELECT pg_advisory_xact_lock_shared(hashtextextended('waybill.' || current_schema(), 0));

-- name: server_lock_alone
-- only: postgres
SELECT pg_advisory_xact_lock(hashtextextended('waybill.' || current_schema(), 0));

-- For this transaction only.
-- name: server_patience
-- only: postgres
SELECT set_config('lock_timeout', $1, true);

-- A join takes the lock exclusively: whether there are other servers stays true for the whole
-- transaction.  A dead server counts until its claims are adopted, because it may still commit.
-- name: server_view
-- only: postgres
SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT),
       (SELECT value FROM meta WHERE key = 'definitions'),
       (SELECT value FROM meta WHERE key = 'changes'),
       NOT EXISTS (SELECT 1 FROM servers WHERE node <> $1 AND alive_until_at > 0);

-- name: server_changed
-- only: postgres
INSERT INTO meta (key, value) VALUES ('changes', 1)
ON CONFLICT (key) DO UPDATE SET value = meta.value + 1
RETURNING value;

-- name: server_by_name
-- only: postgres
SELECT node, incarnation, ids_mark,
       alive_until_at > CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)
           AND (pid <> $2 OR host <> $3)
FROM servers WHERE name = $1 FOR UPDATE;

-- The node of a server whose claims were adopted.
-- name: server_free_node
-- only: postgres
SELECT node, incarnation, ids_mark, FALSE FROM servers
WHERE alive_until_at = 0 ORDER BY node LIMIT 1 FOR UPDATE;

-- name: server_ids_marks
-- only: postgres
SELECT COALESCE(MAX(ids_mark), 0) FROM servers;

-- name: server_new_node
-- only: postgres
SELECT COALESCE(MAX(node), 0) + 1 FROM servers;

-- Keeps the last signature of the node's former server, which may still ask for it.
-- name: server_join
-- only: postgres
INSERT INTO servers (node, name, incarnation, batch, ids_mark, alive_until_at, former, former_batch,
                     host, pid, version, url, joined_at)
VALUES ($1, $2, $3, 0, 0, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) + $4,
        0, 0, $5, $6, $7, $8,
        CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT))
ON CONFLICT (node)
DO UPDATE SET name = excluded.name, incarnation = excluded.incarnation, batch = 0,
       alive_until_at = excluded.alive_until_at, former = servers.incarnation,
       former_batch = servers.batch,
       host = excluded.host, pid = excluded.pid, version = excluded.version, url = excluded.url,
       joined_at = excluded.joined_at;

-- The commit is sent without waiting for the answer: when there is no row to sign, the statement
-- fails by the logarithm of 0 (SQLSTATE 2201E).
-- name: server_sign
-- only: postgres
WITH me AS (UPDATE servers SET batch = $3, ids_mark = $4,
                   alive_until_at =
                       CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) + $5
            WHERE node = $1 AND incarnation = $2 AND alive_until_at > 0 RETURNING node)
SELECT CAST(LN(COUNT(*)) AS BIGINT) FROM me;

-- Closes the incarnation and returns its last signature.  A backend that has not signed yet finds
-- no row from now on; for one that has signed, this statement waits for its commit.
-- name: server_fence
-- only: postgres
UPDATE servers SET incarnation = incarnation + 1, batch = 0,
                   former = incarnation, former_batch = batch
WHERE node = $1 AND incarnation = $2 RETURNING former_batch;

-- name: server_former
-- only: postgres
SELECT former, former_batch FROM servers WHERE node = $1 FOR UPDATE;

-- Workers are locked in order, skipping locked ones: two beats never wait for each other.  Ready
-- jobs are looked up queue by queue, as a value: as a join, the planner would read all of them.
-- name: server_beat
-- only: postgres
WITH clock AS (SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) AS now_at),
me AS (UPDATE servers SET alive_until_at = (SELECT now_at FROM clock) + $3
       WHERE node = $1 AND incarnation = $2 AND alive_until_at > 0 RETURNING node),
told AS (SELECT r.c1 AS id, r.c2 AS seen_at
         FROM unnest(CAST($4 AS BIGINT[]), CAST($5 AS BIGINT[])) AS r(c1, c2)),
held AS (SELECT id FROM workers WHERE id IN (SELECT id FROM told)
         ORDER BY id FOR UPDATE SKIP LOCKED),
seen AS (UPDATE workers w SET seen_at = t.seen_at FROM told t
         WHERE w.id = t.id AND w.id IN (SELECT id FROM held) AND w.seen_at < t.seen_at)
SELECT (SELECT COUNT(*) FROM me), now_at, (SELECT MIN(due_at) FROM jobs WHERE state = 3),
       EXISTS (SELECT 1 FROM servers
               WHERE alive_until_at > 0 AND alive_until_at < now_at AND node <> $1),
       EXISTS (SELECT 1 FROM work WHERE finished_at = 0)
           OR EXISTS (SELECT 1 FROM groups WHERE work <> 0),
       EXISTS (SELECT 1 FROM emitters WHERE fate <> 0 OR visible_upto > 0),
       EXISTS (SELECT 1 FROM queues AS q WHERE q.state IN (1, 3) -- those that start jobs
                   AND (SELECT j.state FROM jobs AS j
                        WHERE j.state = 4 AND j.queue = q.id LIMIT 1) IS NOT NULL),
       COALESCE((SELECT value FROM meta WHERE key = 'changes'), 0), EXISTS (SELECT 1 FROM releases),
       (SELECT MIN(alive_until_at) FROM servers WHERE alive_until_at >= now_at AND node <> $1),
       EXISTS (SELECT 1 FROM revivals),
       EXISTS (SELECT 1 FROM spreads) OR EXISTS (SELECT 1 FROM follows),
       LEAST((SELECT MIN(next_at) FROM schedules), (SELECT MIN(look_at) FROM expiries)),
       (SELECT STRING_AGG(CAST(id AS TEXT), ' ') FROM workers
        WHERE id IN (SELECT id FROM told) AND id NOT IN (SELECT id FROM held))
FROM clock;

-- name: server_dead
-- only: postgres
SELECT node, url FROM servers
WHERE alive_until_at > 0 AND node <> $1
  AND alive_until_at < CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)
ORDER BY node FOR UPDATE SKIP LOCKED;

-- name: server_take_claims
-- only: postgres
UPDATE claims SET node = $1 WHERE node = $2;

-- name: server_bury
-- only: postgres
UPDATE servers SET alive_until_at = 0 WHERE node = $1;

-- Marks it as dead, whatever the clock says.
-- name: server_leave
-- only: postgres
UPDATE servers SET alive_until_at = 1 WHERE node = $1 AND incarnation = $2 AND alive_until_at > 0;

-- name: server_list
-- only: postgres
SELECT node, name, host, version, url, pid, joined_at, alive_until_at FROM servers
WHERE alive_until_at > 0
ORDER BY node;

-- name: server_tell
-- only: postgres
SELECT pg_notify('waybill.' || current_schema(), $1);

-- name: job_lock
-- only: postgres
SELECT 1 FROM jobs WHERE id = $1 FOR UPDATE;

-- name: ended_lock
-- only: postgres
SELECT 1 FROM ended WHERE id = $1 FOR UPDATE;
