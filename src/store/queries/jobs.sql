-- Jobs: live ones in `jobs`, ended ones in `ended`, same columns in the same order (store_jobs.c reads
-- them by place).  State numbers stand in the text because partial indexes need them there: 3 scheduled,
-- 4 ready, 5 running, 7 failed.

-- What a claim fills in later gets the id as a wide stand-in: see the schema.
-- name: job_insert
INSERT INTO jobs (id, queue, state, priority, holds, cancelling, due_at, started_at, finished_at,
                  lease_until_at, token, prev_token, outcome, attempt, failures, lost, laters, worker, exit,
                  cause, done, total, key, params, body, labels, options, text, result)
VALUES ($1, $2, $3, $4, 0, 0, $5, $1, 0, $1, $1, $1, 0, 0, 0, 0, 0, 0, NULL, 0, 0, 0,
        $6, $7, $8, $9, $10, NULL, NULL);

-- name: job_load
SELECT id, queue, state, priority, holds, cancelling, due_at, started_at, finished_at,
       lease_until_at, token, prev_token, outcome, attempt, failures, lost, laters, worker, exit,
       cause, done, total, key, params, body, labels, options, text, result
FROM jobs WHERE id = $1;

-- name: ended_load
SELECT id, queue, state, priority, holds, cancelling, due_at, started_at, finished_at,
       lease_until_at, token, prev_token, outcome, attempt, failures, lost, laters, worker, exit,
       cause, done, total, key, params, body, labels, options, text, result
FROM ended WHERE id = $1;

-- Enough to judge a finish or a touch, without the payload.
-- name: job_brief
SELECT id, queue, state, priority, holds, cancelling, due_at, started_at, finished_at, lease_until_at,
       token, prev_token, outcome, attempt, failures, lost, laters, worker, exit, cause, done, total,
       NULL, NULL, NULL, NULL, options, text, NULL
FROM jobs WHERE id = $1;

-- name: job_claim
UPDATE jobs SET state = 5, prev_token = token, token = $2, started_at = $3, lease_until_at = $4,
       worker = $5, attempt = attempt + 1, exit = NULL, cause = 0, text = NULL, done = 0, total = 0
WHERE id = $1 AND state = 4
RETURNING queue, attempt, priority, key, params, body, labels, options;

-- Whatever may change outside of the claim; guarded by the state and the token it was judged by.
-- name: job_update
UPDATE jobs SET queue = $4, state = $5, priority = $6, holds = $7, cancelling = $8, due_at = $9,
       finished_at = $10, lease_until_at = $11, outcome = $12, attempt = $13, failures = $14, lost = $15,
       laters = $16, exit = $17, cause = $18, done = $19, total = $20, params = $21, labels = $22,
       text = $23
WHERE id = $1 AND state = $2 AND token = $3;

-- The same without the texts that only people change.
-- name: job_step
UPDATE jobs SET state = $4, due_at = $5, finished_at = $6, outcome = $7, attempt = $8,
       failures = $9, lost = $10, laters = $11, exit = $12, cause = $13, text = $14
WHERE id = $1 AND state = $2 AND token = $3;

-- name: job_touch
UPDATE jobs SET lease_until_at = $3 WHERE id = $1 AND token = $2 AND state = 5
RETURNING cancelling;

-- name: job_touch_status
UPDATE jobs SET lease_until_at = $3, text = COALESCE($4, text), done = COALESCE($5, done),
       total = COALESCE($6, total)
WHERE id = $1 AND token = $2 AND state = 5
RETURNING cancelling;

-- Ending is two statements: the row with its last facts goes over, then it leaves.
-- name: job_end
INSERT INTO ended (id, queue, state, priority, holds, cancelling, due_at, started_at, finished_at,
                   lease_until_at, token, prev_token, outcome, attempt, failures, lost, laters, worker, exit,
                   cause, done, total, key, params, body, labels, options, text, result)
SELECT id, queue, $4, priority, holds, cancelling, due_at, started_at, $5, lease_until_at,
       token, prev_token, $6, attempt, $7, $8, $9, worker, $10, $11, done, total,
       key, params, body, labels, options, COALESCE($12, text), $13
FROM jobs WHERE id = $1 AND state = $2 AND token = $3;

-- name: job_remove
DELETE FROM jobs WHERE id = $1;

-- name: job_revive
INSERT INTO jobs (id, queue, state, priority, holds, cancelling, due_at, started_at, finished_at,
                  lease_until_at, token, prev_token, outcome, attempt, failures, lost, laters, worker, exit,
                  cause, done, total, key, params, body, labels, options, text, result)
SELECT id, queue, 4, priority, 0, 0, 0, started_at, 0, lease_until_at, token, prev_token, outcome,
       attempt, 0, 0, 0, worker, NULL, 0, 0, 0, key, COALESCE($2, params), body, labels, options, NULL, NULL
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
SELECT id, queue, state, priority, holds, cancelling, due_at, started_at, finished_at,
       lease_until_at, token, prev_token, outcome, attempt, failures, lost, laters, worker, exit,
       cause, done, total, key, params, body, labels, options, text, result
FROM jobs WHERE id < $1 ORDER BY id DESC LIMIT $2;

-- name: list_ended
SELECT id, queue, state, priority, holds, cancelling, due_at, started_at, finished_at,
       lease_until_at, token, prev_token, outcome, attempt, failures, lost, laters, worker, exit,
       cause, done, total, key, params, body, labels, options, text, result
FROM ended WHERE id < $1 ORDER BY id DESC LIMIT $2;

-- name: list_failed
SELECT id, queue, state, priority, holds, cancelling, due_at, started_at, finished_at,
       lease_until_at, token, prev_token, outcome, attempt, failures, lost, laters, worker, exit,
       cause, done, total, key, params, body, labels, options, text, result
FROM ended WHERE state = 7 AND id < $1 ORDER BY id DESC LIMIT $2;

-- Upwards, for chunked work: only ids and what a filter needs first.
-- name: walk_jobs
SELECT id, queue, state, priority, holds, cancelling, due_at, started_at, finished_at,
       lease_until_at, token, prev_token, outcome, attempt, failures, lost, laters, worker, exit,
       cause, done, total, key, params, body, labels, options, text, result
FROM jobs WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3;

-- name: walk_ended
SELECT id, queue, state, priority, holds, cancelling, due_at, started_at, finished_at,
       lease_until_at, token, prev_token, outcome, attempt, failures, lost, laters, worker, exit,
       cause, done, total, key, params, body, labels, options, text, result
FROM ended WHERE id > $1 AND id <= $2 ORDER BY id LIMIT $3;

-- name: walk_failed
SELECT id, queue, state, priority, holds, cancelling, due_at, started_at, finished_at,
       lease_until_at, token, prev_token, outcome, attempt, failures, lost, laters, worker, exit,
       cause, done, total, key, params, body, labels, options, text, result
FROM ended WHERE state = 7 AND id > $1 AND id <= $2 ORDER BY id LIMIT $3;

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
