-- name: log_size
SELECT first + LENGTH(data) FROM logs WHERE job = $1 ORDER BY first DESC LIMIT 1;

-- Small pieces of a log are joined, so that it has few rows.
-- name: log_extend
-- store: sqlite
UPDATE logs SET data = CAST(data || $2 AS BLOB)
WHERE job = $1 AND first = (SELECT MAX(first) FROM logs WHERE job = $1) AND LENGTH(data) < $3;
-- store: postgres
UPDATE logs SET data = data || $2
WHERE job = $1 AND first = (SELECT MAX(first) FROM logs WHERE job = $1) AND LENGTH(data) < $3;

-- name: log_add
INSERT INTO logs (job, first, data) VALUES ($1, $2, $3);

-- name: log_read
SELECT first, data FROM logs
WHERE job = $1
  AND first >= COALESCE((SELECT MAX(first) FROM logs WHERE job = $1 AND first <= $2), 0)
  AND first < $3
ORDER BY first;

-- The end of a log, at most $2 bytes of its last piece.
-- name: log_tail
SELECT SUBSTR(data, CASE WHEN LENGTH(data) > CAST($2 AS INTEGER)
                         THEN LENGTH(data) - CAST($2 AS INTEGER) + 1 ELSE 1 END)
FROM logs WHERE job = $1 ORDER BY first DESC LIMIT 1;

-- name: log_remove
DELETE FROM logs WHERE job = $1;

-- name: log_times_extend
-- store: sqlite
UPDATE log_times SET marks = CAST(marks || $2 AS BLOB)
WHERE job = $1 AND seq = (SELECT MAX(seq) FROM log_times WHERE job = $1) AND LENGTH(marks) < $3;
-- store: postgres
UPDATE log_times SET marks = marks || $2
WHERE job = $1 AND seq = (SELECT MAX(seq) FROM log_times WHERE job = $1) AND LENGTH(marks) < $3;

-- Adds a row unless there are too many.
-- name: log_times_add
INSERT INTO log_times (job, seq, marks)
SELECT $1, last.seq + 1, $2
FROM (SELECT COALESCE(MAX(seq), 0) AS seq FROM log_times WHERE job = $1) AS last
WHERE last.seq < $3;

-- name: log_times_read
SELECT marks FROM log_times WHERE job = $1 ORDER BY seq;

-- name: log_times_remove
DELETE FROM log_times WHERE job = $1;
