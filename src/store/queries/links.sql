-- Links between jobs: waits, signals, joins.

-- Locks those jobs that no other server has locked; and tells which jobs exist.
-- name: waiters_hold
-- only: postgres
SELECT id, 1 FROM jobs WHERE id = ANY (CAST($1 AS BIGINT[])) ORDER BY id FOR UPDATE SKIP LOCKED;

-- name: waiters_look
-- only: postgres
SELECT id, 0 FROM jobs WHERE id = ANY (CAST($1 AS BIGINT[]));

-- name: waits_add
-- store: sqlite
INSERT OR ROLLBACK INTO waits (waiter, seq, kind, target, step, upon, level, take)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6, r.c7, r.c8 FROM rows($1) AS r;
-- store: postgres
INSERT INTO waits (waiter, seq, kind, target, step, upon, level, take)
SELECT * FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]),
                     CAST($4 AS BIGINT[]), CAST($5 AS BIGINT[]), CAST($6 AS BIGINT[]),
                     CAST($7 AS BIGINT[]), CAST($8 AS BIGINT[]));

-- On PostgreSQL without an equality: with one, it could choose to walk all waiters in order.
-- name: waits_on
-- store: sqlite
SELECT waiter, seq, kind, target, step, upon, level, take FROM waits
WHERE target = $1 AND waiter > $2 ORDER BY waiter, seq LIMIT $3;
-- store: postgres
SELECT waiter, seq, kind, target, step, upon, level, take FROM waits
WHERE (target, waiter) > ($1, $2) AND target <= $1 ORDER BY target, waiter, seq LIMIT $3;

-- name: waits_least
-- store: sqlite
SELECT level FROM waits WHERE target = $1 AND kind = 2 ORDER BY level LIMIT 1;
-- store: postgres
SELECT level FROM waits
WHERE (target, level) > ($1, 0) AND target <= $1 AND kind = 2 ORDER BY target, level LIMIT 1;

-- name: waits_on_step
SELECT waiter, seq, kind, target, step, upon, level, take FROM waits
WHERE target = $1 AND step = $2 AND step <> 0 ORDER BY waiter, seq LIMIT $3;

-- name: waits_of
SELECT waiter, seq, kind, target, step, upon, level, take FROM waits
WHERE waiter = $1 ORDER BY seq LIMIT $2;

-- name: wait_remove
DELETE FROM waits WHERE waiter = $1 AND seq = $2;

-- name: waits_forget
DELETE FROM waits WHERE waiter = $1;

-- name: waiters_count
SELECT COUNT(DISTINCT waiter) FROM waits WHERE target = $1;

-- Waits for a job that another server is ending: it is then found in `ended`, which is read next.
-- name: await_look
-- store: sqlite
SELECT j.id, j.state FROM rows($1) AS r CROSS JOIN jobs AS j ON j.id = r.c1;
-- store: postgres
SELECT id, state FROM jobs WHERE id = ANY (CAST($1 AS BIGINT[])) ORDER BY id FOR UPDATE;

-- name: await_mark
-- store: sqlite
UPDATE OR ROLLBACK jobs SET awaited = awaited | 1
WHERE id IN (SELECT r.c1 FROM rows($1) AS r) AND (awaited & 1) = 0;
-- store: postgres
UPDATE jobs SET awaited = awaited | 1
WHERE id = ANY (CAST($1 AS BIGINT[])) AND (awaited & 1) = 0;

-- name: await_look_ended
-- store: sqlite
SELECT j.id, j.state FROM rows($1) AS r CROSS JOIN ended AS j ON j.id = r.c1;
-- store: postgres
SELECT id, state FROM ended WHERE id = ANY (CAST($1 AS BIGINT[]));

-- name: release_put
INSERT INTO releases (target, state, cursor) VALUES ($1, $2, $3)
ON CONFLICT (target) DO UPDATE SET state = excluded.state, cursor = excluded.cursor;

-- name: release_remove
DELETE FROM releases WHERE target = $1;

-- name: release_find
SELECT target, state, cursor FROM releases WHERE target = $1;

-- name: release_any
SELECT target FROM releases LIMIT 1;

-- name: release_next
-- store: sqlite
SELECT target, state, cursor FROM releases WHERE target > $1 ORDER BY target LIMIT 1;
-- store: postgres
SELECT target, state, cursor FROM releases
WHERE target > $1 ORDER BY target LIMIT 1 FOR UPDATE SKIP LOCKED;

-- name: undone_put
INSERT INTO undone (waiter, target) VALUES ($1, $2)
ON CONFLICT (waiter) DO UPDATE SET target = excluded.target;

-- name: undone_remove
DELETE FROM undone WHERE waiter = $1;

-- name: undone_by
SELECT waiter FROM undone WHERE target = $1 AND waiter > $2 ORDER BY waiter LIMIT $3;

-- name: revival_put
INSERT INTO revivals (target, cursor) VALUES ($1, $2)
ON CONFLICT (target) DO UPDATE SET cursor = excluded.cursor;

-- name: revival_remove
DELETE FROM revivals WHERE target = $1;

-- name: revival_next
-- store: sqlite
SELECT target, cursor FROM revivals ORDER BY target LIMIT 1;
-- store: postgres
SELECT target, cursor FROM revivals ORDER BY target LIMIT 1 FOR UPDATE SKIP LOCKED;

-- name: signal_find
SELECT id, name, level, changed_at, 0 FROM signals WHERE name = $1;

-- name: signal_load
SELECT id, name, level, changed_at, 0 FROM signals WHERE id = $1;

-- For raising it, taking from it, clearing it, or waiting for it.
-- name: signal_hold
-- store: sqlite
SELECT id, name, level, changed_at, 0 FROM signals WHERE name = $1;
-- store: postgres
SELECT id, name, level, changed_at, 0 FROM signals WHERE name = $1 FOR UPDATE;

-- Those that no other server has locked.
-- name: signals_hold
-- store: sqlite
SELECT s.id, s.level FROM rows($1) AS r CROSS JOIN signals AS s ON s.id = r.c1;
-- store: postgres
SELECT id, level FROM signals WHERE id = ANY (CAST($1 AS BIGINT[]))
ORDER BY id FOR UPDATE SKIP LOCKED;

-- name: signals_absent
-- store: sqlite
SELECT r.c1, 0 FROM rows($1) AS r LEFT JOIN signals AS s ON s.id = r.c1 WHERE s.id IS NULL;
-- store: postgres
SELECT r.id, 0 FROM unnest(CAST($1 AS BIGINT[])) AS r (id) LEFT JOIN signals AS s ON s.id = r.id
WHERE s.id IS NULL;

-- name: signal_put
INSERT INTO signals (id, name, level, changed_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (id) DO UPDATE SET level = excluded.level, changed_at = excluded.changed_at;

-- name: signal_remove
DELETE FROM signals WHERE id = $1;

-- name: signals_list
SELECT s.id, s.name, s.level, s.changed_at,
       (SELECT COUNT(DISTINCT w.waiter) FROM waits AS w WHERE w.target = s.id)
FROM signals AS s WHERE s.name > $1 ORDER BY s.name LIMIT $2;

-- name: join_find
SELECT id, name, definition, fired, fired_at FROM joins WHERE name = $1;

-- name: join_put
INSERT INTO joins (id, name, definition, fired, fired_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (id) DO UPDATE SET definition = excluded.definition, fired = excluded.fired,
       fired_at = excluded.fired_at;

-- name: join_fired
UPDATE joins SET fired = fired + $2, fired_at = $3 WHERE id = $1;

-- Arrivals lock their key exclusively and the join in shared mode.
-- name: join_hold_key
-- only: postgres
SELECT pg_advisory_xact_lock_shared(
           hashtextextended('waybill.join.' || current_schema(), CAST($1 AS BIGINT))),
       pg_advisory_xact_lock(
           hashtextextended('waybill.key.' || current_schema() || '.' || $2, CAST($1 AS BIGINT)));

-- name: join_hold
-- only: postgres
SELECT pg_advisory_xact_lock(
           hashtextextended('waybill.join.' || current_schema(), CAST($1 AS BIGINT)));

-- name: join_remove
DELETE FROM joins WHERE id = $1;

-- name: joins_list
SELECT id, name, definition, fired, fired_at FROM joins WHERE name > $1 ORDER BY name LIMIT $2;

-- name: arrivals_find
SELECT join_id, key, n, first_at, jobs FROM arrivals WHERE join_id = $1 AND key = $2;

-- name: arrivals_put
INSERT INTO arrivals (join_id, key, n, first_at, jobs) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (join_id, key)
DO UPDATE SET n = excluded.n, first_at = excluded.first_at, jobs = excluded.jobs;

-- name: arrivals_remove
DELETE FROM arrivals WHERE join_id = $1 AND key = $2;

-- name: arrivals_clear
DELETE FROM arrivals WHERE join_id = $1;

-- A key may be empty: $3 tells whether to begin with the first.
-- name: arrivals_list
SELECT join_id, key, n, first_at, jobs FROM arrivals
WHERE join_id = $1 AND key >= $2 AND (key > $2 OR $3 = 1) ORDER BY key LIMIT $4;

-- name: arrivals_count
SELECT COUNT(*) FROM arrivals WHERE join_id = $1;
