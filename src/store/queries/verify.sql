-- Invariants between tables.  Each statement returns violations as texts, at most 100.

-- part: no_job
NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = t.job)
  AND NOT EXISTS (SELECT 1 FROM ended WHERE ended.id = t.job) LIMIT 100

-- name: verify_counts
SELECT 'queue ' || queue || ', state ' || state || ': kept ' || SUM(kept) || ', counted '
       || SUM(counted)
FROM (SELECT queue, state, n AS kept, 0 AS counted FROM counts
      UNION ALL SELECT {queue}, j.state, 0, COUNT(*) FROM jobs AS j GROUP BY 1, 2
      UNION ALL SELECT queue, state, 0, COUNT(*) FROM ended GROUP BY queue, state) AS sides
GROUP BY queue, state HAVING SUM(kept) <> SUM(counted) LIMIT 100;

-- name: verify_states
SELECT 'job ' || id || ' is in state ' || state || ' among the living' FROM jobs
WHERE state < 1 OR state > 5
UNION ALL
SELECT 'job ' || id || ' is in state ' || state || ' among the ended' FROM ended
WHERE state < 6 OR state > 9
LIMIT 100;

-- name: verify_twice
SELECT 'job ' || jobs.id || ' is both alive and ended'
FROM jobs JOIN ended ON ended.id = jobs.id LIMIT 100;

-- name: verify_queues
SELECT 'job ' || j.id || ' is in queue ' || j.queue || ', which does not exist' FROM jobs AS j
WHERE NOT EXISTS (SELECT 1 FROM queues WHERE queues.id = {queue})
UNION ALL
SELECT 'ended job ' || id || ' is of queue ' || queue || ', which does not exist' FROM ended
WHERE NOT EXISTS (SELECT 1 FROM queues WHERE queues.id = ended.queue) LIMIT 100;

-- The key of a staged job is added when the job is released.
-- name: verify_keys
SELECT 'key of job ' || keys.job || ' has no job' FROM keys
WHERE NOT EXISTS (SELECT 1 FROM payload WHERE payload.id = keys.job AND payload.key = keys.key)
UNION ALL
SELECT 'job ' || id || ' has a key that is not known' FROM payload
WHERE key IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM keys WHERE keys.key = payload.key AND keys.job = payload.id)
  AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = payload.id AND jobs.state = 1)
LIMIT 100;

-- The keys of a queue go with it; those of a job that waits for a verdict are held with it.
-- name: verify_uniques
SELECT 'a unique key of job ' || u.job || ' is of queue ' || (-u.scope) || ', which does not exist'
FROM uniques AS u
WHERE u.scope < 0 AND NOT EXISTS (SELECT 1 FROM queues WHERE queues.id = -u.scope)
  AND NOT EXISTS (SELECT 1 FROM gone_scopes AS g WHERE g.scope = u.scope)
UNION ALL
SELECT 'job ' || w.job || ' waits for a filter but is not held by one' FROM filter_waits AS w
WHERE EXISTS (SELECT 1 FROM jobs WHERE jobs.id = w.job AND jobs.state > 2)
UNION ALL
SELECT 'drops of queue ' || d.queue || ', which does not exist' FROM drops AS d
WHERE NOT EXISTS (SELECT 1 FROM queues WHERE queues.id = d.queue)
LIMIT 100;

-- name: verify_payload
SELECT 'payload of job ' || t.job || ' has no job' FROM (SELECT id AS job FROM payload) AS t
WHERE {no_job};

-- name: verify_shared
SELECT 'job ' || p.id || ' shares params ' || p.shared || ', which are not there' FROM payload AS p
WHERE p.shared IS NOT NULL AND NOT EXISTS (SELECT 1 FROM shared AS s WHERE s.id = p.shared)
UNION ALL
SELECT 'shared params ' || s.id || ' are of no job' FROM shared AS s
WHERE NOT EXISTS (SELECT 1 FROM payload AS p WHERE p.shared = s.id)
  AND NOT EXISTS (SELECT 1 FROM spreads AS p WHERE p.id = s.id) LIMIT 100;

-- name: verify_fanouts
SELECT 'publication ' || p.id || ' is at target ' || p.place || ' of ' || (LENGTH(p.targets) / 16)
FROM spreads AS p
WHERE p.place < 0 OR p.place >= LENGTH(p.targets) / 16
UNION ALL
SELECT 'what publication ' || p.id || ' brings is not there' FROM spreads AS p
WHERE NOT EXISTS (SELECT 1 FROM shared AS s WHERE s.id = p.id)
UNION ALL
SELECT 'the end of job ' || t.job || ' leads on, and the job is gone' FROM follows AS t
WHERE {no_job};

-- name: verify_claims
SELECT 'job ' || id || ' runs under claim ' || token || ', which is not recorded' FROM jobs
WHERE state = 5 AND NOT EXISTS (SELECT 1 FROM claims WHERE claims.token = jobs.token) LIMIT 100;

-- Claims are adopted in the commit that marks a server as dead.  If a lease ended long ago while
-- servers were running, no server has judged it.  The limit is generous: servers give full
-- periods after outages.
-- name: verify_leases
-- only: postgres
SELECT 'claim ' || token || ' is of server ' || node
       || ', which does not exist: nobody looks after its jobs'
FROM claims
WHERE NOT EXISTS (SELECT 1 FROM servers AS s WHERE s.node = claims.node AND s.alive_until_at > 0)
UNION ALL
SELECT 'job ' || j.id || ' runs, and its lease ended '
       || (clock.now_at - j.lease_until_at) / 1000000 || ' s ago: no server looks after it'
FROM jobs AS j JOIN claims AS c ON c.token = j.token,
     (SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT) AS now_at) AS clock
WHERE j.state = 5 AND j.lease_until_at + GREATEST(3 * c.lease_us, 600000000) < clock.now_at
  AND EXISTS (SELECT 1 FROM servers AS s
              WHERE s.node = c.node AND s.alive_until_at > clock.now_at
                AND s.joined_at + GREATEST(3 * c.lease_us, 600000000) < clock.now_at)
LIMIT 100;

-- name: verify_logs
SELECT DISTINCT 'log of job ' || t.job || ' has no job' FROM logs AS t WHERE {no_job};

-- name: verify_queue_log
SELECT DISTINCT 'log of queue ' || queue || ', which does not exist' FROM queue_log
WHERE NOT EXISTS (SELECT 1 FROM queues WHERE queues.id = queue_log.queue) LIMIT 100;

-- name: verify_log_times
SELECT DISTINCT 'log times of job ' || t.job || ' have no job' FROM log_times AS t WHERE {no_job};

-- name: verify_progress
SELECT 'progress of job ' || t.job || ' has no job' FROM progress AS t WHERE {no_job};

-- name: verify_staged
SELECT 'job ' || id || ' is staged and belongs to nobody' FROM jobs
WHERE state = 1 AND NOT EXISTS (SELECT 1 FROM emits
    WHERE emits.id = (SELECT MAX(e.id) FROM emits AS e
                      WHERE e.id < jobs.id AND (e.id >> 12) & 1023 = (jobs.id >> 12) & 1023)
      AND emits.staged = 1)
UNION ALL
SELECT 'job ' || job || ' is staged and its key belongs to it already' FROM keys
WHERE EXISTS (SELECT 1 FROM jobs WHERE jobs.id = keys.job AND jobs.state = 1)
LIMIT 100;

-- name: verify_emits
SELECT 'emit ' || seq || ' of job ' || owner || ' belongs to no attempt' FROM emits
WHERE NOT EXISTS (SELECT 1 FROM emitters AS m WHERE m.owner = emits.owner AND m.token = emits.token)
UNION ALL
SELECT 'job ' || m.owner || ' has emitted under claim ' || m.token || ' and does not run under it'
FROM emitters AS m
WHERE m.fate = 0 AND NOT EXISTS (SELECT 1 FROM jobs AS j
                                 WHERE j.id = m.owner AND j.state = 5 AND j.token = m.token)
UNION ALL
SELECT 'job ' || m.owner || ' has ' || m.staged || ' staged jobs by its row, ' || staged.n
       || ' by its emits'
FROM emitters AS m JOIN (
    SELECT m2.owner, m2.token, COALESCE(SUM(LENGTH(e.jobs) / 8), 0) AS n
    FROM emitters AS m2
    LEFT JOIN emits AS e ON e.owner = m2.owner AND e.token = m2.token AND e.staged = 1
    GROUP BY m2.owner, m2.token) AS staged ON staged.owner = m.owner AND staged.token = m.token
WHERE staged.n <> m.staged
UNION ALL
SELECT jobs.n || ' jobs are staged, the emits name ' || emits.n
FROM (SELECT COUNT(*) AS n FROM jobs WHERE state = 1) AS jobs,
     (SELECT COALESCE(SUM(staged), 0) AS n FROM emitters) AS emits
WHERE jobs.n <> emits.n
LIMIT 100;

-- name: verify_cursors
SELECT 'cursor of job ' || job || ' has no job that may go on with it' FROM cursors
WHERE NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = cursors.job)
  AND NOT EXISTS (SELECT 1 FROM ended WHERE ended.id = cursors.job AND ended.state <> 6) LIMIT 100;

-- A history begins with the holds, if any: 2 is `after`, 8 the end of a step that must be followed.
-- part: holds_findings
SELECT 'job ' || w.waiter || ' waits and is not held for it' FROM waits AS w
WHERE NOT EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = w.waiter AND j.state = 1)
  AND NOT EXISTS (SELECT 1 FROM held AS h WHERE h.id = w.waiter AND h.holds & 2 <> 0)
UNION ALL
SELECT 'job ' || h.id || ' is held and waits for nothing' FROM held AS h
WHERE h.holds & 2 <> 0 AND NOT EXISTS (SELECT 1 FROM waits AS w WHERE w.waiter = h.id)
UNION ALL
SELECT 'job ' || h.id || ' is held for the end of a step, and none is to be followed' FROM held AS h
WHERE h.holds & 8 <> 0 AND NOT EXISTS (SELECT 1 FROM follows AS f WHERE f.job = h.id)
UNION ALL
SELECT 'the end of a step of job ' || j.id || ' is to be followed, and the job is not held for it'
FROM follows AS f JOIN jobs AS j ON j.id = f.job
WHERE f.whole = 0 AND f.step > 0
  AND NOT EXISTS (SELECT 1 FROM held AS h WHERE h.id = j.id AND h.holds & 8 <> 0)
LIMIT 100

-- name: verify_holds
-- store: sqlite
WITH held AS (SELECT id, CAST(SUBSTR(history, 10) AS INTEGER) AS holds FROM jobs
              WHERE state = 2 AND history LIKE '{"holds":%')
{holds_findings};
-- store: postgres
WITH held AS (SELECT id, CAST(SUBSTRING(history FROM '^[{]"holds":([0-9]{1,9})') AS BIGINT) AS holds
              FROM jobs WHERE state = 2)
{holds_findings};

-- name: verify_waits
SELECT 'job ' || w.waiter || ' waits for job ' || w.target || ', whose end will not be told'
FROM waits AS w
WHERE w.kind = 1
  AND NOT EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = w.target AND (j.awaited & 1) = 1)
  AND NOT EXISTS (SELECT 1 FROM releases AS r WHERE r.target = w.target)
UNION ALL
SELECT 'job ' || w.waiter || ' waits for signal ' || w.target || ', which does not exist'
FROM waits AS w
WHERE w.kind = 2 AND NOT EXISTS (SELECT 1 FROM signals AS s WHERE s.id = w.target)
UNION ALL
SELECT 'job ' || w.waiter || ' waits for group ' || w.target || ', whose end will not be told'
FROM waits AS w
WHERE w.kind = 3
  AND NOT EXISTS (SELECT 1 FROM groups AS g
                  WHERE g.id = w.target AND g.state < 3 AND g.flags & 128 <> 0)
  AND NOT EXISTS (SELECT 1 FROM releases AS r WHERE r.target = w.target)
LIMIT 100;

-- An open group counts its living members and children, and the jobs that fan-outs still owe it.
-- name: verify_groups
SELECT 'group ' || g.id || ' counts ' || (g.waiting + g.running) || ' living members, there are '
       || (SELECT COUNT(*) FROM members AS m JOIN jobs AS j ON j.id = m.job WHERE m.group_id = g.id)
FROM groups AS g
WHERE g.state = 1 AND g.id <> 1
  AND g.waiting + g.running <> (SELECT COUNT(*) FROM members AS m JOIN jobs AS j ON j.id = m.job
                                WHERE m.group_id = g.id)
  AND NOT EXISTS (SELECT 1 FROM spreads) AND NOT EXISTS (SELECT 1 FROM follows)
UNION ALL
SELECT 'group ' || g.id || ' counts ' || g.children || ' open groups in it, there are '
       || (SELECT COUNT(*) FROM groups AS c WHERE c.parent = g.id AND c.state < 3)
FROM groups AS g
WHERE g.state = 1 AND g.id <> 1
  AND g.children <> (SELECT COUNT(*) FROM groups AS c WHERE c.parent = g.id AND c.state < 3)
UNION ALL
SELECT 'group ' || g.id || ' waits for its finaliser ' || g.finaliser || ', which does not live'
FROM groups AS g
WHERE g.state = 2 AND NOT EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = g.finaliser)
UNION ALL
SELECT 'group ' || g.id || ' is over and has not ended' FROM groups AS g
WHERE g.state = 1 AND g.id <> 1 AND g.flags & 2 <> 0 AND g.flags & 257 = 0 AND g.work = 0
  AND g.waiting = 0 AND g.running = 0 AND g.children = 0
UNION ALL
SELECT 'group ' || g.id || ' is in group ' || g.parent || ', which does not exist' FROM groups AS g
WHERE g.state < 3 AND g.id <> 1
  AND NOT EXISTS (SELECT 1 FROM groups AS p WHERE p.id = g.parent AND p.state = 1)
LIMIT 100;

-- State 8 is cancelled.
-- name: verify_undone
SELECT 'job ' || u.waiter || ' is said to be cancelled because of job ' || u.target FROM undone AS u
WHERE NOT EXISTS (SELECT 1 FROM ended AS j WHERE j.id = u.waiter AND j.state = 8) LIMIT 100;

-- name: verify_arrivals
SELECT 'arrivals of join ' || a.join_id || ', which does not exist' FROM arrivals AS a
WHERE NOT EXISTS (SELECT 1 FROM joins AS n WHERE n.id = a.join_id)
UNION ALL
SELECT 'join ' || join_id || ' has ' || n || ' arrivals and ' || (LENGTH(jobs) / 8) || ' jobs'
FROM arrivals
WHERE n < 1 OR LENGTH(jobs) > 8 * n
LIMIT 100;

-- Steps come first in a bill.
-- name: verify_routes
SELECT 'job ' || j.id || ' is at a step and has no route' FROM jobs AS j
WHERE j.history LIKE '%"step":%'
  AND NOT EXISTS (SELECT 1 FROM payload AS p WHERE p.id = j.id AND p.bill LIKE '{"steps":%')
UNION ALL
SELECT 'job ' || j.id || ' has a route and is at no step'
FROM jobs AS j JOIN payload AS p ON p.id = j.id
WHERE p.bill LIKE '{"steps":%' AND (j.history IS NULL OR j.history NOT LIKE '%"step":%')
LIMIT 100;

-- Slots in use are those of running jobs, with the weights they were granted with.
-- name: verify_gates
SELECT 'gate ' || g.id || ' (' || g.name || ') has ' || g.in_use || ' in use, and jobs use '
       || COALESCE(u.n, 0)
FROM gates AS g LEFT JOIN (SELECT gate, SUM(weight) AS n FROM gate_uses GROUP BY gate) AS u
     ON u.gate = g.id
WHERE g.in_use <> COALESCE(u.n, 0)
UNION ALL
SELECT 'job ' || u.job || ' uses gate ' || u.gate || ' and does not run' FROM gate_uses AS u
WHERE NOT EXISTS (SELECT 1 FROM jobs AS j WHERE j.id = u.job AND j.state + 0 = 5)
UNION ALL
SELECT 'job ' || u.job || ' uses gate ' || u.gate || ', which does not exist' FROM gate_uses AS u
WHERE NOT EXISTS (SELECT 1 FROM gates AS g WHERE g.id = u.gate)
LIMIT 100;

-- name: verify_firings
SELECT 'an entry is of schedule ' || f.schedule || ', which does not exist' FROM firings AS f
WHERE NOT EXISTS (SELECT 1 FROM schedules AS s WHERE s.id = f.schedule)
UNION ALL
SELECT 'schedule ' || s.id || ' has entries up to ' || COALESCE(MAX(f.seq), 0) || ', counted '
       || s.entries
FROM schedules AS s LEFT JOIN firings AS f ON f.schedule = s.id
GROUP BY s.id, s.entries HAVING COALESCE(MAX(f.seq), 0) <> s.entries OR COUNT(f.seq) > 100
UNION ALL
SELECT 'nominal time ' || f.nominal_at || ' of schedule ' || f.schedule || ' has fired '
       || COUNT(*) || ' times'
FROM firings AS f WHERE f.state = 1 AND f.why NOT LIKE 'run by hand%'
GROUP BY f.schedule, f.nominal_at HAVING COUNT(*) > 1
LIMIT 100;
