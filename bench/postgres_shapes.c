/* SPDX-License-Identifier: MIT */
#include "postgres_shapes.h"

#define DROP "DROP TABLE IF EXISTS jobs, ready, running, payload, ended;"

/* Columns that a job has in all shapes, with the wide numbers of ours. */
#define JOB_COLUMNS                                                                 \
    "id BIGINT NOT NULL, queue BIGINT NOT NULL, state BIGINT NOT NULL,"             \
    "priority BIGINT NOT NULL, due_at BIGINT NOT NULL, token BIGINT NOT NULL,"      \
    "started_at BIGINT NOT NULL, ended_at BIGINT NOT NULL, worker BIGINT NOT NULL," \
    "attempt BIGINT NOT NULL"

const struct postgres_shape postgres_shapes[] = {
    /* Nothing is ever changed: a job's row stays, and what moves is a row in one of three
     * tables. */
    {
        .name = "tables",
        .schema = DROP
        "CREATE TABLE jobs (id BIGINT PRIMARY KEY, queue BIGINT NOT NULL,"
        " priority BIGINT NOT NULL, due_at BIGINT NOT NULL, params TEXT NOT NULL);"
        "CREATE TABLE ready (id BIGINT NOT NULL, queue BIGINT NOT NULL,"
        " priority BIGINT NOT NULL, attempt BIGINT NOT NULL);"
        "CREATE INDEX ON ready (queue, priority DESC, id);"
        "CREATE TABLE running (id BIGINT PRIMARY KEY, token BIGINT NOT NULL,"
        " started_at BIGINT NOT NULL, worker BIGINT NOT NULL, attempt BIGINT NOT NULL);"
        "CREATE TABLE ended (id BIGINT PRIMARY KEY, state BIGINT NOT NULL,"
        " token BIGINT NOT NULL, started_at BIGINT NOT NULL, ended_at BIGINT NOT NULL,"
        " worker BIGINT NOT NULL, attempt BIGINT NOT NULL);",
        .submit = "WITH j AS (INSERT INTO ready SELECT id, 1, 0, 0 FROM unnest($1::bigint[]) AS id)"
                  " INSERT INTO jobs SELECT id, 1, 0, 0, params"
                  " FROM unnest($1::bigint[], $2::text[]) AS r (id, params)",
        .claim = "WITH r AS (DELETE FROM ready WHERE ctid = ANY (ARRAY(SELECT ctid FROM ready"
                 " WHERE queue = 1 ORDER BY priority DESC, id LIMIT $1::bigint"
                 " FOR UPDATE SKIP LOCKED)) RETURNING id, attempt),"
                 " j AS (INSERT INTO running SELECT id, $2::bigint, $3::bigint, $4::bigint,"
                 " attempt + 1 FROM r) SELECT id, params FROM r JOIN jobs USING (id)",
        .finish = "WITH r AS (DELETE FROM running WHERE id = ANY ($1::bigint[])"
                  " AND token = $2::bigint RETURNING *)"
                  " INSERT INTO ended SELECT id, 6, token, started_at, $3::bigint, worker, attempt"
                  " FROM r",
    },
    /* A narrow row that moves, what it carries in a table of its own: as Waybill's own tables. */
    {
        .name = "apart",
        .schema = DROP "CREATE TABLE jobs (" JOB_COLUMNS ", PRIMARY KEY (id));"
                       "CREATE INDEX ON jobs (queue, priority DESC, id) WHERE state = 4;"
                       "CREATE TABLE payload (id BIGINT PRIMARY KEY, params TEXT NOT NULL);"
                       "CREATE TABLE ended (" JOB_COLUMNS ", PRIMARY KEY (id));",
        .submit = "WITH j AS (INSERT INTO jobs SELECT id, 1, 4, 0, 0, 0, 0, 0, 0, 0"
                  " FROM unnest($1::bigint[]) AS id)"
                  " INSERT INTO payload SELECT * FROM unnest($1::bigint[], $2::text[])",
        .claim = "WITH j AS (UPDATE jobs SET state = 5, token = $2::bigint,"
                 " started_at = $3::bigint, worker = $4::bigint, attempt = attempt + 1"
                 " WHERE ctid = ANY (ARRAY(SELECT ctid FROM jobs WHERE state = 4 AND queue = 1"
                 " ORDER BY priority DESC, id LIMIT $1::bigint FOR UPDATE SKIP LOCKED))"
                 " RETURNING id) SELECT id, params FROM j JOIN payload USING (id)",
        .finish = "WITH j AS (DELETE FROM jobs WHERE id = ANY ($1::bigint[]) AND state = 5"
                  " AND token = $2::bigint RETURNING *)"
                  " INSERT INTO ended SELECT id, queue, 6, priority, due_at, token, started_at,"
                  " $3::bigint, worker, attempt FROM j",
    },
    /* The textbook: all of a job in one row, which moves as a whole when it ends. */
    {
        .name = "moved",
        .schema = DROP
        "CREATE TABLE jobs (" JOB_COLUMNS ", params TEXT NOT NULL, PRIMARY KEY (id));"
        "CREATE INDEX ON jobs (queue, priority DESC, id) WHERE state = 4;"
        "CREATE TABLE ended (" JOB_COLUMNS ", params TEXT NOT NULL, PRIMARY KEY (id));",
        .submit = "INSERT INTO jobs SELECT id, 1, 4, 0, 0, 0, 0, 0, 0, 0, params"
                  " FROM unnest($1::bigint[], $2::text[]) AS r (id, params)",
        .claim = "UPDATE jobs SET state = 5, token = $2::bigint, started_at = $3::bigint,"
                 " worker = $4::bigint, attempt = attempt + 1"
                 " WHERE ctid = ANY (ARRAY(SELECT ctid FROM jobs WHERE state = 4 AND queue = 1"
                 " ORDER BY priority DESC, id LIMIT $1::bigint FOR UPDATE SKIP LOCKED))"
                 " RETURNING id, params",
        .finish = "WITH j AS (DELETE FROM jobs WHERE id = ANY ($1::bigint[]) AND state = 5"
                  " AND token = $2::bigint RETURNING *)"
                  " INSERT INTO ended SELECT id, queue, 6, priority, due_at, token, started_at,"
                  " $3::bigint, worker, attempt, params FROM j",
    },
    /* The shortest: one table for all of a job's life. */
    {
        .name = "stays",
        .schema = DROP "CREATE TABLE jobs (" JOB_COLUMNS
                       ", params TEXT NOT NULL, PRIMARY KEY (id));"
                       "CREATE INDEX ON jobs (queue, priority DESC, id) WHERE state = 4;",
        .submit = "INSERT INTO jobs SELECT id, 1, 4, 0, 0, 0, 0, 0, 0, 0, params"
                  " FROM unnest($1::bigint[], $2::text[]) AS r (id, params)",
        .claim = "UPDATE jobs SET state = 5, token = $2::bigint, started_at = $3::bigint,"
                 " worker = $4::bigint, attempt = attempt + 1"
                 " WHERE ctid = ANY (ARRAY(SELECT ctid FROM jobs WHERE state = 4 AND queue = 1"
                 " ORDER BY priority DESC, id LIMIT $1::bigint FOR UPDATE SKIP LOCKED))"
                 " RETURNING id, params",
        .finish = "UPDATE jobs SET state = 6, ended_at = $3::bigint"
                  " WHERE id = ANY ($1::bigint[]) AND state = 5 AND token = $2::bigint",
    },
};

const size_t postgres_shape_count = ARRAY_LEN(postgres_shapes);
