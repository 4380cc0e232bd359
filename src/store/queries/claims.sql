-- name: claim_add
INSERT INTO claims (token, node, worker, lease_us, jobs) VALUES ($1, $2, $3, $4, $5);

-- name: claim_remove
DELETE FROM claims WHERE token = $1;

-- name: claim_load
SELECT token, worker, lease_us, jobs FROM claims ORDER BY token;

-- name: claim_load_node
SELECT token, worker, lease_us, jobs FROM claims WHERE node = $1 ORDER BY token;

-- name: claim_load_worker
SELECT token, worker, lease_us, jobs FROM claims WHERE worker = $1 ORDER BY token;

-- name: claim_lease
SELECT lease_us FROM claims WHERE token = $1;
