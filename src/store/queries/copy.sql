-- The tables whole, for moving a store: read in the order of their keys, some rows at a time, and added as sets.
-- The columns of a reading, of its adding and of store_copy_tables.c are the same, in the same order.

-- A server that joins, and whoever writes, waits for this lock.  It ends with the connection.
-- name: copy_lock
-- only: postgres
SELECT CAST(pg_try_advisory_lock(hashtextextended('waybill.' || current_schema(), 0)) AS INT);

-- Who holds it: to tell the same database twice from one that is in use.
-- name: copy_lock_holder
-- only: postgres
SELECT pid FROM pg_locks
WHERE locktype = 'advisory' AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (CAST(classid AS BIGINT) << 32) | CAST(objid AS BIGINT) = hashtextextended('waybill.' || current_schema(), 0);

-- name: copy_own_pid
-- only: postgres
SELECT pg_backend_pid();

-- A copy reads in one transaction, however slow the other side is.
-- name: copy_patience
-- only: postgres
SELECT set_config('idle_in_transaction_session_timeout', '0', false), set_config('lock_timeout', '0', false);

-- name: copy_live_servers
-- only: postgres
SELECT name, host FROM servers
WHERE alive_until_at > CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) ORDER BY node;

-- The copied claims are of a server that is gone: the first that looks takes them over, with full leases.
-- name: copy_put_dead_server
-- only: postgres
INSERT INTO servers (node, name, incarnation, batch, ids_mark, alive_until_at, former, former_batch, pid, joined_at)
VALUES (0, '(copy)', 1, 0, $1, 1, 0, 0, 0, 0)
ON CONFLICT (node) DO UPDATE SET alive_until_at = 1,
       ids_mark = CASE WHEN servers.ids_mark > excluded.ids_mark THEN servers.ids_mark ELSE excluded.ids_mark END;

-- Its planner knows nothing yet of what has come all at once.
-- name: copy_analyze
-- only: postgres
ANALYZE queues, workers, jobs, ended, endings, payload, shared, progress, claims, keys, counts, logs, log_times, queue_log,
    work, emitters, emits, cursors, waits, releases, undone, revivals, spreads, follows, signals, joins,
    arrivals;

-- name: copy_read_meta
SELECT key, value FROM meta ORDER BY key;

-- name: copy_clear_meta
DELETE FROM meta WHERE key NOT IN ('version', 'running', 'copying');

-- name: copy_unmark
DELETE FROM meta WHERE key = 'copying';

-- name: copy_read_queues
SELECT id, name, state, definition, streak, changed_at, restarts
FROM queues WHERE id > $1 ORDER BY id LIMIT $2;

-- name: copy_add_queues
-- store: sqlite
INSERT INTO queues (id, name, state, definition, streak, changed_at, restarts)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6, r.c7
FROM rows($1) AS r;
-- store: postgres
INSERT INTO queues (id, name, state, definition, streak, changed_at, restarts)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[],
    $7::bigint[]);

-- name: copy_clear_queues
-- store: sqlite
DELETE FROM queues;
-- store: postgres
TRUNCATE queues;

-- name: copy_read_workers
SELECT id, name, host, pid, version, queues, seen_at, described, slots, broken, instance, boot, since_at,
    lease_us
FROM workers WHERE id > $1 ORDER BY id LIMIT $2;

-- name: copy_add_workers
-- store: sqlite
INSERT INTO workers (id, name, host, pid, version, queues, seen_at, described, slots, broken, instance, boot,
    since_at, lease_us)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6, r.c7, r.c8, r.c9, r.c10, r.c11, r.c12, r.c13, r.c14
FROM rows($1) AS r;
-- store: postgres
INSERT INTO workers (id, name, host, pid, version, queues, seen_at, described, slots, broken, instance, boot,
    since_at, lease_us)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[],
    $8::bigint[], $9::bigint[], $10::text[], $11::text[], $12::text[], $13::bigint[], $14::bigint[]);

-- name: copy_clear_workers
-- store: sqlite
DELETE FROM workers;
-- store: postgres
TRUNCATE workers;

-- name: copy_read_jobs
SELECT id, queue, state, priority, due_at, token, prev_token, started_at, lease_until_at, worker, attempt,
    history, awaited
FROM jobs WHERE id > $1 ORDER BY id LIMIT $2;

-- name: copy_add_jobs
-- store: sqlite
INSERT INTO jobs (id, queue, state, priority, due_at, token, prev_token, started_at, lease_until_at, worker,
    attempt, history, awaited)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6, r.c7, r.c8, r.c9, r.c10, r.c11, r.c12, r.c13
FROM rows($1) AS r;
-- store: postgres
INSERT INTO jobs (id, queue, state, priority, due_at, token, prev_token, started_at, lease_until_at, worker,
    attempt, history, awaited)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
    $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::bigint[]);

-- name: copy_clear_jobs
-- store: sqlite
DELETE FROM jobs;
-- store: postgres
TRUNCATE jobs;

-- name: copy_read_ended
SELECT id, queue, state, priority, due_at, token, prev_token, started_at, finished_at, worker, attempt,
    history
FROM ended WHERE id > $1 ORDER BY id LIMIT $2;

-- name: copy_add_ended
-- store: sqlite
INSERT INTO ended (id, queue, state, priority, due_at, token, prev_token, started_at, finished_at, worker,
    attempt, history)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6, r.c7, r.c8, r.c9, r.c10, r.c11, r.c12
FROM rows($1) AS r;
-- store: postgres
INSERT INTO ended (id, queue, state, priority, due_at, token, prev_token, started_at, finished_at, worker,
    attempt, history)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
    $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[]);

-- name: copy_clear_ended
-- store: sqlite
DELETE FROM ended;
-- store: postgres
TRUNCATE ended;

-- name: copy_read_endings
SELECT id, queue, state, finished_at, jobs
FROM endings WHERE id > $1 ORDER BY id LIMIT $2;

-- name: copy_add_endings
-- store: sqlite
INSERT INTO endings (id, queue, state, finished_at, jobs)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5
FROM rows($1) AS r;
-- store: postgres
INSERT INTO endings (id, queue, state, finished_at, jobs)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[]);

-- name: copy_clear_endings
-- store: sqlite
DELETE FROM endings;
-- store: postgres
TRUNCATE endings;

-- Rows may be large: PostgreSQL sends no more than fit, but at least one; SQLite reads only those that are taken.
-- name: copy_read_payload
-- store: sqlite
SELECT id, key, params, body, labels, options, result, bill, assigned, shared
FROM payload WHERE id > $1 ORDER BY id LIMIT $2;
-- store: postgres
SELECT id, key, params, body, labels, options, result, bill, assigned, shared
FROM (SELECT *, SUM(size) OVER (ORDER BY id) - size AS before
      FROM (SELECT *, COALESCE(octet_length(key), 0) + COALESCE(octet_length(params), 0) +
                COALESCE(octet_length(body), 0) + COALESCE(octet_length(labels), 0) +
                COALESCE(octet_length(options), 0) + COALESCE(octet_length(result), 0) +
                COALESCE(octet_length(bill), 0) + COALESCE(octet_length(assigned), 0) AS size
            FROM payload WHERE id > $1 ORDER BY id LIMIT $2) AS page) AS sized
WHERE before < 4194304 ORDER BY id;

-- name: copy_add_payload
-- store: sqlite
INSERT INTO payload (id, key, params, body, labels, options, result, bill, assigned, shared)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6, r.c7, r.c8, r.c9, r.c10
FROM rows($1) AS r;
-- store: postgres
INSERT INTO payload (id, key, params, body, labels, options, result, bill, assigned, shared)
SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::bytea[], $5::text[], $6::text[], $7::text[],
    $8::text[], $9::text[], $10::bigint[]);

-- name: copy_clear_payload
-- store: sqlite
DELETE FROM payload;
-- store: postgres
TRUNCATE payload;

-- name: copy_read_shared
-- store: sqlite
SELECT id, params, body FROM shared WHERE id > $1 ORDER BY id LIMIT $2;
-- store: postgres
SELECT id, params, body
FROM (SELECT *, SUM(size) OVER (ORDER BY id) - size AS before
      FROM (SELECT *, COALESCE(octet_length(params), 0) + COALESCE(octet_length(body), 0) AS size
            FROM shared WHERE id > $1 ORDER BY id LIMIT $2) AS page) AS sized
WHERE before < 4194304 ORDER BY id;

-- name: copy_add_shared
-- store: sqlite
INSERT INTO shared (id, params, body) SELECT r.c1, r.c2, r.c3 FROM rows($1) AS r;
-- store: postgres
INSERT INTO shared (id, params, body) SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[]);

-- name: copy_clear_shared
-- store: sqlite
DELETE FROM shared;
-- store: postgres
TRUNCATE shared;

-- name: copy_read_progress
-- store: sqlite
SELECT job, seq, number, attempt, token, outcome, cause, exit, queue, worker, started_at, ended_at, text,
    assigned
FROM progress WHERE (job, seq) > ($1, $2) ORDER BY job, seq LIMIT $3;
-- store: postgres
SELECT job, seq, number, attempt, token, outcome, cause, exit, queue, worker, started_at, ended_at, text,
    assigned
FROM (SELECT *, SUM(size) OVER (ORDER BY job, seq) - size AS before
      FROM (SELECT *, COALESCE(octet_length(text), 0) + COALESCE(octet_length(assigned), 0) AS size
            FROM progress WHERE (job, seq) > ($1, $2) ORDER BY job, seq LIMIT $3) AS page) AS sized
WHERE before < 4194304 ORDER BY job, seq;

-- name: copy_add_progress
-- store: sqlite
INSERT INTO progress (job, seq, number, attempt, token, outcome, cause, exit, queue, worker, started_at,
    ended_at, text, assigned)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6, r.c7, r.c8, r.c9, r.c10, r.c11, r.c12, r.c13, r.c14
FROM rows($1) AS r;
-- store: postgres
INSERT INTO progress (job, seq, number, attempt, token, outcome, cause, exit, queue, worker, started_at,
    ended_at, text, assigned)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
    $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bytea[],
    $14::text[]);

-- name: copy_clear_progress
-- store: sqlite
DELETE FROM progress;
-- store: postgres
TRUNCATE progress;

-- name: copy_read_claims
SELECT token, worker, lease_us, jobs
FROM claims WHERE token > $1 ORDER BY token LIMIT $2;

-- name: copy_add_claims
-- store: sqlite
INSERT INTO claims (token, node, worker, lease_us, jobs)
SELECT r.c1, 0, r.c2, r.c3, r.c4
FROM rows($1) AS r;
-- store: postgres
INSERT INTO claims (token, node, worker, lease_us, jobs)
SELECT r.c1, 0, r.c2, r.c3, r.c4
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[]) AS r(c1, c2, c3, c4);

-- name: copy_clear_claims
-- store: sqlite
DELETE FROM claims;
-- store: postgres
TRUNCATE claims;

-- name: copy_read_keys
SELECT key, job, content
FROM keys WHERE key > $1 ORDER BY key LIMIT $2;

-- name: copy_add_keys
-- store: sqlite
INSERT INTO keys (key, job, content)
SELECT r.c1, r.c2, r.c3
FROM rows($1) AS r;
-- store: postgres
INSERT INTO keys (key, job, content)
SELECT * FROM unnest($1::bytea[], $2::bigint[], $3::bigint[]);

-- name: copy_clear_keys
-- store: sqlite
DELETE FROM keys;
-- store: postgres
TRUNCATE keys;

-- Of all nodes together.
-- name: copy_read_counts
SELECT queue, state, CAST(SUM(n) AS BIGINT) FROM counts
WHERE (queue, state) > ($1, $2) GROUP BY queue, state ORDER BY queue, state LIMIT $3;

-- name: copy_add_counts
-- store: sqlite
INSERT INTO counts (queue, state, node, n)
SELECT r.c1, r.c2, 0, r.c3
FROM rows($1) AS r;
-- store: postgres
INSERT INTO counts (queue, state, node, n)
SELECT r.c1, r.c2, 0, r.c3
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS r(c1, c2, c3);

-- name: copy_clear_counts
-- store: sqlite
DELETE FROM counts;
-- store: postgres
TRUNCATE counts;

-- name: copy_read_logs
-- store: sqlite
SELECT job, first, data
FROM logs WHERE (job, first) > ($1, $2) ORDER BY job, first LIMIT $3;
-- store: postgres
SELECT job, first, data
FROM (SELECT *, SUM(size) OVER (ORDER BY job, first) - size AS before
      FROM (SELECT *, COALESCE(octet_length(data), 0) AS size
            FROM logs WHERE (job, first) > ($1, $2) ORDER BY job, first LIMIT $3) AS page) AS sized
WHERE before < 4194304 ORDER BY job, first;

-- name: copy_add_logs
-- store: sqlite
INSERT INTO logs (job, first, data)
SELECT r.c1, r.c2, r.c3
FROM rows($1) AS r;
-- store: postgres
INSERT INTO logs (job, first, data)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]);

-- name: copy_clear_logs
-- store: sqlite
DELETE FROM logs;
-- store: postgres
TRUNCATE logs;

-- name: copy_read_log_times
SELECT job, seq, marks
FROM log_times WHERE (job, seq) > ($1, $2) ORDER BY job, seq LIMIT $3;

-- name: copy_add_log_times
-- store: sqlite
INSERT INTO log_times (job, seq, marks)
SELECT r.c1, r.c2, r.c3
FROM rows($1) AS r;
-- store: postgres
INSERT INTO log_times (job, seq, marks)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]);

-- name: copy_clear_log_times
-- store: sqlite
DELETE FROM log_times;
-- store: postgres
TRUNCATE log_times;

-- name: copy_read_queue_log
SELECT queue, seq, at, what, text
FROM queue_log WHERE (queue, seq) > ($1, $2) ORDER BY queue, seq LIMIT $3;

-- name: copy_add_queue_log
-- store: sqlite
INSERT INTO queue_log (queue, seq, at, what, text)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5
FROM rows($1) AS r;
-- store: postgres
INSERT INTO queue_log (queue, seq, at, what, text)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bytea[]);

-- name: copy_clear_queue_log
-- store: sqlite
DELETE FROM queue_log;
-- store: postgres
TRUNCATE queue_log;

-- name: copy_read_work
SELECT id, kind, args, phase, cursor, last, changed, refused, created_at, finished_at
FROM work WHERE id > $1 ORDER BY id LIMIT $2;

-- name: copy_add_work
-- store: sqlite
INSERT INTO work (id, kind, args, phase, cursor, last, changed, refused, created_at, finished_at)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6, r.c7, r.c8, r.c9, r.c10
FROM rows($1) AS r;
-- store: postgres
INSERT INTO work (id, kind, args, phase, cursor, last, changed, refused, created_at, finished_at)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[],
    $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[]);

-- name: copy_clear_work
-- store: sqlite
DELETE FROM work;
-- store: postgres
TRUNCATE work;

-- name: copy_read_emitters
SELECT owner, token, seq, visible_upto, staged, fate
FROM emitters WHERE (owner, token) > ($1, $2) ORDER BY owner, token LIMIT $3;

-- name: copy_add_emitters
-- store: sqlite
INSERT INTO emitters (owner, token, seq, visible_upto, staged, fate)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6
FROM rows($1) AS r;
-- store: postgres
INSERT INTO emitters (owner, token, seq, visible_upto, staged, fate)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[]);

-- name: copy_clear_emitters
-- store: sqlite
DELETE FROM emitters;
-- store: postgres
TRUNCATE emitters;

-- name: copy_read_emits
SELECT id, owner, token, seq, visible, staged, jobs, contents
FROM emits WHERE id > $1 ORDER BY id LIMIT $2;

-- name: copy_add_emits
-- store: sqlite
INSERT INTO emits (id, owner, token, seq, visible, staged, jobs, contents)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6, r.c7, r.c8
FROM rows($1) AS r;
-- store: postgres
INSERT INTO emits (id, owner, token, seq, visible, staged, jobs, contents)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
    $7::bytea[], $8::bytea[]);

-- name: copy_clear_emits
-- store: sqlite
DELETE FROM emits;
-- store: postgres
TRUNCATE emits;

-- name: copy_read_cursors
-- store: sqlite
SELECT job, cursor
FROM cursors WHERE job > $1 ORDER BY job LIMIT $2;
-- store: postgres
SELECT job, cursor
FROM (SELECT *, SUM(size) OVER (ORDER BY job) - size AS before
      FROM (SELECT *, COALESCE(octet_length(cursor), 0) AS size
            FROM cursors WHERE job > $1 ORDER BY job LIMIT $2) AS page) AS sized
WHERE before < 4194304 ORDER BY job;

-- name: copy_add_cursors
-- store: sqlite
INSERT INTO cursors (job, cursor)
SELECT r.c1, r.c2
FROM rows($1) AS r;
-- store: postgres
INSERT INTO cursors (job, cursor)
SELECT * FROM unnest($1::bigint[], $2::text[]);

-- name: copy_clear_cursors
-- store: sqlite
DELETE FROM cursors;
-- store: postgres
TRUNCATE cursors;

-- name: copy_read_waits
SELECT waiter, seq, kind, target, step, upon, level, take
FROM waits WHERE (waiter, seq) > ($1, $2) ORDER BY waiter, seq LIMIT $3;

-- name: copy_add_waits
-- store: sqlite
INSERT INTO waits (waiter, seq, kind, target, step, upon, level, take)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6, r.c7, r.c8
FROM rows($1) AS r;
-- store: postgres
INSERT INTO waits (waiter, seq, kind, target, step, upon, level, take)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
    $7::bigint[], $8::bigint[]);

-- name: copy_clear_waits
-- store: sqlite
DELETE FROM waits;
-- store: postgres
TRUNCATE waits;

-- name: copy_read_releases
SELECT target, state, cursor
FROM releases WHERE target > $1 ORDER BY target LIMIT $2;

-- name: copy_add_releases
-- store: sqlite
INSERT INTO releases (target, state, cursor)
SELECT r.c1, r.c2, r.c3
FROM rows($1) AS r;
-- store: postgres
INSERT INTO releases (target, state, cursor)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]);

-- name: copy_clear_releases
-- store: sqlite
DELETE FROM releases;
-- store: postgres
TRUNCATE releases;

-- name: copy_read_undone
SELECT waiter, target
FROM undone WHERE waiter > $1 ORDER BY waiter LIMIT $2;

-- name: copy_add_undone
-- store: sqlite
INSERT INTO undone (waiter, target)
SELECT r.c1, r.c2
FROM rows($1) AS r;
-- store: postgres
INSERT INTO undone (waiter, target)
SELECT * FROM unnest($1::bigint[], $2::bigint[]);

-- name: copy_clear_undone
-- store: sqlite
DELETE FROM undone;
-- store: postgres
TRUNCATE undone;

-- name: copy_read_revivals
SELECT target, cursor
FROM revivals WHERE target > $1 ORDER BY target LIMIT $2;

-- name: copy_add_revivals
-- store: sqlite
INSERT INTO revivals (target, cursor)
SELECT r.c1, r.c2
FROM rows($1) AS r;
-- store: postgres
INSERT INTO revivals (target, cursor)
SELECT * FROM unnest($1::bigint[], $2::bigint[]);

-- name: copy_clear_revivals
-- store: sqlite
DELETE FROM revivals;
-- store: postgres
TRUNCATE revivals;

-- name: copy_read_spreads
-- store: sqlite
SELECT id, key, content, chained, priority, labels, bill, targets, place
FROM spreads WHERE id > $1 ORDER BY id LIMIT $2;
-- store: postgres
SELECT id, key, content, chained, priority, labels, bill, targets, place
FROM (SELECT *, SUM(size) OVER (ORDER BY id) - size AS before
      FROM (SELECT *, COALESCE(octet_length(labels), 0) + octet_length(bill) + octet_length(targets) AS size
            FROM spreads WHERE id > $1 ORDER BY id LIMIT $2) AS page) AS sized
WHERE before < 4194304 ORDER BY id;

-- name: copy_add_spreads
-- store: sqlite
INSERT INTO spreads (id, key, content, chained, priority, labels, bill, targets, place)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6, r.c7, r.c8, r.c9
FROM rows($1) AS r;
-- store: postgres
INSERT INTO spreads (id, key, content, chained, priority, labels, bill, targets, place)
SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[],
    $8::bytea[], $9::bigint[]);

-- name: copy_clear_spreads
-- store: sqlite
DELETE FROM spreads;
-- store: postgres
TRUNCATE spreads;

-- name: copy_read_follows
SELECT id, job, queue, state, step, whole, dests, place
FROM follows WHERE id > $1 ORDER BY id LIMIT $2;

-- name: copy_add_follows
-- store: sqlite
INSERT INTO follows (id, job, queue, state, step, whole, dests, place)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5, r.c6, r.c7, r.c8
FROM rows($1) AS r;
-- store: postgres
INSERT INTO follows (id, job, queue, state, step, whole, dests, place)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
    $7::text[], $8::bigint[]);

-- name: copy_clear_follows
-- store: sqlite
DELETE FROM follows;
-- store: postgres
TRUNCATE follows;

-- name: copy_read_signals
SELECT id, name, level, changed_at
FROM signals WHERE id > $1 ORDER BY id LIMIT $2;

-- name: copy_add_signals
-- store: sqlite
INSERT INTO signals (id, name, level, changed_at)
SELECT r.c1, r.c2, r.c3, r.c4
FROM rows($1) AS r;
-- store: postgres
INSERT INTO signals (id, name, level, changed_at)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::bigint[]);

-- name: copy_clear_signals
-- store: sqlite
DELETE FROM signals;
-- store: postgres
TRUNCATE signals;

-- name: copy_read_joins
SELECT id, name, definition, fired, fired_at
FROM joins WHERE id > $1 ORDER BY id LIMIT $2;

-- name: copy_add_joins
-- store: sqlite
INSERT INTO joins (id, name, definition, fired, fired_at)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5
FROM rows($1) AS r;
-- store: postgres
INSERT INTO joins (id, name, definition, fired, fired_at)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::bigint[]);

-- name: copy_clear_joins
-- store: sqlite
DELETE FROM joins;
-- store: postgres
TRUNCATE joins;

-- name: copy_read_arrivals
SELECT join_id, key, n, first_at, jobs
FROM arrivals WHERE (join_id, key) > ($1, $2) ORDER BY join_id, key LIMIT $3;

-- name: copy_add_arrivals
-- store: sqlite
INSERT INTO arrivals (join_id, key, n, first_at, jobs)
SELECT r.c1, r.c2, r.c3, r.c4, r.c5
FROM rows($1) AS r;
-- store: postgres
INSERT INTO arrivals (join_id, key, n, first_at, jobs)
SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bytea[]);

-- name: copy_clear_arrivals
-- store: sqlite
DELETE FROM arrivals;
-- store: postgres
TRUNCATE arrivals;
