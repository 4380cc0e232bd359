-- name: begin_write
-- store: sqlite
BEGIN IMMEDIATE;
-- store: postgres
BEGIN;

-- name: begin_read
-- store: sqlite
BEGIN;
-- store: postgres
BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY;

-- name: commit
COMMIT;

-- name: rollback
ROLLBACK;
