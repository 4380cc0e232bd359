-- What must hold between tables; each statement returns the violations, as text.

-- name: verify_counts
SELECT 'queue ' || queue || ', state ' || state || ': kept ' || SUM(kept) || ', counted ' || SUM(counted)
FROM (SELECT queue, state, n AS kept, 0 AS counted FROM counts
      UNION ALL SELECT queue, state, 0, COUNT(*) FROM jobs GROUP BY queue, state
      UNION ALL SELECT queue, state, 0, COUNT(*) FROM ended GROUP BY queue, state) AS both
GROUP BY queue, state HAVING SUM(kept) <> SUM(counted) LIMIT 100;

-- name: verify_states
SELECT 'job ' || id || ' is in state ' || state || ' among the living' FROM jobs
WHERE state < 1 OR state > 5
UNION ALL
SELECT 'job ' || id || ' is in state ' || state || ' among the ended' FROM ended
WHERE state < 6 OR state > 9
LIMIT 100;

-- name: verify_twice
SELECT 'job ' || jobs.id || ' is both alive and ended' FROM jobs JOIN ended ON ended.id = jobs.id LIMIT 100;

-- name: verify_queues
SELECT 'job ' || id || ' is in queue ' || queue || ', which does not exist' FROM jobs
WHERE queue NOT IN (SELECT id FROM queues)
UNION ALL
SELECT 'ended job ' || id || ' is of queue ' || queue || ', which does not exist' FROM ended
WHERE queue NOT IN (SELECT id FROM queues) LIMIT 100;

-- name: verify_keys
SELECT 'key of job ' || keys.job || ' has no job' FROM keys
WHERE NOT EXISTS (SELECT 1 FROM payload WHERE payload.id = keys.job AND payload.key = keys.key)
UNION ALL
SELECT 'job ' || id || ' has a key that is not known' FROM payload
WHERE key IS NOT NULL AND NOT EXISTS (SELECT 1 FROM keys WHERE keys.key = payload.key AND keys.job = payload.id)
LIMIT 100;

-- name: verify_payload
SELECT 'payload of job ' || id || ' has no job' FROM payload
WHERE id NOT IN (SELECT id FROM jobs) AND id NOT IN (SELECT id FROM ended) LIMIT 100;

-- name: verify_claims
SELECT 'job ' || id || ' runs under claim ' || token || ', which is not recorded' FROM jobs
WHERE state = 5 AND token NOT IN (SELECT token FROM claims) LIMIT 100;

-- name: verify_logs
SELECT DISTINCT 'log of job ' || job || ' has no job' FROM logs
WHERE job NOT IN (SELECT id FROM jobs) AND job NOT IN (SELECT id FROM ended) LIMIT 100;

-- name: verify_progress
SELECT 'progress of job ' || job || ' has no job' FROM progress
WHERE job NOT IN (SELECT id FROM jobs) AND job NOT IN (SELECT id FROM ended) LIMIT 100;
