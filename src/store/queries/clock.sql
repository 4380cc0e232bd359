-- Schedules, firings, expiries.

-- part: schedule_row
id, name, definition, paused, last_at, next_at, job, entries, fired, skipped, missed

-- name: schedule_find
SELECT {schedule_row} FROM schedules WHERE name = $1;

-- name: schedule_hold
-- store: sqlite
SELECT {schedule_row} FROM schedules WHERE name = $1;
-- store: postgres
SELECT {schedule_row} FROM schedules WHERE name = $1 FOR UPDATE;

-- name: schedules_list
SELECT {schedule_row} FROM schedules WHERE name > $1 ORDER BY name LIMIT $2;

-- Skips what another server has locked.
-- name: schedules_due
-- store: sqlite
SELECT {schedule_row} FROM schedules WHERE next_at <= $1 ORDER BY next_at, id LIMIT $2;
-- store: postgres
SELECT {schedule_row} FROM schedules WHERE next_at <= $1 ORDER BY next_at, id LIMIT $2
FOR UPDATE SKIP LOCKED;

-- Those that have settled times in the future.
-- name: schedules_ahead
-- store: sqlite
SELECT {schedule_row} FROM schedules WHERE last_at > $1 ORDER BY id;
-- store: postgres
SELECT {schedule_row} FROM schedules WHERE last_at > $1 ORDER BY id FOR UPDATE SKIP LOCKED;

-- name: schedules_next
SELECT next_at FROM schedules ORDER BY next_at LIMIT 1;

-- name: schedule_add
INSERT INTO schedules (id, name, definition, paused, last_at, next_at, job, entries, fired,
                       skipped, missed)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11);

-- Guarded by what was read of the schedule: its settled times and its entries.
-- name: schedule_update
UPDATE schedules
SET definition = $4, paused = $5, last_at = $6, next_at = $7, job = $8, entries = $9, fired = $10,
    skipped = $11, missed = $12
WHERE id = $1 AND last_at = $2 AND entries = $3;

-- name: schedule_remove
DELETE FROM schedules WHERE id = $1;

-- name: firing_add
INSERT INTO firings (schedule, seq, state, nominal_at, until_at, n, at, job, why)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: firings_trim
DELETE FROM firings WHERE schedule = $1 AND seq <= $2;

-- name: firings_list
SELECT schedule, seq, state, nominal_at, until_at, n, at, job, why FROM firings
WHERE schedule = $1 ORDER BY seq DESC LIMIT $2;

-- The first nominal time that was missed and lies in a row of such that goes on after $2.
-- name: firings_missed
SELECT MIN(nominal_at) FROM firings WHERE schedule = $1 AND state = 3 AND until_at > $2;

-- name: firings_fired
SELECT COUNT(*) FROM firings WHERE schedule = $1 AND state = 1 AND nominal_at = $2;

-- name: expiries_add
-- store: sqlite
INSERT OR REPLACE INTO expiries (job, at, look_at) SELECT r.c1, r.c2, r.c2 FROM rows($1) AS r;
-- store: postgres
INSERT INTO expiries (job, at, look_at)
SELECT r.c1, r.c2, r.c2 FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[])) AS r (c1, c2)
ON CONFLICT (job) DO UPDATE SET at = excluded.at, look_at = excluded.look_at;

-- name: expiries_put_off
-- store: sqlite
UPDATE OR ROLLBACK expiries SET look_at = $2 WHERE job IN (SELECT r.c1 FROM rows($1) AS r);
-- store: postgres
UPDATE expiries SET look_at = $2 WHERE job = ANY (CAST($1 AS BIGINT[]));

-- name: expiries_due
-- store: sqlite
SELECT job FROM expiries WHERE look_at <= $1 ORDER BY look_at, job LIMIT $2;
-- store: postgres
SELECT job FROM expiries WHERE look_at <= $1 ORDER BY look_at, job LIMIT $2
FOR UPDATE SKIP LOCKED;

-- name: expiries_next
SELECT look_at FROM expiries ORDER BY look_at LIMIT 1;

-- name: expiries_remove
-- store: sqlite
DELETE FROM expiries WHERE job IN (SELECT r.c1 FROM rows($1) AS r);
-- store: postgres
DELETE FROM expiries WHERE job = ANY (CAST($1 AS BIGINT[]));

-- name: expiry_of
SELECT at FROM expiries WHERE job = $1;

-- Which of these jobs have passed their time.
-- name: expiries_passed
-- store: sqlite
SELECT job FROM expiries WHERE job IN (SELECT r.c1 FROM rows($1) AS r) AND at <= $2;
-- store: postgres
SELECT job FROM expiries WHERE job = ANY (CAST($1 AS BIGINT[])) AND at <= $2;
