/* SPDX-License-Identifier: MIT */
#include "load/http.h"

#include <strings.h>

#define CLAIM_ROOM 160 /* a claim without its finishes */

struct talk {
    struct buf submits; /* the body of a full batch */
    struct buf finish;  /* items for the jobs held, each followed by a comma */
    unsigned held;
    unsigned asked_submits;
    unsigned asked_claims;
    unsigned asked_finishes;
};

static void add_jobs(struct buf *to, const struct load_plan *plan, unsigned jobs)
{
    bool list = plan->batch > 1;

    if (list)
        buf_add_char(to, '[');
    for (unsigned i = 0; i < jobs; i++) {
        buf_add_str(to, i == 0 ? "{\"queue\":\"" : ",{\"queue\":\"");
        buf_add_str(to, plan->queue);
        if (plan->group != NULL)
            buf_addf(to, "\",\"group\":\"%s", plan->group);
        buf_add_str(to, "\",\"params\":");
        buf_add_slice(to, load_payload);
        buf_add_char(to, '}');
    }
    if (list)
        buf_add_char(to, ']');
}

static void add_head(struct buf *to, const char *path, size_t body_size)
{
    buf_addf(to,
             "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             "Content-Length: %zu\r\n\r\n",
             path, body_size);
}

static enum err_code http_open(struct load_conn *c, struct err *err)
{
    struct talk *t = mem_zalloc(sizeof(*t));

    (void)err;
    t->submits = BUF_INIT(LOAD_BUFFER_MAX);
    t->finish = BUF_INIT(LOAD_BUFFER_MAX);
    add_jobs(&t->submits, c->plan, c->plan->batch);
    c->talk = t;
    return E_OK;
}

static void http_close(struct load_conn *c)
{
    struct talk *t = c->talk;

    if (t == NULL)
        return;
    buf_deinit(&t->submits);
    buf_deinit(&t->finish);
    free(t);
}

static void http_submit(struct load_conn *c, unsigned jobs)
{
    struct talk *t = c->talk;
    CLEANUP(buf) struct buf part = BUF_INIT(LOAD_BUFFER_MAX);
    const struct buf *body = &t->submits;

    if (jobs != c->plan->batch) {
        add_jobs(&part, c->plan, jobs);
        body = &part;
    }
    add_head(&c->out, "/v1/jobs", body->size);
    buf_add_slice(&c->out, buf_slice(body));
    t->asked_submits = jobs;
}

/* Sends `body` and forgets the held jobs, which it finishes. */
static unsigned send_body(struct load_conn *c, const char *path, const struct buf *body)
{
    struct talk *t = c->talk;

    add_head(&c->out, path, body->size);
    buf_add_slice(&c->out, buf_slice(body));
    buf_clear(&t->finish);
    t->asked_finishes = t->held;
    t->held = 0;
    return t->asked_finishes;
}

static void add_finishes(struct buf *to, const struct talk *t)
{
    buf_add_str(to, "\"finish\":[");
    if (t->held > 0)
        buf_add(to, t->finish.data, t->finish.size - 1);
    buf_add_str(to, "]}");
}

static unsigned http_claim(struct load_conn *c, unsigned jobs, unsigned wait_s)
{
    struct talk *t = c->talk;
    CLEANUP(buf) struct buf body = BUF_INIT(LOAD_BUFFER_MAX);

    (void)buf_reserve(&body, t->finish.size + CLAIM_ROOM);
    buf_addf(&body, "{\"worker\":\"load-%u\",\"queues\":{\"%s\":%u},\"max\":%u,", c->index,
             c->plan->queue, jobs, jobs);
    if (wait_s > 0)
        buf_addf(&body, "\"wait\":\"%us\",", wait_s);
    add_finishes(&body, t);
    t->asked_claims = jobs;
    return send_body(c, "/v1/claim", &body);
}

static unsigned http_finish(struct load_conn *c)
{
    struct talk *t = c->talk;
    CLEANUP(buf) struct buf body = BUF_INIT(LOAD_BUFFER_MAX);

    if (t->held == 0)
        return 0;
    buf_add_char(&body, '{');
    add_finishes(&body, t);
    return send_body(c, "/v1/finish", &body);
}

/* The text up to the next quote; moves `*at` past it. */
static bool scan_string(const char **at, const char *end, const char *member,
                        struct slice *ret_text)
{
    size_t size = strlen(member);
    const char *p = memmem(*at, (size_t)(end - *at), member, size);
    const char *quote = p == NULL ? NULL : memchr(p + size, '"', (size_t)(end - p) - size);

    if (quote == NULL)
        return false;
    *ret_text = slice_make(p + size, (size_t)(quote - p) - size);
    *at = quote + 1;
    return true;
}

/* Each job's id and lease, which follow each other, go into the next finish.  Results and groups
 * have an id but no lease. */
static unsigned scan_jobs(struct talk *t, struct slice body)
{
    static const char then[] = ",\"lease\":\"";
    const char *end = body.data + body.size;
    const char *at = memmem(body.data, body.size, "\"jobs\":[", 8);
    struct slice id;
    struct slice lease;

    while (at != NULL && t->held < t->asked_claims && scan_string(&at, end, "\"id\":\"", &id)) {
        if (!slice_begins(slice_make(at, (size_t)(end - at)), slice_of(then)) ||
            !scan_string(&at, end, then, &lease))
            continue;
        buf_add_str(&t->finish, "{\"id\":\"");
        buf_add_slice(&t->finish, id);
        buf_add_str(&t->finish, "\",\"lease\":\"");
        buf_add_slice(&t->finish, lease);
        buf_add_str(&t->finish, "\",\"state\":\"done\"},");
        t->held++;
    }
    return t->held;
}

static enum err_code take_answer(struct talk *t, struct slice body, struct load_events *e,
                                 struct err *err)
{
    e->submitted = t->asked_submits;
    if (t->asked_claims > 0) {
        e->claimed = scan_jobs(t, body);
        e->unclaimed = t->asked_claims - e->claimed;
    }
    if (t->asked_finishes > 0) {
        const char *end = body.data + body.size;
        const char *at = memmem(body.data, body.size, "\"results\":[", 11);
        unsigned ok = 0;

        while (at != NULL && (at = memmem(at, (size_t)(end - at), "\"ok\":true", 9)) != NULL) {
            at += 9;
            ok++;
        }
        e->finished = ok;
        if (e->finished != t->asked_finishes)
            return err_set(err, E_CONFLICT, "%u of %u finishes were refused: %.120s",
                           t->asked_finishes - e->finished, t->asked_finishes, body.data);
    }
    t->asked_submits = t->asked_claims = t->asked_finishes = 0;
    return E_OK;
}

static bool find_length(const char *at, const char *end, size_t *ret_length)
{
    static const char name[] = "\r\nContent-Length:";

    for (; end - at > (ptrdiff_t)sizeof(name); at++) {
        at = memchr(at, '\r', (size_t)(end - at));
        if (at == NULL || end - at <= (ptrdiff_t)sizeof(name))
            return false;
        if (strncasecmp(at, name, sizeof(name) - 1) == 0) {
            *ret_length = strtoul(at + sizeof(name) - 1, NULL, 10);
            return true;
        }
    }
    return false;
}

static enum err_code http_input(struct load_conn *c, struct slice in, size_t *ret_used,
                                struct load_events *events, struct err *err)
{
    const char *blank = memmem(in.data, in.size, "\r\n\r\n", 4);
    size_t length = 0;

    if (blank == NULL)
        return E_OK;
    struct slice body = slice_make(blank + 4, in.size - (size_t)(blank + 4 - in.data));

    if (!find_length(in.data, blank + 4, &length))
        return err_set(err, E_UNSUPPORTED, "an answer without Content-Length: %.80s", in.data);
    if (body.size < length)
        return E_OK;
    body.size = length;
    if (memcmp(in.data, "HTTP/1.1 20", 11) != 0)
        return err_set(err, E_BAD_REQUEST, "the server refused: %.*s %.*s", 12, in.data,
                       (int)(length < 160 ? length : 160), body.data);
    *ret_used = (size_t)(body.data - in.data) + length;
    return take_answer(c->talk, body, events, err);
}

const struct load_protocol load_http = {
    .open = http_open,
    .close = http_close,
    .submit = http_submit,
    .claim = http_claim,
    .finish = http_finish,
    .input = http_input,
};
