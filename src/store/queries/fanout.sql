-- Fan-outs in progress: publications, and ends whose destinations must be followed.

-- name: spread_add
INSERT INTO spreads (id, key, content, chained, priority, labels, bill, targets, place)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: spread_next
-- store: sqlite
SELECT p.id, p.key, p.content, p.chained, p.priority, p.labels, p.bill, p.targets, p.place,
       s.params, s.body, s.id
FROM spreads AS p LEFT JOIN shared AS s ON s.id = p.id WHERE p.id > $1 ORDER BY p.id LIMIT 1;
-- store: postgres
SELECT p.id, p.key, p.content, p.chained, p.priority, p.labels, p.bill, p.targets, p.place,
       s.params, s.body, s.id
FROM spreads AS p LEFT JOIN shared AS s ON s.id = p.id WHERE p.id > $1 ORDER BY p.id LIMIT 1
FOR UPDATE OF p SKIP LOCKED;

-- name: spread_of_key
SELECT id, key, content, chained, priority, labels, bill, targets, place, NULL, NULL, id
FROM spreads WHERE key = $1;

-- name: spread_targets
SELECT targets, place FROM spreads;

-- name: spread_place
UPDATE spreads SET place = $2 WHERE id = $1;

-- name: spread_remove
DELETE FROM spreads WHERE id = $1;

-- name: follow_add
INSERT INTO follows (id, job, queue, state, step, whole, dests, place)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: follow_next
-- store: sqlite
SELECT id, job, queue, state, step, whole, dests, place FROM follows
WHERE id > $1 ORDER BY id LIMIT 1;
-- store: postgres
SELECT id, job, queue, state, step, whole, dests, place FROM follows
WHERE id > $1 ORDER BY id LIMIT 1
FOR UPDATE SKIP LOCKED;

-- name: follow_of_job
SELECT id FROM follows WHERE job = $1 LIMIT 1;

-- name: follow_place
UPDATE follows SET place = $2 WHERE id = $1;

-- name: follow_remove
DELETE FROM follows WHERE id = $1;

-- name: fanout_any
SELECT 1 WHERE EXISTS (SELECT 1 FROM spreads) OR EXISTS (SELECT 1 FROM follows);
