-- name: meta_get
SELECT value FROM meta WHERE key = $1;

-- name: meta_set
INSERT INTO meta (key, value) VALUES ($1, $2)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- The next number of a counter.  Another server that wants one waits for this transaction.
-- name: meta_next
INSERT INTO meta (key, value) VALUES ($1, 1)
ON CONFLICT (key) DO UPDATE SET value = meta.value + 1
RETURNING value;

-- Over all tables whose key is an id of the common generator.
-- name: meta_ids_around
SELECT (SELECT MAX(id) FROM (SELECT MAX(id) AS id FROM jobs WHERE id <= $1
        UNION ALL SELECT MAX(id) FROM ended WHERE id <= $1
        UNION ALL SELECT MAX(id) FROM endings WHERE id <= $1
        UNION ALL SELECT MAX(id) FROM emits WHERE id <= $1
        UNION ALL SELECT MAX(id) FROM work WHERE id <= $1
        UNION ALL SELECT MAX(id) FROM drops WHERE id <= $1
        UNION ALL SELECT MAX(token) FROM claims WHERE token <= $1
        UNION ALL SELECT MAX(id) FROM signals WHERE id <= $1
        UNION ALL SELECT MAX(id) FROM joins WHERE id <= $1
        UNION ALL SELECT MAX(id) FROM groups WHERE id <= $1) AS below),
       (SELECT MIN(id) FROM (SELECT MIN(id) AS id FROM jobs WHERE id > $1
        UNION ALL SELECT MIN(id) FROM ended WHERE id > $1
        UNION ALL SELECT MIN(id) FROM endings WHERE id > $1
        UNION ALL SELECT MIN(id) FROM emits WHERE id > $1
        UNION ALL SELECT MIN(id) FROM work WHERE id > $1
        UNION ALL SELECT MIN(id) FROM drops WHERE id > $1
        UNION ALL SELECT MIN(token) FROM claims WHERE token > $1
        UNION ALL SELECT MIN(id) FROM signals WHERE id > $1
        UNION ALL SELECT MIN(id) FROM joins WHERE id > $1
        UNION ALL SELECT MIN(id) FROM groups WHERE id > $1) AS above);

-- name: count_add
INSERT INTO counts (queue, state, node, n) VALUES ($1, $2, $3, $4)
ON CONFLICT (queue, state, node) DO UPDATE SET n = counts.n + excluded.n;

-- name: count_load
SELECT queue, state, CAST(SUM(n) AS BIGINT) FROM counts GROUP BY queue, state ORDER BY queue, state;

-- name: count_queue
SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM counts WHERE queue = $1;

-- Jobs that are held, scheduled or ready, in one queue or (0) in all.
-- name: count_waiting
SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM counts
WHERE (queue = $1 OR $1 = 0) AND state IN (2, 3, 4);

-- name: count_ready
SELECT CAST(COALESCE(SUM(n), 0) AS BIGINT) FROM counts WHERE queue = $1 AND state = 4;

-- name: count_remove
DELETE FROM counts WHERE queue = $1;

-- name: database_size
-- only: postgres
SELECT pg_database_size(current_database());
