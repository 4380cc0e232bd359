-- name: work_add
INSERT INTO work (id, kind, args, phase, cursor, last, changed, refused, created_at, finished_at)
VALUES ($1, $2, $3, 0, 0, $4, 0, 0, $5, 0);

-- name: work_load
SELECT id, kind, args, phase, cursor, last, changed, refused, created_at, finished_at
FROM work ORDER BY id;

-- name: work_find
SELECT id, kind, args, phase, cursor, last, changed, refused, created_at, finished_at
FROM work WHERE id = $1;

-- The oldest that no other server has locked.
-- name: work_next
-- only: postgres
SELECT id, kind, args, phase, cursor, last, changed, refused, created_at, finished_at FROM work
WHERE finished_at = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;

-- name: work_step
UPDATE work SET phase = $2, cursor = $3, changed = $4, refused = $5, finished_at = $6 WHERE id = $1;

-- name: work_remove_old
DELETE FROM work WHERE finished_at > 0 AND finished_at < $1;
