-- What running jobs emit.  State numbers as in jobs.sql: 1 staged, 3 scheduled, 4 ready.

-- name: emitter_load
SELECT owner, token, seq, visible_upto, staged, fate FROM emitters ORDER BY token, owner;

-- name: emitter_find
-- only: postgres
SELECT owner, token, seq, visible_upto, staged, fate FROM emitters
WHERE owner = $1 AND token = $2 FOR UPDATE;

-- name: emitter_unsettled
-- only: postgres
SELECT owner, token, seq, visible_upto, staged, fate FROM emitters
WHERE fate <> 0 OR visible_upto > 0
ORDER BY token, owner LIMIT $1 FOR UPDATE SKIP LOCKED;

-- name: emitter_put
INSERT INTO emitters (owner, token, seq, visible_upto, staged, fate) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (owner, token) DO UPDATE SET seq = excluded.seq, visible_upto = excluded.visible_upto,
       staged = excluded.staged, fate = excluded.fate;

-- name: emitter_remove
DELETE FROM emitters WHERE owner = $1 AND token = $2;

-- name: emit_add
INSERT INTO emits (id, owner, token, seq, visible, staged, jobs, contents, dropped)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: emit_find
SELECT id, seq, visible, staged, jobs, contents, dropped FROM emits
WHERE owner = $1 AND token = $2 AND seq = $3;

-- name: emit_first
SELECT id, seq, visible, staged, jobs, contents, dropped FROM emits WHERE owner = $1 AND token = $2
ORDER BY seq LIMIT 1;

-- name: emit_first_visible
SELECT id, seq, visible, staged, jobs, contents, dropped FROM emits
WHERE owner = $1 AND token = $2 AND seq <= $3 AND staged = 1 AND visible = 1 ORDER BY seq LIMIT 1;

-- name: emit_let_go
UPDATE emits SET staged = 0 WHERE id = $1;

-- name: emit_remove
DELETE FROM emits WHERE id = $1;

-- The nearest row below the id, among those of the same server.
-- name: emit_owner
SELECT owner FROM emits
WHERE id < $1 AND (id >> 12) & 1023 = ($1 >> 12) & 1023 ORDER BY id DESC LIMIT 1;

-- name: staged_load
-- store: sqlite
SELECT j.id, {queue}, j.priority, j.due_at, p.key, j.history, p.bill, j.awaited & 1, {group}, {lane}
FROM rows($1) AS r CROSS JOIN jobs AS j ON j.id = r.c1 LEFT JOIN payload AS p ON p.id = j.id
WHERE j.state = 1;
-- store: postgres
SELECT j.id, {queue}, j.priority, j.due_at, p.key, j.history, p.bill, j.awaited & 1, {group}, {lane}
FROM unnest(CAST($1 AS BIGINT[])) WITH ORDINALITY AS r(c1, place)
JOIN jobs AS j ON j.id = r.c1 LEFT JOIN payload AS p ON p.id = j.id
WHERE j.state = 1 ORDER BY r.place FOR UPDATE OF j;

-- name: staged_params
-- store: sqlite
SELECT r.c1, COALESCE(p.params, s.params), p.assigned
FROM rows($1) AS r CROSS JOIN payload AS p ON p.id = r.c2
LEFT JOIN shared AS s ON s.id = p.shared;
-- store: postgres
SELECT r.c1, COALESCE(p.params, s.params), p.assigned
FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[])) AS r(c1, c2)
JOIN payload AS p ON p.id = r.c2 LEFT JOIN shared AS s ON s.id = p.shared;

-- A history begins with the holds, if any (jobs/history.c): such a job becomes held, and keeps
-- its due time.
-- name: staged_release
-- store: sqlite
UPDATE OR ROLLBACK jobs
SET state = CASE WHEN history LIKE '{"holds":%' THEN 2 WHEN due_at > $2 THEN 3 ELSE 4 END,
       due_at = CASE WHEN due_at > $2 OR history LIKE '{"holds":%' THEN due_at ELSE 0 END
WHERE id IN (SELECT r.c1 FROM rows($1) AS r) AND state = 1;
-- store: postgres
UPDATE jobs
SET state = CASE WHEN history LIKE '{"holds":%' THEN 2 WHEN due_at > $2 THEN 3 ELSE 4 END,
       due_at = CASE WHEN due_at > $2 OR history LIKE '{"holds":%' THEN due_at ELSE 0 END
WHERE id = ANY (CAST($1 AS BIGINT[])) AND state = 1;

-- name: staged_drop
-- store: sqlite
DELETE FROM jobs WHERE id IN (SELECT r.c1 FROM rows($1) AS r) AND state = 1;
-- store: postgres
DELETE FROM jobs WHERE id = ANY (CAST($1 AS BIGINT[])) AND state = 1;

-- name: staged_drop_members
-- store: sqlite
DELETE FROM members WHERE job IN (SELECT r.c1 FROM rows($1) AS r);
-- store: postgres
DELETE FROM members WHERE job = ANY (CAST($1 AS BIGINT[]));

-- name: staged_drop_payload
-- store: sqlite
DELETE FROM payload WHERE id IN (SELECT r.c1 FROM rows($1) AS r);
-- store: postgres
DELETE FROM payload WHERE id = ANY (CAST($1 AS BIGINT[]));

-- name: staged_drop_progress
-- store: sqlite
DELETE FROM progress WHERE job IN (SELECT r.c1 FROM rows($1) AS r);
-- store: postgres
DELETE FROM progress WHERE job = ANY (CAST($1 AS BIGINT[]));

-- name: cursor_put
INSERT INTO cursors (job, cursor) VALUES ($1, $2)
ON CONFLICT (job) DO UPDATE SET cursor = excluded.cursor;

-- name: cursor_find
SELECT cursor FROM cursors WHERE job = $1;

-- name: cursor_remove
DELETE FROM cursors WHERE job = $1;
