-- name: ending_add
INSERT INTO endings (id, queue, state, finished_at, jobs) VALUES ($1, $2, $3, $4, $5);

-- Skips what another server has locked.
-- name: ending_oldest
-- store: sqlite
SELECT id, finished_at, jobs FROM endings WHERE queue = $1 AND state = $2
ORDER BY finished_at LIMIT 1;
-- store: postgres
SELECT id, finished_at, jobs FROM endings WHERE queue = $1 AND state = $2
ORDER BY finished_at LIMIT 1 FOR UPDATE SKIP LOCKED;

-- name: ending_next_queue
SELECT MIN(queue) FROM endings WHERE queue > $1;

-- name: ending_remove_queue
DELETE FROM endings WHERE id IN (SELECT id FROM endings WHERE queue = $1 LIMIT $2);

-- name: ending_remove
DELETE FROM endings WHERE id = $1;
