-- name: log_size
SELECT first + LENGTH(data) FROM logs WHERE job = $1 ORDER BY first DESC LIMIT 1;

-- A log comes in small pieces: they are put together, so that it is few rows.
-- name: log_extend
-- store: sqlite
UPDATE logs SET data = CAST(data || $2 AS BLOB)
WHERE job = $1 AND first = (SELECT MAX(first) FROM logs WHERE job = $1) AND LENGTH(data) < $3;

-- name: log_add
INSERT INTO logs (job, first, data) VALUES ($1, $2, $3);

-- name: log_read
SELECT first, data FROM logs
WHERE job = $1 AND first >= COALESCE((SELECT MAX(first) FROM logs WHERE job = $1 AND first <= $2), 0)
  AND first < $3
ORDER BY first;

-- name: log_remove
DELETE FROM logs WHERE job = $1;
