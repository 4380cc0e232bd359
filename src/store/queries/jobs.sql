-- Jobs: live ones in `jobs`, ended ones in `ended`, what they carry in `payload`.  State numbers
-- are written out because partial indexes need them: 3 scheduled, 4 ready, 5 running, 7 failed.
--
-- On SQLite OR ROLLBACK avoids a statement journal: an error undoes the whole batch anyway.  A
-- set is rows($1) on SQLite, and an array for each column on PostgreSQL.  PostgreSQL makes its
-- plans once, possibly on empty tables where any index looks cheap: where rows are found by id,
-- `state + 0` hides the partial indexes.

-- Columns that a claim fills in later get the id: see the schema.  On PostgreSQL the arrays are
-- taken apart row by row; `FROM unnest($1, $2, …)` would build a table for each first.
-- name: jobs_insert
-- store: sqlite
INSERT OR ROLLBACK INTO jobs (id, queue, state, priority, due_at, token, prev_token, started_at,
                              lease_until_at, worker, attempt, history)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c1, r.c1, r.c1, r.c1, 0, 0, NULL FROM rows($1) AS r;
-- store: postgres
INSERT INTO jobs (id, queue, state, priority, due_at, token, prev_token, started_at,
                  lease_until_at, worker, attempt, history)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c1, r.c1, r.c1, r.c1, 0, 0, NULL
FROM (SELECT unnest(CAST($1 AS BIGINT[])) AS c1, unnest(CAST($2 AS BIGINT[])) AS c2,
             unnest(CAST($3 AS BIGINT[])) AS c3, unnest(CAST($4 AS BIGINT[])) AS c4,
             unnest(CAST($5 AS BIGINT[])) AS c5) AS r;

-- name: payload_insert
-- store: sqlite
INSERT OR ROLLBACK INTO payload (id, key, params, body, labels, options)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6 FROM rows($1) AS r;
-- store: postgres
INSERT INTO payload (id, key, params, body, labels, options)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6
FROM (SELECT unnest(CAST($1 AS BIGINT[])) AS c1, unnest(CAST($2 AS BYTEA[])) AS c2,
             unnest(CAST($3 AS TEXT[])) AS c3, unnest(CAST($4 AS BYTEA[])) AS c4,
             unnest(CAST($5 AS TEXT[])) AS c5, unnest(CAST($6 AS TEXT[])) AS c6) AS r;

-- A lane is a queue of its own here: `queue` is the lane of a job that has one.  `awaited` has
-- bits: 1 others may wait for it, 2 it is in a group, 4 it is in a lane.  Most jobs have none.
-- part: queue
CASE WHEN j.awaited < 4 THEN j.queue
     ELSE (SELECT l.queue FROM lanes AS l WHERE l.id = j.queue) END
-- part: group
CASE WHEN (j.awaited & 2) = 0 THEN 0
     ELSE (SELECT m.group_id FROM members AS m WHERE m.job = j.id) END
-- part: lane
CASE WHEN j.awaited < 4 THEN 0 ELSE j.queue END

-- The same for sets with jobs on a route, held, or in a group or lane; most sets do not need these
-- columns.
-- name: jobs_insert_routed
-- store: sqlite
INSERT OR ROLLBACK INTO jobs (id, queue, state, priority, due_at, token, prev_token, started_at,
                              lease_until_at, worker, attempt, history, awaited)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c1, r.c1, r.c1, r.c1, 0, 0, r.c6, r.c7 FROM rows($1) AS r;
-- store: postgres
INSERT INTO jobs (id, queue, state, priority, due_at, token, prev_token, started_at,
                  lease_until_at, worker, attempt, history, awaited)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c1, r.c1, r.c1, r.c1, 0, 0, r.c6, r.c7
FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]), CAST($4 AS BIGINT[]),
            CAST($5 AS BIGINT[]), CAST($6 AS TEXT[]), CAST($7 AS BIGINT[]))
    AS r(c1, c2, c3, c4, c5, c6, c7);

-- name: members_insert
-- store: sqlite
INSERT OR ROLLBACK INTO members (job, group_id) SELECT r.c1, r.c2 FROM rows($1) AS r;
-- store: postgres
INSERT INTO members (job, group_id)
SELECT r.c1, r.c2 FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[])) AS r(c1, c2);

-- Jobs that end as they are added.
-- name: ended_insert
-- store: sqlite
INSERT OR ROLLBACK INTO ended (id, queue, state, priority, due_at, token, prev_token, started_at,
                               finished_at, worker, attempt, history)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c1, r.c1, r.c1, r.c8, 0, 0, r.c6 FROM rows($1) AS r;
-- store: postgres
INSERT INTO ended (id, queue, state, priority, due_at, token, prev_token, started_at,
                   finished_at, worker, attempt, history)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c1, r.c1, r.c1, r.c8, 0, 0, r.c6
FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]), CAST($4 AS BIGINT[]),
            CAST($5 AS BIGINT[]), CAST($6 AS TEXT[]), CAST($7 AS BIGINT[]), CAST($8 AS BIGINT[]))
    AS r(c1, c2, c3, c4, c5, c6, c7, c8);

-- name: payload_insert_routed
-- store: sqlite
INSERT OR ROLLBACK INTO payload (id, key, params, body, labels, options, bill, assigned, shared)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6, r.c7, r.c8, r.c9 FROM rows($1) AS r;
-- store: postgres
INSERT INTO payload (id, key, params, body, labels, options, bill, assigned, shared)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6, r.c7, r.c8, r.c9
FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BYTEA[]), CAST($3 AS TEXT[]), CAST($4 AS BYTEA[]),
            CAST($5 AS TEXT[]), CAST($6 AS TEXT[]), CAST($7 AS TEXT[]), CAST($8 AS TEXT[]),
            CAST($9 AS BIGINT[]))
    AS r(c1, c2, c3, c4, c5, c6, c7, c8, c9);

-- name: shared_add
-- store: sqlite
INSERT OR ROLLBACK INTO shared (id, params, body) VALUES ($1, $2, $3);
-- store: postgres
INSERT INTO shared (id, params, body) VALUES ($1, $2, $3);

-- Its own params take precedence over shared ones.
-- name: payload_change
INSERT INTO payload (id, params, labels, result) VALUES ($1, $2, $3, $4)
ON CONFLICT (id) DO UPDATE SET params = COALESCE(excluded.params, payload.params),
       labels = COALESCE(excluded.labels, payload.labels),
       result = COALESCE(excluded.result, payload.result);

-- name: payload_forget_result
UPDATE payload SET result = NULL WHERE id = $1 AND result IS NOT NULL;

-- $2, $4 and $6 are 0 for what stays unchanged.
-- name: payload_set_route
INSERT INTO payload (id, options, bill, assigned) VALUES ($1, $3, $5, $7)
ON CONFLICT (id)
DO UPDATE SET options = CASE WHEN $2 = 1 THEN excluded.options ELSE payload.options END,
       bill = CASE WHEN $4 = 1 THEN excluded.bill ELSE payload.bill END,
       assigned = CASE WHEN $6 = 1 THEN excluded.assigned ELSE payload.assigned END;

-- name: payload_options
SELECT id, options FROM payload WHERE id = $1;

-- name: member_remove
DELETE FROM members WHERE job = $1;

-- name: payload_remove
DELETE FROM payload WHERE id = $1;

-- A job's row, live or ended: the columns of row_columns in jobs/jobs.c.
-- part: live_row
j.id, {queue}, j.state, j.priority, j.due_at, j.token, j.prev_token, j.started_at,
j.lease_until_at, 0, j.worker, j.attempt, j.history, j.awaited & 1, {group}, {lane}
-- part: ended_row
j.id, j.queue, j.state, j.priority, j.due_at, j.token, j.prev_token, j.started_at,
0, j.finished_at, j.worker, j.attempt, j.history, 0,
COALESCE((SELECT m.group_id FROM members AS m WHERE m.job = j.id), 0), 0

-- What it carries: payload_columns in jobs/jobs.c.  Params and body may be those of several jobs.
-- part: params
COALESCE(p.params, (SELECT s.params FROM shared AS s WHERE s.id = p.shared))
-- part: body
COALESCE(p.body, (SELECT s.body FROM shared AS s WHERE s.id = p.shared))
-- part: payload
p.key, {params}, CASE WHEN $2 = 1 THEN {body} END, p.labels, p.options, p.result, p.bill, p.assigned

-- name: job_load
SELECT {live_row}, {payload}
FROM jobs AS j LEFT JOIN payload AS p ON p.id = j.id WHERE j.id = $1;

-- name: ended_load
SELECT {ended_row}, {payload}
FROM ended AS j LEFT JOIN payload AS p ON p.id = j.id WHERE j.id = $1;

-- name: job_state
SELECT {live_row} FROM jobs AS j WHERE j.id = $1;

-- What is judged is locked against the other servers until the transaction ends.
-- name: job_judge
-- only: postgres
SELECT {live_row} FROM jobs AS j WHERE j.id = $1 FOR UPDATE;

-- name: ended_state
SELECT {ended_row} FROM ended AS j WHERE j.id = $1;

-- A claim is two statements over its set: RETURNING would build a temporary table.  Only a job
-- with a history can have a cursor or a log, so only then are they read.  Rows come in the order
-- of the set; jobs that another server has locked are skipped.
-- part: claimed
j.id, j.queue, j.attempt + 1, j.priority, p.key, {params}, {body}, p.labels, p.options,
CASE WHEN j.history IS NOT NULL THEN (SELECT c.cursor FROM cursors AS c WHERE c.job = j.id) END,
CASE WHEN j.token <> j.id THEN (SELECT l.first + LENGTH(l.data) FROM logs AS l WHERE l.job = j.id
                                ORDER BY l.first DESC LIMIT 1) END,
j.history, p.bill, p.assigned, j.awaited

-- name: jobs_take
-- store: sqlite
SELECT {claimed}
FROM rows($1) AS r CROSS JOIN jobs AS j ON j.id = r.c1 LEFT JOIN payload AS p ON p.id = j.id
WHERE j.state = 4;
-- store: postgres
SELECT {claimed}
FROM unnest(CAST($1 AS BIGINT[])) WITH ORDINALITY AS r(c1, place)
JOIN jobs AS j ON j.id = r.c1 LEFT JOIN payload AS p ON p.id = j.id
WHERE j.state + 0 = 4 ORDER BY r.place FOR UPDATE OF j SKIP LOCKED;

-- Groups and lanes of the jobs of a claim, if any has one.
-- name: jobs_take_members
-- store: sqlite
SELECT j.id, {queue}, {group}, {lane} FROM rows($1) AS r CROSS JOIN jobs AS j ON j.id = r.c1
WHERE j.awaited >= 2;
-- store: postgres
SELECT j.id, {queue}, {group}, {lane}
FROM unnest(CAST($1 AS BIGINT[])) WITH ORDINALITY AS r(c1, place) JOIN jobs AS j ON j.id = r.c1
WHERE j.awaited >= 2 ORDER BY r.place;

-- Options are canonical: `"command":` is written in one way and occurs in no other value.
-- name: jobs_with_command
-- store: sqlite
SELECT p.id FROM rows($1) AS r CROSS JOIN payload AS p ON p.id = r.c1
WHERE p.options LIKE '%"command":%';
-- store: postgres
SELECT id FROM payload WHERE id = ANY (CAST($1 AS BIGINT[])) AND options LIKE '%"command":%';

-- Posted on PostgreSQL: if a job of the set is no longer ready, the statement fails (SQLSTATE
-- 22012).
-- name: jobs_claim
-- store: sqlite
UPDATE OR ROLLBACK jobs SET state = 5, prev_token = token, token = $2, started_at = $3,
       lease_until_at = $4, worker = $5, attempt = attempt + 1
WHERE id IN (SELECT r.c1 FROM rows($1) AS r) AND state = 4;
-- store: postgres
WITH claimed AS (UPDATE jobs SET state = 5, prev_token = token, token = $2, started_at = $3,
                        lease_until_at = $4, worker = $5, attempt = attempt + 1
                 WHERE id = ANY (CAST($1 AS BIGINT[])) AND state + 0 = 4 RETURNING 1)
SELECT 1 / CAST(COUNT(*) = CARDINALITY(CAST($1 AS BIGINT[])) AS INTEGER) FROM claimed;

-- All that may change outside of a claim; guarded by the state and the token that the caller has
-- seen.
-- name: job_update
-- store: sqlite
UPDATE OR ROLLBACK jobs
SET queue = $4, state = $5, priority = $6, due_at = $7, attempt = $8, history = $9
WHERE id = $1 AND state = $2 AND token = $3;
-- store: postgres
UPDATE jobs SET queue = $4, state = $5, priority = $6, due_at = $7, attempt = $8, history = $9
WHERE id = $1 AND state = $2 AND token = $3;

-- The job has come into a lane, or has left it.
-- name: job_set_lane
UPDATE jobs SET awaited = (awaited & 3) | $2 WHERE id = $1;

-- name: job_touch
-- store: sqlite
UPDATE OR ROLLBACK jobs SET lease_until_at = $3, history = $4
WHERE id = $1 AND token = $2 AND state = 5;
-- store: postgres
UPDATE jobs SET lease_until_at = $3, history = $4
WHERE id = $1 AND token = $2 AND state = 5;

-- Ending a job is two statements on SQLite: insert, then delete.  PostgreSQL does it in one.
-- name: job_end
-- store: sqlite
INSERT OR ROLLBACK INTO ended (id, queue, state, priority, due_at, token, prev_token, started_at,
                               finished_at, worker, attempt, history)
SELECT id, $8, $4, priority, due_at, token, prev_token, started_at, $5, worker, attempt - $6, $7
FROM jobs WHERE id = $1 AND state = $2 AND token = $3;
-- store: postgres
WITH gone AS (DELETE FROM jobs WHERE id = $1 AND state = $2 AND token = $3
              RETURNING id, priority, due_at, token, prev_token, started_at, worker, attempt)
INSERT INTO ended (id, queue, state, priority, due_at, token, prev_token, started_at,
                   finished_at, worker, attempt, history)
SELECT id, CAST($8 AS BIGINT), CAST($4 AS BIGINT), priority, due_at, token, prev_token, started_at,
       CAST($5 AS BIGINT), worker, attempt - $6, CAST($7 AS TEXT)
FROM gone;

-- The end of most jobs, over a set: done, without further data.  PostgreSQL moves the rows and
-- returns which; SQLite copies them and is asked afterwards.  Ids are sorted, so that a binary
-- search finds the token of each.
-- name: jobs_done
-- store: sqlite
INSERT OR ROLLBACK INTO ended (id, queue, state, priority, due_at, token, prev_token, started_at,
                               finished_at, worker, attempt, history)
SELECT j.id, j.queue, 6, j.priority, j.due_at, j.token, j.prev_token, j.started_at, $2, j.worker,
       j.attempt, NULL
FROM rows($1) AS r CROSS JOIN jobs AS j ON j.id = r.c1
WHERE j.state = 5 AND j.token = r.c2 AND j.history IS NULL AND j.awaited = 0;
-- store: postgres
WITH gone AS (DELETE FROM jobs AS j
              WHERE j.id = ANY (CAST($1 AS BIGINT[])) AND j.state = 5 AND j.history IS NULL
                AND j.awaited = 0
                AND j.token = (CAST($2 AS BIGINT[]))[WIDTH_BUCKET(j.id, CAST($1 AS BIGINT[]))]
              RETURNING j.id, j.queue, j.priority, j.due_at, j.token, j.prev_token, j.started_at,
                        j.worker, j.attempt)
INSERT INTO ended (id, queue, state, priority, due_at, token, prev_token, started_at,
                   finished_at, worker, attempt, history)
SELECT id, queue, 6, priority, due_at, token, prev_token, started_at, CAST($3 AS BIGINT), worker,
       attempt, NULL
FROM gone RETURNING id, queue;

-- The same guard tells which jobs were ended.
-- name: jobs_done_judge
-- only: sqlite
SELECT j.id, j.queue FROM rows($1) AS r CROSS JOIN jobs AS j ON j.id = r.c1
WHERE j.state = 5 AND j.token = r.c2 AND j.history IS NULL AND j.awaited = 0;

-- The same for jobs in groups and lanes: first which they are, then their end.
-- part: done_member
j.state = 5 AND j.history IS NULL AND j.awaited >= 2 AND (j.awaited & 1) = 0
-- name: members_done_judge
-- store: sqlite
SELECT j.id, {queue}, {group}, {lane} FROM rows($1) AS r CROSS JOIN jobs AS j ON j.id = r.c1
WHERE j.token = r.c2 AND {done_member};
-- store: postgres
SELECT j.id, {queue}, {group}, {lane} FROM jobs AS j
WHERE j.id = ANY (CAST($1 AS BIGINT[])) AND {done_member}
  AND j.token = (CAST($2 AS BIGINT[]))[WIDTH_BUCKET(j.id, CAST($1 AS BIGINT[]))]
ORDER BY j.id FOR UPDATE OF j;

-- name: members_done
-- store: sqlite
INSERT OR ROLLBACK INTO ended (id, queue, state, priority, due_at, token, prev_token, started_at,
                               finished_at, worker, attempt, history)
SELECT j.id, {queue}, 6, j.priority, j.due_at, j.token, j.prev_token, j.started_at, $2, j.worker,
       j.attempt, NULL
FROM rows($1) AS r CROSS JOIN jobs AS j ON j.id = r.c1;
-- store: postgres
INSERT INTO ended (id, queue, state, priority, due_at, token, prev_token, started_at,
                   finished_at, worker, attempt, history)
SELECT j.id, {queue}, 6, j.priority, j.due_at, j.token, j.prev_token, j.started_at,
       CAST($2 AS BIGINT), j.worker, j.attempt, NULL
FROM jobs AS j WHERE j.id = ANY (CAST($1 AS BIGINT[]));

-- name: jobs_remove
-- store: sqlite
DELETE FROM jobs WHERE id IN (SELECT r.c1 FROM rows($1) AS r);
-- store: postgres
DELETE FROM jobs WHERE id = ANY (CAST($1 AS BIGINT[]));

-- name: job_remove
DELETE FROM jobs WHERE id = $1;

-- name: job_revive
-- store: sqlite
INSERT OR ROLLBACK INTO jobs (id, queue, state, priority, due_at, token, prev_token, started_at,
                              lease_until_at, worker, attempt, history, awaited)
SELECT id, $2, $3, $4, $5, token, prev_token, started_at, id, worker, attempt, $6, $7
FROM ended WHERE id = $1;
-- store: postgres
INSERT INTO jobs (id, queue, state, priority, due_at, token, prev_token, started_at,
                  lease_until_at, worker, attempt, history, awaited)
SELECT id, $2, CAST($3 AS BIGINT), CAST($4 AS BIGINT), CAST($5 AS BIGINT), token, prev_token,
       started_at, id, worker, attempt, CAST($6 AS TEXT), CAST($7 AS BIGINT)
FROM ended WHERE id = $1;

-- name: ended_remove
DELETE FROM ended WHERE id = $1;

-- name: job_newest
SELECT MAX(id) FROM (SELECT MAX(id) AS id FROM jobs UNION ALL SELECT MAX(id) FROM ended) AS newest;

-- On PostgreSQL it tells whether a job is unchanged since it was added; on SQLite the index has
-- all.
-- name: ready_scan
-- store: sqlite
SELECT priority, id FROM jobs
WHERE state = 4 AND queue = $1 AND (priority < $2 OR (priority = $2 AND id > $3))
ORDER BY priority DESC, id LIMIT $4;
-- store: postgres
SELECT priority, id, token = id AND attempt = 0 AND history IS NULL AND awaited < 2 FROM jobs
WHERE state = 4 AND queue = $1 AND (priority < $2 OR (priority = $2 AND id > $3))
ORDER BY priority DESC, id LIMIT $4;

-- The same, locked for one batch.
-- name: ready_lock
-- only: postgres
SELECT priority, id, token = id AND attempt = 0 AND history IS NULL AND awaited < 2 FROM jobs
WHERE state = 4 AND queue = $1
ORDER BY priority DESC, id LIMIT $2 FOR UPDATE SKIP LOCKED;

-- Whether other servers have locked ready jobs: a scan that skips them has not seen an empty queue.
-- name: ready_others
-- only: postgres
SELECT 1 FROM jobs WHERE state = 4 AND queue = $2 AND NOT (id = ANY (CAST($1 AS BIGINT[]))) LIMIT 1;

-- Small payloads of locked jobs; changes that another server has committed before are seen.
-- name: payload_light
-- only: postgres
SELECT id, key, params, labels, options, bill FROM payload
WHERE id = ANY (CAST($1 AS BIGINT[])) AND body IS NULL AND assigned IS NULL AND shared IS NULL
  AND COALESCE(OCTET_LENGTH(params), 0) + COALESCE(OCTET_LENGTH(labels), 0)
      + COALESCE(OCTET_LENGTH(options), 0) + COALESCE(OCTET_LENGTH(bill), 0) < 2000;

-- Skips what another server has locked.
-- name: due_scan
-- store: sqlite
SELECT id, due_at FROM jobs WHERE state = 3 AND due_at <= $1 ORDER BY due_at LIMIT $2;
-- store: postgres
SELECT id, due_at FROM jobs WHERE state = 3 AND due_at <= $1 ORDER BY due_at LIMIT $2
FOR UPDATE SKIP LOCKED;

-- A delay is a length of time, in the job's history.  Its key occurs in no text: quotes are
-- escaped.
-- name: due_shift
-- only: sqlite
UPDATE OR ROLLBACK jobs SET due_at = due_at + $1 WHERE due_at > 0 AND history LIKE '%"delay":%';

-- name: due_bound
-- store: sqlite
UPDATE OR ROLLBACK jobs SET due_at = $1 + json_extract(history, '$.delay')
WHERE state = 3 AND due_at > $1 AND history LIKE '%"delay":%' AND json_valid(history)
  AND due_at > $1 + json_extract(history, '$.delay');
-- store: postgres
UPDATE jobs SET due_at = $1 + CAST(SUBSTRING(history FROM '"delay":([0-9]{1,18})') AS BIGINT)
WHERE id IN (SELECT id FROM jobs
             WHERE state = 3 AND due_at > $1
               AND due_at > $1 + CAST(SUBSTRING(history FROM '"delay":([0-9]{1,18})') AS BIGINT)
             ORDER BY id FOR UPDATE SKIP LOCKED);

-- name: due_next
SELECT due_at FROM jobs WHERE state = 3 ORDER BY due_at LIMIT 1;

-- A job as lists show it: of a value above $2 bytes its first 200 characters, and of a bill
-- above $3 bytes nothing.  The sizes come behind.  SQLite would load a value to measure it:
-- STORED_SIZE and STORED_START (sqlite/text.h) do not.
-- part: preview_sqlite
p.key,
CASE WHEN COALESCE(STORED_SIZE('payload', 'params', p.id),
                   STORED_SIZE('shared', 'params', p.shared)) > $2
     THEN COALESCE(STORED_START('payload', 'params', p.id),
                   STORED_START('shared', 'params', p.shared))
     ELSE COALESCE(p.params, s.params) END,
NULL,
CASE WHEN STORED_SIZE('payload', 'labels', p.id) > $2
     THEN STORED_START('payload', 'labels', p.id) ELSE p.labels END,
CASE WHEN STORED_SIZE('payload', 'options', p.id) > $2
     THEN STORED_START('payload', 'options', p.id) ELSE p.options END,
CASE WHEN STORED_SIZE('payload', 'result', p.id) > $2
     THEN STORED_START('payload', 'result', p.id) ELSE p.result END,
CASE WHEN STORED_SIZE('payload', 'bill', p.id) <= $3 THEN p.bill END, NULL,
COALESCE(STORED_SIZE('payload', 'params', p.id), STORED_SIZE('shared', 'params', p.shared)),
STORED_SIZE('payload', 'labels', p.id), STORED_SIZE('payload', 'options', p.id),
STORED_SIZE('payload', 'result', p.id)
-- part: preview_postgres
p.key,
CASE WHEN OCTET_LENGTH(COALESCE(p.params, s.params)) > $2
     THEN SUBSTR(COALESCE(p.params, s.params), 1, 200) ELSE COALESCE(p.params, s.params) END,
NULL,
CASE WHEN OCTET_LENGTH(p.labels) > $2 THEN SUBSTR(p.labels, 1, 200) ELSE p.labels END,
CASE WHEN OCTET_LENGTH(p.options) > $2 THEN SUBSTR(p.options, 1, 200) ELSE p.options END,
CASE WHEN OCTET_LENGTH(p.result) > $2 THEN SUBSTR(p.result, 1, 200) ELSE p.result END,
CASE WHEN OCTET_LENGTH(p.bill) <= $3 THEN p.bill END, NULL,
OCTET_LENGTH(COALESCE(p.params, s.params)), OCTET_LENGTH(p.labels), OCTET_LENGTH(p.options),
OCTET_LENGTH(p.result)
-- part: with_shared
LEFT JOIN payload AS p ON p.id = j.id LEFT JOIN shared AS s ON s.id = p.shared WHERE j.id = $1

-- name: job_preview
-- store: sqlite
SELECT {live_row}, {preview_sqlite} FROM jobs AS j {with_shared};
-- store: postgres
SELECT {live_row}, {preview_postgres} FROM jobs AS j {with_shared};

-- name: ended_preview
-- store: sqlite
SELECT {ended_row}, {preview_sqlite} FROM ended AS j {with_shared};
-- store: postgres
SELECT {ended_row}, {preview_postgres} FROM ended AS j {with_shared};

-- Lists are judged row by row.  What a job carries may be large: labels ($2 = 1) and params ($2 =
-- 2) are read on demand only.  The text $1 is searched in the params inside the database; options
-- with a command are read for it.
-- part: listed
p.key, CASE WHEN $2 = 2 THEN {params} END, NULL, CASE WHEN $2 >= 1 THEN p.labels END,
CASE WHEN CAST($1 AS TEXT) IS NOT NULL AND p.options LIKE '%"command":%' THEN p.options END,
NULL, NULL, NULL,
CASE WHEN CAST($1 AS TEXT) IS NULL THEN 0 ELSE STRPOS(COALESCE({params}, ''), $1) END

-- name: list_jobs
SELECT {live_row}, {listed}
FROM jobs AS j LEFT JOIN payload AS p ON p.id = j.id
WHERE j.id < $4 ORDER BY j.id DESC LIMIT $3;

-- name: list_ended
SELECT {ended_row}, {listed}
FROM ended AS j LEFT JOIN payload AS p ON p.id = j.id
WHERE j.id < $4 ORDER BY j.id DESC LIMIT $3;

-- name: list_failed
SELECT {ended_row}, {listed}
FROM ended AS j LEFT JOIN payload AS p ON p.id = j.id
WHERE j.state = 7 AND j.id < $4 ORDER BY j.id DESC LIMIT $3;

-- name: list_members
SELECT {live_row}, {listed}
FROM members AS m JOIN jobs AS j ON j.id = m.job LEFT JOIN payload AS p ON p.id = j.id
WHERE m.group_id = $5 AND m.job < $4 ORDER BY m.job DESC LIMIT $3;

-- name: list_ended_members
SELECT {ended_row}, {listed}
FROM members AS m JOIN ended AS j ON j.id = m.job LEFT JOIN payload AS p ON p.id = j.id
WHERE m.group_id = $5 AND m.job < $4 ORDER BY m.job DESC LIMIT $3;

-- Upwards, for chunked work.
-- name: walk_jobs
SELECT {live_row}, {listed}
FROM jobs AS j LEFT JOIN payload AS p ON p.id = j.id
WHERE j.id > $4 AND j.id <= $5 ORDER BY j.id LIMIT $3;

-- name: walk_ended
SELECT {ended_row}, {listed}
FROM ended AS j LEFT JOIN payload AS p ON p.id = j.id
WHERE j.id > $4 AND j.id <= $5 ORDER BY j.id LIMIT $3;

-- name: walk_failed
SELECT {ended_row}, {listed}
FROM ended AS j LEFT JOIN payload AS p ON p.id = j.id
WHERE j.state = 7 AND j.id > $4 AND j.id <= $5 ORDER BY j.id LIMIT $3;

-- name: progress_add
INSERT INTO progress (job, seq, number, attempt, token, outcome, cause, exit, queue, worker,
                      started_at, ended_at, text, assigned)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14);

-- name: progress_load
SELECT seq, number, attempt, token, outcome, cause, exit, queue, worker, started_at, ended_at, text,
       assigned
FROM progress WHERE job = $1 ORDER BY seq;

-- name: progress_find
SELECT outcome FROM progress WHERE job = $1 AND token = $2;

-- name: progress_remove
DELETE FROM progress WHERE job = $1;

-- Keys are looked up and added in sets.  OFFSET 0 makes PostgreSQL look into the index for each
-- key, whatever the size of the table when the plan was made.
-- name: keys_find
-- store: sqlite
SELECT r.c1, k.job, k.content FROM rows($1) AS r CROSS JOIN keys AS k ON k.key = r.c2;
-- store: postgres
SELECT r.c1, k.job, k.content
FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BYTEA[])) AS r(c1, c2)
CROSS JOIN LATERAL (SELECT job, content FROM keys WHERE keys.key = r.c2 OFFSET 0) AS k;

-- Waits for another server that has inserted the same key; the first commit gets it.
-- name: keys_add
-- store: sqlite
INSERT INTO keys (key, job, content) SELECT r.c1, r.c2, r.c3 FROM rows($1) AS r WHERE TRUE
ON CONFLICT (key) DO NOTHING;
-- store: postgres
INSERT INTO keys (key, job, content)
SELECT r.c1, r.c2, r.c3
FROM unnest(CAST($1 AS BYTEA[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[])) AS r(c1, c2, c3)
ON CONFLICT (key) DO NOTHING;

-- name: keys_remove
-- store: sqlite
DELETE FROM keys WHERE key IN (SELECT r.c1 FROM rows($1) AS r);
-- store: postgres
DELETE FROM keys WHERE key = ANY (CAST($1 AS BYTEA[]));

-- name: key_remove
DELETE FROM keys WHERE key = (SELECT key FROM payload WHERE id = $1) AND job = $1;
