-- name: work_add
INSERT INTO work (id, kind, args, cursor, last, changed, refused, created_at, finished_at)
VALUES ($1, $2, $3, 0, $4, 0, 0, $5, 0);

-- name: work_load
SELECT id, kind, args, cursor, last, changed, refused, created_at, finished_at FROM work ORDER BY id;

-- name: work_find
SELECT id, kind, args, cursor, last, changed, refused, created_at, finished_at FROM work WHERE id = $1;

-- name: work_step
UPDATE work SET cursor = $2, changed = $3, refused = $4, finished_at = $5 WHERE id = $1;

-- name: work_remove_old
DELETE FROM work WHERE finished_at > 0 AND finished_at < $1;
