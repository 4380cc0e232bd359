-- Groups.  Numbers are those of core/group/group.h: state 1 is open, 2 finishing; flags 4, 8 and 16
-- mean that nothing in it may start, 256 that whoever opened it may still add to it.

-- part: group_row
g.id, g.kind, g.name, g.parent, g.depth, g.opener, g.node, g.state, g.flags, g.made, g.waiting,
g.running, g.done, g.failed, g.cancelled, g.dropped, g.children, g.version, g.finaliser, g.work,
g.place, g.keep_us, g.keep_failed_us, g.ended_at, g.gone_at, g.data, g.finally_json, g.key,
g.content

-- Without data, which may be large, and what comes at the end.
-- part: group_bare
g.id, g.kind, g.name, g.parent, g.depth, g.opener, g.node, g.state, g.flags, g.made, g.waiting,
g.running, g.done, g.failed, g.cancelled, g.dropped, g.children, g.version, g.finaliser, g.work,
g.place, g.keep_us, g.keep_failed_us, g.ended_at, g.gone_at, NULL, NULL, g.key, g.content

-- part: group_claimed
g.id, g.kind, g.name, g.parent, g.depth, g.opener, g.node, g.state, g.flags, g.made, g.waiting,
g.running, g.done, g.failed, g.cancelled, g.dropped, g.children, g.version, g.finaliser, g.work,
g.place, g.keep_us, g.keep_failed_us, g.ended_at, g.gone_at,
CASE WHEN LENGTH(g.data) <= 65536 THEN g.data END,
CASE WHEN LENGTH(g.data) > 65536 THEN '{}' END, g.key, g.content

-- As lists show it.
-- part: group_listed
g.id, g.kind, g.name, g.parent, g.depth, g.opener, g.node, g.state, g.flags, g.made, g.waiting,
g.running, g.done, g.failed, g.cancelled, g.dropped, g.children, g.version, g.finaliser, g.work,
g.place, g.keep_us, g.keep_failed_us, g.ended_at, g.gone_at,
CASE WHEN LENGTH(g.data) <= 4096 THEN g.data END, g.finally_json, g.key, g.content

-- name: group_bare
SELECT {group_bare} FROM groups AS g WHERE g.id = $1;

-- name: groups_bare
-- store: sqlite
SELECT {group_bare} FROM rows($1) AS r CROSS JOIN groups AS g ON g.id = r.c1;
-- store: postgres
SELECT {group_bare} FROM groups AS g WHERE g.id = ANY (CAST($1 AS BIGINT[]));

-- name: group_data_size
-- store: sqlite
SELECT LENGTH(CAST(data AS BLOB)) FROM groups WHERE id = $1;
-- store: postgres
SELECT OCTET_LENGTH(data) FROM groups WHERE id = $1;

-- As a claimed job brings it along: data up to 64 KiB; of larger data an object in the place of
-- `finally` says that it is left out.
-- name: groups_claimed
-- store: sqlite
SELECT {group_claimed} FROM rows($1) AS r CROSS JOIN groups AS g ON g.id = r.c1;
-- store: postgres
SELECT {group_claimed} FROM groups AS g WHERE g.id = ANY (CAST($1 AS BIGINT[]));

-- name: group_load
SELECT {group_row} FROM groups AS g WHERE g.id = $1;

-- Locked against the other servers until the transaction ends.
-- name: group_hold
-- only: postgres
SELECT {group_row} FROM groups AS g WHERE g.id = $1 FOR UPDATE;

-- name: groups_load
-- store: sqlite
SELECT {group_row} FROM rows($1) AS r CROSS JOIN groups AS g ON g.id = r.c1;
-- store: postgres
SELECT {group_row} FROM groups AS g WHERE g.id = ANY (CAST($1 AS BIGINT[]));

-- name: group_of_key
SELECT {group_row} FROM groups AS g WHERE g.key = $1;

-- name: group_opened
SELECT {group_row} FROM groups AS g
WHERE g.opener = $1 AND g.kind = $2 AND g.name = $3 AND g.state = 1;

-- name: groups_of_opener
SELECT id FROM groups WHERE opener = $1 AND state = 1 AND flags & 256 <> 0 ORDER BY id LIMIT $2;

-- The rest of them is judged by later batches.
-- name: groups_opener_over
UPDATE groups SET node = 0, flags = flags & ~256, work = CASE WHEN work = 0 THEN 1 ELSE work END
WHERE opener = $1 AND state = 1 AND flags & 256 <> 0 AND id > $2;

-- Another server may have opened it or taken its key just now: nothing is added then.
-- name: group_add
INSERT INTO groups (id, kind, name, parent, depth, opener, node, state, flags, made, waiting,
                    running, done, failed, cancelled, dropped, children, version, finaliser, work,
                    place, keep_us, keep_failed_us, ended_at, gone_at, data, finally_json, key,
                    content)
VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, 0, 0, 0, 0, 0, 0, 0, 0, $9, 0, 0, 0, $10, $11, 0, 0, $12,
        $13, $14, $15)
ON CONFLICT DO NOTHING;

-- name: group_add_root
INSERT INTO groups (id, kind, name, parent, depth, opener, node, state, flags, made, waiting,
                    running, done, failed, cancelled, dropped, children, version, finaliser, work,
                    place, keep_us, keep_failed_us, ended_at, gone_at, content)
VALUES (1, '', 'root', 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
ON CONFLICT DO NOTHING;

-- name: group_remove
DELETE FROM groups WHERE id = $1;

-- All but counters and data.
-- name: group_set
UPDATE groups SET node = $2, state = $3, flags = $4, finaliser = $5, work = $6, place = $7,
       ended_at = $8, gone_at = $9, finally_json = $10
WHERE id = $1;

-- name: group_set_data
UPDATE groups SET data = $2, version = $3 WHERE id = $1;

-- Several servers lock groups of one depth in the order of their ids.
-- name: groups_lock
-- only: postgres
SELECT 1 FROM groups WHERE id = ANY (CAST($1 AS BIGINT[])) ORDER BY id FOR UPDATE;

-- Adds to the counters, sets flags (c10) and clears flags (c11).  All members are looked at (c12 =
-- 2), or only if the group holds or cancels its members (1).  Groups that have ended count nothing.
-- name: groups_count
-- store: sqlite
UPDATE groups SET made = made + r.c2, waiting = waiting + r.c3, running = running + r.c4,
       done = done + r.c5, failed = failed + r.c6, cancelled = cancelled + r.c7,
       dropped = dropped + r.c8, children = children + r.c9, flags = (flags | r.c10) & ~r.c11,
       work = CASE WHEN r.c12 = 2 OR (r.c12 = 1 AND flags & 28 <> 0) THEN 2 ELSE work END,
       place = CASE WHEN r.c12 = 2 OR (r.c12 = 1 AND flags & 28 <> 0) THEN 0 ELSE place END
FROM rows($1) AS r WHERE groups.id = r.c1 AND groups.state = 1;
-- store: postgres
UPDATE groups SET made = made + r.c2, waiting = waiting + r.c3, running = running + r.c4,
       done = done + r.c5, failed = failed + r.c6, cancelled = cancelled + r.c7,
       dropped = dropped + r.c8, children = children + r.c9, flags = (flags | r.c10) & ~r.c11,
       work = CASE WHEN r.c12 = 2 OR (r.c12 = 1 AND flags & 28 <> 0) THEN 2 ELSE work END,
       place = CASE WHEN r.c12 = 2 OR (r.c12 = 1 AND flags & 28 <> 0) THEN 0 ELSE place END
FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]), CAST($4 AS BIGINT[]),
            CAST($5 AS BIGINT[]), CAST($6 AS BIGINT[]), CAST($7 AS BIGINT[]), CAST($8 AS BIGINT[]),
            CAST($9 AS BIGINT[]), CAST($10 AS BIGINT[]), CAST($11 AS BIGINT[]),
            CAST($12 AS BIGINT[])) AS r(c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12)
WHERE groups.id = r.c1 AND groups.state = 1;

-- Those among them that the rule may not leave as they are: empty ones, and with fail: stop (64)
-- those with a failure.
-- part: group_is_due
g.state = 1 AND ((g.waiting = 0 AND g.running = 0 AND g.children = 0)
                 OR (g.flags & 64 <> 0 AND (g.failed > 0 OR g.flags & 32 <> 0)))
-- name: groups_judge
-- store: sqlite
SELECT {group_row} FROM rows($1) AS r CROSS JOIN groups AS g ON g.id = r.c1 WHERE {group_is_due};
-- store: postgres
SELECT {group_row} FROM groups AS g WHERE g.id = ANY (CAST($1 AS BIGINT[])) AND {group_is_due}
ORDER BY g.id;

-- name: groups_not_open
-- store: sqlite
SELECT r.c1 FROM rows($1) AS r LEFT JOIN groups AS g ON g.id = r.c1
WHERE g.id IS NULL OR g.state <> 1 OR g.flags & 8 <> 0;
-- store: postgres
SELECT r.id FROM unnest(CAST($1 AS BIGINT[])) AS r (id) LEFT JOIN groups AS g ON g.id = r.id
WHERE g.id IS NULL OR g.state <> 1 OR g.flags & 8 <> 0;

-- Requests of a server that is gone, or of all, add nothing any more.
-- name: groups_leave
UPDATE groups SET node = 0, flags = flags & ~256, work = CASE WHEN work = 0 THEN 1 ELSE work END
WHERE node = $1 OR ($1 = -1 AND node <> 0);

-- The same for servers that are dead.
-- name: groups_leave_dead
-- only: postgres
UPDATE groups SET node = 0, flags = flags & ~256, work = CASE WHEN work = 0 THEN 1 ELSE work END
WHERE node <> 0 AND node - 1 NOT IN (SELECT node FROM servers WHERE alive_until_at > 0);

-- Not locked: jobs are locked before groups.  A step that two servers do at once counts once.
-- name: groups_work_next
SELECT {group_bare} FROM groups AS g WHERE g.work <> 0 AND g.id > $1 ORDER BY g.id LIMIT 1;

-- name: group_step
UPDATE groups SET work = $5, place = $6
WHERE id = $1 AND work = $2 AND place = $3 AND (flags & 28) = ($4 & 28) AND state = 1;

-- name: group_members
SELECT m.job FROM members AS m CROSS JOIN jobs AS j
WHERE m.group_id = $1 AND m.job > $2 AND j.id = m.job ORDER BY m.job LIMIT $3;

-- name: group_results
SELECT m.job FROM members AS m CROSS JOIN ended AS j
WHERE m.group_id = $1 AND m.job > $2 AND j.id = m.job ORDER BY m.job LIMIT $3;

-- name: group_children
SELECT {group_bare} FROM groups AS g WHERE g.parent = $1 AND g.id > $2 AND g.state = 1
ORDER BY g.id LIMIT $3;

-- name: groups_held
SELECT {group_bare} FROM groups AS g WHERE g.state = 1 AND g.flags & 28 <> 0;

-- Newest first.  $2 to $4: only of that kind, parent, state.
-- name: groups_list
SELECT {group_listed} FROM groups AS g
WHERE g.id < $1 AND (CAST($2 AS TEXT) IS NULL OR g.kind = $2) AND ($4 = 0 OR g.state = $4)
  AND g.id <> 1 AND g.flags & 1 = 0
ORDER BY g.id DESC LIMIT $3;

-- name: groups_list_of
SELECT {group_listed} FROM groups AS g
WHERE g.parent = $5 AND g.id < $1 AND (CAST($2 AS TEXT) IS NULL OR g.kind = $2)
  AND ($4 = 0 OR g.state = $4) AND g.flags & 1 = 0
ORDER BY g.id DESC LIMIT $3;

-- name: groups_gone
SELECT id FROM groups WHERE gone_at <> 0 AND gone_at <= $1 ORDER BY gone_at LIMIT $2;

-- name: groups_gone_next
SELECT MIN(gone_at) FROM groups WHERE gone_at <> 0;

-- name: kind_find
SELECT id, name, definition FROM group_kinds WHERE name = $1;

-- name: kind_put
INSERT INTO group_kinds (id, name, definition) VALUES ($1, $2, $3)
ON CONFLICT (id) DO UPDATE SET definition = excluded.definition;

-- name: kind_remove
DELETE FROM group_kinds WHERE id = $1;

-- name: kinds_list
SELECT id, name, definition FROM group_kinds WHERE name > $1 ORDER BY name LIMIT $2;

-- Members that are staged, held, scheduled or ready.
-- name: group_waiting
SELECT waiting FROM groups WHERE id = $1;
