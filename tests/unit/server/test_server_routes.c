/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/jtext/jtext.h"
#include "server/http/range.h"
#include "server/request/routes.h"
#include "testing.h"

static enum err_code match(const char *method, const char *path, struct route_match *m,
                           struct buf *allow)
{
    struct err err = ERR_INIT;

    return routes_match(slice_of(method), slice_of(path), m, allow, &err);
}

static void a_path_finds_its_route_and_argument(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf allow = BUF_INIT(100);
    struct route_match m;

    assert_int_equal(match("GET", "/v1/jobs/ABC/log", &m, &allow), E_OK);
    assert_string_equal(m.route->path, "/v1/jobs/{id}/log");
    assert_slice_is(m.args[0], "ABC");
    assert_int_equal(match("PUT", "/v1/queues/a b", &m, &allow), E_OK);
    assert_slice_is(m.args[0], "a b");
    assert_int_equal(match("HEAD", "/v1/jobs", &m, &allow), E_OK);
    assert_string_equal(m.route->method, "GET");
}

static void what_is_not_there_is_not_found(void **state)
{
    (void)state;
    static const char *const paths[] = {"",
                                        "/",
                                        "/v1",
                                        "/v1/job",
                                        "/v1/jobs/",
                                        "/v1/jobsx",
                                        "/v1/jobs/A/b",
                                        "//v1/jobs",
                                        "/v1/gruppen",
                                        "/v1/emits",
                                        "/job_start/",
                                        "/v1/jobs/A/log/",
                                        "v1/jobs"};

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        CLEANUP(buf) struct buf allow = BUF_INIT(100);
        struct route_match m;

        if (match("GET", paths[i], &m, &allow) != E_NOT_FOUND)
            fail_msg("%s", paths[i]);
    }
}

static void a_wrong_method_is_told_the_right_ones(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf jobs = BUF_INIT(100);
    CLEANUP(buf) struct buf job = BUF_INIT(100);
    CLEANUP(buf) struct buf start = BUF_INIT(100);
    struct route_match m;

    assert_int_equal(match("PUT", "/v1/jobs", &m, &jobs), E_METHOD);
    assert_string_equal(buf_text(&jobs), "POST, GET, HEAD");
    assert_int_equal(match("POST", "/v1/jobs/X", &m, &job), E_METHOD);
    assert_string_equal(buf_text(&job), "GET, HEAD, PATCH, DELETE");
    assert_int_equal(match("HEAD", "/job_start", &m, &start), E_METHOD);
    assert_string_equal(buf_text(&start), "GET");
}

static struct slice write_schemas(struct buf *out)
{
    struct err err = ERR_INIT;
    struct slice value = {NULL, 0};

    schemas_write(out);
    assert_int_equal(jtext_check(buf_slice(out), &value, &err), E_OK);
    return value;
}

/* The table is the description: each row must say everything. */
static void every_route_describes_itself(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf text = BUF_INIT(1 << 20);
    struct slice schemas = write_schemas(&text);
    struct slice schema;
    const struct route *r;

    for (size_t i = 0; (r = routes_get(i)) != NULL; i++) {
        print_message("%s %s\n", r->method, r->path);
        assert_non_null(r->handle);
        assert_true(r->right >= RIGHT_OPEN);
        assert_true(r->status == 0 || (r->status >= 200 && r->status < 300));
        assert_true(strlen(r->help) > 5 && strchr(r->help, '.') != NULL);
        assert_true((r->gives == NULL) == (r->type != NULL));
        if (r->gives != NULL)
            assert_true(jtext_find(schemas, r->gives, &schema));
        assert_true((r->max_body > 0) == (r->body != BODY_NONE));
        assert_true((r->takes != NULL || r->reads != NULL) ==
                    (r->body != BODY_NONE && r->body != BODY_RAW));
        if (r->takes != NULL)
            assert_true(jtext_find(schemas, r->takes, &schema));
        for (size_t j = 0; j < i; j++)
            assert_false(strcmp(r->path, routes_get(j)->path) == 0 &&
                         strcmp(r->method, routes_get(j)->method) == 0);
    }
}

/* What changes definitions or jobs by the many, and what touches the machine. */
static void administration_is_for_the_administrator(void **state)
{
    (void)state;
    static const char *const routes[][2] = {
        {"PUT", "/v1/queues/x"},
        {"DELETE", "/v1/queues/x"},
        {"POST", "/v1/queues/x/pause"},
        {"POST", "/v1/queues/x/resume"},
        {"POST", "/v1/queues/x/drain"},
        {"POST", "/v1/queues/x/down"},
        {"POST", "/v1/queues/x/up"},
        {"POST", "/v1/definitions"},
        {"DELETE", "/v1/jobs/x"},
        {"POST", "/v1/bulk"},
        {"POST", "/v1/backup"},
        {"POST", "/v1/check"},
        {"POST", "/v1/queues/x/restart"},
        {"DELETE", "/v1/joins/x"},
        {"PUT", "/v1/resources/x"},
        {"DELETE", "/v1/resources/x"},
        {"POST", "/v1/resources/x/shut"},
        {"POST", "/v1/resources/x/open"},
        {"PUT", "/v1/schedules/x"},
        {"DELETE", "/v1/schedules/x"},
        {"POST", "/v1/schedules/x/pause"},
        {"POST", "/v1/schedules/x/resume"},
    };
    const struct route *r;
    size_t admins = 0;

    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        CLEANUP(buf) struct buf allow = BUF_INIT(100);
        struct route_match m;

        assert_int_equal(match(routes[i][0], routes[i][1], &m, &allow), E_OK);
        assert_int_equal(m.route->right, RIGHT_ADMIN);
    }
    for (size_t i = 0; (r = routes_get(i)) != NULL; i++)
        admins += r->right == RIGHT_ADMIN;
    assert_int_equal(admins, ARRAY_LEN(routes));
}

/* Every {"$ref":"#/components/schemas/X"} leads somewhere. */
static void check_references(struct slice text)
{
    static const char mark[] = "#/components/schemas/";
    CLEANUP(buf) struct buf all = BUF_INIT(1 << 20);
    struct slice schemas = write_schemas(&all);
    struct slice schema;
    const char *end = text.data + text.size;
    size_t found = 0;

    for (const char *at = text.data;
         (at = memmem(at, (size_t)(end - at), mark, strlen(mark))) != NULL; found++) {
        char name[64];

        at += strlen(mark);
        const char *quote = memchr(at, '"', (size_t)(end - at));

        assert_non_null(quote);
        snprintf(name, sizeof(name), "%.*s", (int)(quote - at), at);
        if (!jtext_find(schemas, name, &schema))
            fail_msg("there is no schema %s", name);
    }
    assert_true(found > 100);
}

static void the_description_is_json_that_holds_together(void **state)
{
    (void)state;
    CLEANUP(buf) struct buf text = BUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    struct slice value;
    struct slice paths;
    struct slice job;

    openapi_write(&text, SLICE("http://127.0.0.1:6769"));
    assert_false(text.overflowed);
    if (jtext_check(buf_slice(&text), &value, &err) != E_OK)
        fail_msg("%s", err.msg);
    check_references(value);
    assert_true(jtext_find(value, "paths", &paths));
    assert_true(jtext_find(paths, "/v1/jobs/{id}", &job));
    assert_true(jtext_find(job, "get", &value));
    assert_true(jtext_find(job, "patch", &value));
    assert_true(jtext_find(job, "delete", &value));
    assert_true(jtext_find(value, "responses", &value));
    assert_true(jtext_find(value, "409", &value));
}

/* ---- Range ---- */

static const struct {
    const char *text;
    bool given;
    int64_t first, last;
} ranges[] = {
    {"bytes=0-4", true, 0, 4},          {"bytes=7-", true, 7, INT64_MAX},
    {"bytes=-5", true, -5, INT64_MAX},  {"bytes=5-4", false, 0, INT64_MAX},
    {"bytes=-0", false, 0, INT64_MAX},  {"bytes=-", false, 0, INT64_MAX},
    {"bytes=", false, 0, INT64_MAX},    {"bytes=0-1,3-4", false, 0, INT64_MAX},
    {"bytes=a-b", false, 0, INT64_MAX}, {"bytes=99999999999999999999-", false, 0, INT64_MAX},
    {"lines=0-4", false, 0, INT64_MAX}, {"", false, 0, INT64_MAX},
};

static void a_range_that_makes_no_sense_was_not_given(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
        struct http_range r = http_range_parse(slice_of(ranges[i].text));

        if (r.given != ranges[i].given || r.first != ranges[i].first || r.last != ranges[i].last)
            fail_msg("%s", ranges[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_finds_its_route_and_argument),
        cmocka_unit_test(what_is_not_there_is_not_found),
        cmocka_unit_test(a_wrong_method_is_told_the_right_ones),
        cmocka_unit_test(every_route_describes_itself),
        cmocka_unit_test(administration_is_for_the_administrator),
        cmocka_unit_test(the_description_is_json_that_holds_together),
        cmocka_unit_test(a_range_that_makes_no_sense_was_not_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
