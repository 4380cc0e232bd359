-- What filters remember.

-- Servers that judge new jobs by their keys take turns: what one finds holds until its commit.
-- name: uniques_lock
-- only: postgres
SELECT pg_advisory_xact_lock(hashtextextended('waybill.uniques.' || current_schema(), 0));

-- name: uniques_find
-- store: sqlite
SELECT r.c1, u.job, u.for_us, u.until_at
FROM rows($1) AS r CROSS JOIN uniques AS u
ON u.scope = r.c2 AND u.hash1 = r.c3 AND u.hash2 = r.c4;
-- store: postgres
SELECT r.c1, u.job, u.for_us, u.until_at
FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]), CAST($4 AS BIGINT[]))
     AS r(c1, c2, c3, c4)
CROSS JOIN LATERAL (SELECT job, for_us, until_at FROM uniques
                    WHERE scope = r.c2 AND hash1 = r.c3 AND hash2 = r.c4 OFFSET 0) AS u;

-- name: uniques_put
-- store: sqlite
INSERT INTO uniques (scope, hash1, hash2, job, queue, for_us, until_at)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6, r.c7 FROM rows($1) AS r WHERE TRUE
ON CONFLICT (scope, hash1, hash2) DO UPDATE SET job = excluded.job, queue = excluded.queue,
       for_us = excluded.for_us, until_at = excluded.until_at;
-- store: postgres
INSERT INTO uniques (scope, hash1, hash2, job, queue, for_us, until_at)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6, r.c7
FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]), CAST($4 AS BIGINT[]),
            CAST($5 AS BIGINT[]), CAST($6 AS BIGINT[]), CAST($7 AS BIGINT[]))
     AS r(c1, c2, c3, c4, c5, c6, c7)
ON CONFLICT (scope, hash1, hash2) DO UPDATE SET job = excluded.job, queue = excluded.queue,
       for_us = excluded.for_us, until_at = excluded.until_at;

-- The states of jobs that have keys.
-- name: uniques_holders
-- store: sqlite
SELECT r.c1, j.state, 0 FROM rows($1) AS r CROSS JOIN jobs AS j ON j.id = r.c2
UNION ALL
SELECT r.c1, e.state, e.finished_at FROM rows($1) AS r CROSS JOIN ended AS e ON e.id = r.c2;
-- store: postgres
SELECT r.c1, j.state, 0
FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[])) AS r(c1, c2) JOIN jobs AS j ON j.id = r.c2
UNION ALL
SELECT r.c1, e.state, e.finished_at
FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[])) AS r(c1, c2)
JOIN ended AS e ON e.id = r.c2;

-- Keys whose time has come.
-- name: uniques_due
SELECT scope, hash1, hash2, job, queue, for_us, until_at FROM uniques
WHERE until_at > 0 AND until_at <= $1 ORDER BY until_at LIMIT $2;

-- name: uniques_next
SELECT MIN(until_at) FROM uniques WHERE until_at > 0;

-- name: uniques_remove
DELETE FROM uniques WHERE scope = $1 AND hash1 = $2 AND hash2 = $3;

-- name: gone_scope_add
INSERT INTO gone_scopes (scope) VALUES ($1) ON CONFLICT (scope) DO NOTHING;

-- name: gone_scope_first
SELECT MIN(scope) FROM gone_scopes;

-- name: gone_scope_any
SELECT 1 FROM gone_scopes LIMIT 1;

-- name: gone_scope_cut
DELETE FROM uniques WHERE scope = $1 AND (hash1, hash2) IN
    (SELECT hash1, hash2 FROM uniques WHERE scope = $1 ORDER BY hash1, hash2 LIMIT $2);

-- name: gone_scope_remove
DELETE FROM gone_scopes WHERE scope = $1;

-- name: drops_add
INSERT INTO drops (id, queue, filter, job, text) VALUES ($1, $2, $3, $4, $5);

-- name: drops_cut
DELETE FROM drops WHERE queue = $1 AND id <
    (SELECT id FROM drops WHERE queue = $1 ORDER BY id DESC LIMIT 1 OFFSET $2);

-- name: drops_load
SELECT id, queue, filter, job, text FROM drops WHERE queue = $1 ORDER BY id DESC;

-- name: drops_remove
DELETE FROM drops WHERE queue = $1;

-- name: filter_count_add
INSERT INTO filter_counts (queue, what, node, n) VALUES ($1, $2, $3, $4)
ON CONFLICT (queue, what, node) DO UPDATE SET n = filter_counts.n + excluded.n;

-- name: filter_count_load
SELECT queue, what, CAST(SUM(n) AS BIGINT) FROM filter_counts GROUP BY queue, what
ORDER BY queue, what;

-- name: filter_count_queue
SELECT queue, what, CAST(SUM(n) AS BIGINT) FROM filter_counts WHERE queue = $1
GROUP BY queue, what ORDER BY what;

-- name: filter_count_remove
DELETE FROM filter_counts WHERE queue = $1;

-- name: filter_wait_add
INSERT INTO filter_waits (job, queue, due_at, tries) VALUES ($1, $2, 0, 0)
ON CONFLICT (job) DO NOTHING;

-- name: filter_wait_find
SELECT job, queue, due_at, tries, why FROM filter_waits WHERE job = $1;

-- name: filter_wait_fail
UPDATE filter_waits SET due_at = $2, tries = $3, why = $4 WHERE job = $1;

-- name: filter_wait_remove
DELETE FROM filter_waits WHERE job = $1;

-- name: filter_waits_due
SELECT job FROM filter_waits WHERE queue = $1 AND due_at <= $2 ORDER BY due_at, job LIMIT $3;

-- name: filter_waits_next
SELECT MIN(due_at) FROM filter_waits WHERE queue = $1 AND due_at > $2;

-- name: filter_waits_queues
SELECT DISTINCT queue FROM filter_waits;
