-- Moving a store.  The statements that read, add to and clear each table are generated from the
-- schema by tools/embed, which reads these two lines.  `meta` is copied by copy.c, `servers`
-- exists on PostgreSQL only.  Queues and workers are numbered by counters in `meta`.

-- not copied: meta servers
-- own numbers: queues workers

-- A server that joins or writes waits for this lock, which is held until the connection ends.
-- name: copy_lock
-- only: postgres
SELECT CAST(pg_try_advisory_lock(hashtextextended('waybill.' || current_schema(), 0)) AS INT);

-- Who holds the lock: tells a target that is the source itself from one that is in use.
-- name: copy_lock_holder
-- only: postgres
SELECT pid FROM pg_locks
WHERE locktype = 'advisory' AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (CAST(classid AS BIGINT) << 32) | CAST(objid AS BIGINT)
      = hashtextextended('waybill.' || current_schema(), 0);

-- name: copy_own_pid
-- only: postgres
SELECT pg_backend_pid();

-- A copy reads in one transaction, however slow the target is: no time limits.
-- name: copy_patience
-- only: postgres
SELECT set_config('idle_in_transaction_session_timeout', '0', false),
       set_config('lock_timeout', '0', false);

-- name: copy_live_servers
-- only: postgres
SELECT name, host FROM servers
WHERE alive_until_at > CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)
ORDER BY node;

-- The copied claims belong to a dead server: the first server that joins adopts them, with full
-- leases.
-- name: copy_put_dead_server
-- only: postgres
INSERT INTO servers (node, name, incarnation, batch, ids_mark, alive_until_at, former, former_batch,
                     pid, joined_at)
VALUES (0, '(copy)', 1, 0, $1, 1, 0, 0, 0, 0)
ON CONFLICT (node) DO UPDATE SET alive_until_at = 1,
       ids_mark = GREATEST(servers.ids_mark, excluded.ids_mark);

-- name: copy_read_meta
SELECT key, value FROM meta ORDER BY key;

-- name: copy_clear_meta
DELETE FROM meta WHERE key NOT IN ('version', 'running', 'log', 'copying');

-- name: copy_unmark
DELETE FROM meta WHERE key = 'copying';
