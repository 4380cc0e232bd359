-- Jobs: live ones in `jobs`, ended ones in `ended`, what they carry in `payload`.  store_jobs.c reads columns
-- by place.  State numbers stand in the text because partial indexes need them there: 3 scheduled, 4 ready,
-- 5 running, 7 failed.
--
-- On SQLite, OR ROLLBACK spares a statement journal: an error undoes the whole batch anyway.

-- What a claim fills in later gets the id as a wide stand-in: see the schema.
-- name: job_insert
-- store: sqlite
INSERT OR ROLLBACK INTO jobs (id, queue, state, priority, due_at, token, prev_token, started_at,
                              lease_until_at, worker, attempt, history)
VALUES ($1, $2, $3, $4, $5, $1, $1, $1, $1, 0, 0, NULL);

-- name: payload_insert
-- store: sqlite
INSERT OR ROLLBACK INTO payload (id, key, params, body, labels, options, result)
VALUES ($1, $2, $3, $4, $5, $6, NULL);

-- name: payload_change
INSERT INTO payload (id, params, labels, result) VALUES ($1, $2, $3, $4)
ON CONFLICT (id) DO UPDATE SET params = COALESCE(excluded.params, payload.params),
       labels = COALESCE(excluded.labels, payload.labels),
       result = COALESCE(excluded.result, payload.result);

-- name: payload_forget_result
UPDATE payload SET result = NULL WHERE id = $1 AND result IS NOT NULL;

-- name: payload_options
SELECT options FROM payload WHERE id = $1;

-- name: payload_remove
DELETE FROM payload WHERE id = $1;

-- name: job_load
SELECT j.id, j.queue, j.state, j.priority, j.due_at, j.token, j.prev_token, j.started_at,
       j.lease_until_at, 0, j.worker, j.attempt, j.history,
       p.key, p.params, p.body, p.labels, p.options, p.result
FROM jobs AS j LEFT JOIN payload AS p ON p.id = j.id
WHERE j.id = $1;

-- name: ended_load
SELECT j.id, j.queue, j.state, j.priority, j.due_at, j.token, j.prev_token, j.started_at,
       0, j.finished_at, j.worker, j.attempt, j.history,
       p.key, p.params, p.body, p.labels, p.options, p.result
FROM ended AS j LEFT JOIN payload AS p ON p.id = j.id
WHERE j.id = $1;

-- Enough to judge by, without the payload.
-- name: job_brief
SELECT id, queue, state, priority, due_at, token, prev_token, started_at, lease_until_at, 0, worker,
       attempt, history
FROM jobs WHERE id = $1;

-- A claim is two statements: RETURNING builds a table of its own for each row, which costs more than both.
-- name: job_take
SELECT j.queue, j.attempt + 1, j.priority, j.history, p.key, p.params, p.body, p.labels, p.options
FROM jobs AS j LEFT JOIN payload AS p ON p.id = j.id
WHERE j.id = $1 AND j.state = 4;

-- name: job_claim
-- store: sqlite
UPDATE OR ROLLBACK jobs SET state = 5, prev_token = token, token = $2, started_at = $3,
       lease_until_at = $4, worker = $5, attempt = attempt + 1, history = $6
WHERE id = $1 AND state = 4;

-- Whatever may change outside of the claim; guarded by the state and the token it was judged by.
-- name: job_update
-- store: sqlite
UPDATE OR ROLLBACK jobs SET queue = $4, state = $5, priority = $6, due_at = $7, attempt = $8, history = $9
WHERE id = $1 AND state = $2 AND token = $3;

-- name: job_touch
-- store: sqlite
UPDATE OR ROLLBACK jobs SET lease_until_at = $3, history = $4
WHERE id = $1 AND token = $2 AND state = 5;

-- Ending is two statements: the row goes over, then it leaves.
-- name: job_end
-- store: sqlite
INSERT OR ROLLBACK INTO ended (id, queue, state, priority, due_at, token, prev_token, started_at,
                               finished_at, worker, attempt, history)
SELECT id, queue, $4, priority, due_at, token, prev_token, started_at, $5, worker, attempt - $6, $7
FROM jobs WHERE id = $1 AND state = $2 AND token = $3;

-- The ending that most jobs have, judged by nothing but the row: done, and there is nothing to tell.
-- name: job_done
-- store: sqlite
INSERT OR ROLLBACK INTO ended (id, queue, state, priority, due_at, token, prev_token, started_at,
                               finished_at, worker, attempt, history)
SELECT id, queue, 6, priority, due_at, token, prev_token, started_at, $3, worker, attempt, NULL
FROM jobs WHERE id = $1 AND state = 5 AND token = $2 AND history IS NULL;

-- name: job_remove
DELETE FROM jobs WHERE id = $1;

-- name: job_revive
-- store: sqlite
INSERT OR ROLLBACK INTO jobs (id, queue, state, priority, due_at, token, prev_token, started_at,
                              lease_until_at, worker, attempt, history)
SELECT id, queue, 4, priority, 0, token, prev_token, started_at, id, worker, attempt, $2
FROM ended WHERE id = $1;

-- name: ended_remove
DELETE FROM ended WHERE id = $1;

-- name: ready_scan
SELECT priority, id FROM jobs
WHERE state = 4 AND queue = $1 AND (priority < $2 OR (priority = $2 AND id > $3))
ORDER BY priority DESC, id LIMIT $4;

-- name: due_scan
SELECT id, due_at FROM jobs WHERE state = 3 AND due_at <= $1 ORDER BY due_at LIMIT $2;

-- name: due_next
SELECT due_at FROM jobs WHERE state = 3 ORDER BY due_at LIMIT 1;

-- name: expired_scan
SELECT id FROM ended WHERE queue = $1 AND state = $2 AND finished_at < $3
ORDER BY finished_at LIMIT $4;

-- name: expired_next
SELECT finished_at FROM ended WHERE queue = $1 AND state = $2 ORDER BY finished_at LIMIT 1;

-- name: list_jobs
SELECT j.id, j.queue, j.state, j.priority, j.due_at, j.token, j.prev_token, j.started_at,
       j.lease_until_at, 0, j.worker, j.attempt, j.history,
       p.key, p.params, p.body, p.labels, p.options, p.result
FROM jobs AS j LEFT JOIN payload AS p ON p.id = j.id
WHERE j.id < $1 ORDER BY j.id DESC LIMIT $2;

-- name: list_ended
SELECT j.id, j.queue, j.state, j.priority, j.due_at, j.token, j.prev_token, j.started_at,
       0, j.finished_at, j.worker, j.attempt, j.history,
       p.key, p.params, p.body, p.labels, p.options, p.result
FROM ended AS j LEFT JOIN payload AS p ON p.id = j.id
WHERE j.id < $1 ORDER BY j.id DESC LIMIT $2;

-- name: list_failed
SELECT j.id, j.queue, j.state, j.priority, j.due_at, j.token, j.prev_token, j.started_at,
       0, j.finished_at, j.worker, j.attempt, j.history,
       p.key, p.params, p.body, p.labels, p.options, p.result
FROM ended AS j LEFT JOIN payload AS p ON p.id = j.id
WHERE j.state = 7 AND j.id < $1 ORDER BY j.id DESC LIMIT $2;

-- Upwards, for chunked work.
-- name: walk_jobs
SELECT j.id, j.queue, j.state, j.priority, j.due_at, j.token, j.prev_token, j.started_at,
       j.lease_until_at, 0, j.worker, j.attempt, j.history,
       p.key, p.params, p.body, p.labels, p.options, p.result
FROM jobs AS j LEFT JOIN payload AS p ON p.id = j.id
WHERE j.id > $1 AND j.id <= $2 ORDER BY j.id LIMIT $3;

-- name: walk_ended
SELECT j.id, j.queue, j.state, j.priority, j.due_at, j.token, j.prev_token, j.started_at,
       0, j.finished_at, j.worker, j.attempt, j.history,
       p.key, p.params, p.body, p.labels, p.options, p.result
FROM ended AS j LEFT JOIN payload AS p ON p.id = j.id
WHERE j.id > $1 AND j.id <= $2 ORDER BY j.id LIMIT $3;

-- name: walk_failed
SELECT j.id, j.queue, j.state, j.priority, j.due_at, j.token, j.prev_token, j.started_at,
       0, j.finished_at, j.worker, j.attempt, j.history,
       p.key, p.params, p.body, p.labels, p.options, p.result
FROM ended AS j LEFT JOIN payload AS p ON p.id = j.id
WHERE j.state = 7 AND j.id > $1 AND j.id <= $2 ORDER BY j.id LIMIT $3;

-- name: progress_add
INSERT INTO progress (job, seq, number, attempt, token, outcome, cause, exit, queue, worker,
                      started_at, ended_at, text, assigned)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);

-- name: progress_load
SELECT number, attempt, token, outcome, cause, exit, queue, worker, started_at, ended_at, text, assigned
FROM progress WHERE job = $1 ORDER BY seq;

-- name: progress_find
SELECT outcome FROM progress WHERE job = $1 AND token = $2;

-- name: progress_remove
DELETE FROM progress WHERE job = $1;

-- name: key_find
SELECT job, content FROM keys WHERE key = $1;

-- name: key_add
INSERT INTO keys (key, job, content) VALUES ($1, $2, $3);

-- name: key_remove
DELETE FROM keys WHERE key = $1;
