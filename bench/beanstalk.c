/* SPDX-License-Identifier: MIT */
#include "beanstalk.h"

#define RUN_TIME_S 300 /* a reserved job stays reserved for longer than any run */

struct talk {
    struct buf puts;    /* a full batch of them */
    struct buf deletes; /* for the jobs held */
    size_t put_size;
    unsigned held;
    unsigned setting_up; /* answers to `use`, `watch` and `ignore` that are still to come */
};

static enum err_code beanstalk_open(struct load_conn *c, struct err *err)
{
    struct talk *t = mem_zalloc(sizeof(*t));

    (void)err;
    t->puts = BUF_INIT(LOAD_BUFFER_MAX);
    t->deletes = BUF_INIT(LOAD_BUFFER_MAX);
    for (unsigned i = 0; i < c->plan->batch; i++) {
        buf_addf(&t->puts, "put 0 0 %d %zu\r\n", RUN_TIME_S, load_payload.size);
        buf_add_slice(&t->puts, load_payload);
        buf_add_str(&t->puts, "\r\n");
        if (i == 0)
            t->put_size = t->puts.size;
    }
    buf_addf(&c->out, "use %s\r\nwatch %s\r\nignore default\r\n", c->plan->queue, c->plan->queue);
    t->setting_up = 3;
    c->talk = t;
    return E_OK;
}

static void beanstalk_close(struct load_conn *c)
{
    struct talk *t = c->talk;

    if (t == NULL)
        return;
    buf_deinit(&t->puts);
    buf_deinit(&t->deletes);
    free(t);
}

static void beanstalk_submit(struct load_conn *c, unsigned jobs)
{
    struct talk *t = c->talk;

    buf_add(&c->out, t->puts.data, jobs * t->put_size);
}

static unsigned beanstalk_finish(struct load_conn *c)
{
    struct talk *t = c->talk;
    unsigned held = t->held;

    buf_add_slice(&c->out, buf_slice(&t->deletes));
    buf_clear(&t->deletes);
    t->held = 0;
    return held;
}

static unsigned beanstalk_claim(struct load_conn *c, unsigned jobs, unsigned wait_s)
{
    unsigned finished = beanstalk_finish(c);

    (void)wait_s;
    for (unsigned i = 0; i < jobs; i++)
        buf_add_str(&c->out, "reserve\r\n");
    return finished;
}

/* `RESERVED ID SIZE`, then the body.  Returns the bytes of both, 0 when they are not all there. */
static size_t take_reserved(struct talk *t, struct slice in, size_t line)
{
    char *rest = NULL;
    unsigned long long id = strtoull(in.data + 9, &rest, 10);
    size_t whole = line + strtoul(rest, NULL, 10) + 2;

    if (in.size < whole)
        return 0;
    buf_addf(&t->deletes, "delete %llu\r\n", id);
    t->held++;
    return whole;
}

/* One answer.  Returns the bytes it took, 0 when it is not all there, SIZE_MAX when it is bad. */
static size_t take_answer(struct talk *t, struct slice in, struct load_events *e)
{
    const char *newline = memchr(in.data, '\n', in.size);
    size_t line = newline == NULL ? 0 : (size_t)(newline - in.data) + 1;

    if (line == 0)
        return 0;
    if (strncmp(in.data, "INSERTED ", 9) == 0) {
        e->submitted++;
    } else if (strncmp(in.data, "RESERVED ", 9) == 0) {
        line = take_reserved(t, in, line);
        e->claimed += line > 0;
    } else if (strncmp(in.data, "DELETED\r", 8) == 0) {
        e->finished++;
    } else if (t->setting_up > 0 &&
               (strncmp(in.data, "USING ", 6) == 0 || strncmp(in.data, "WATCHING ", 9) == 0)) {
        t->setting_up--;
    } else {
        return SIZE_MAX;
    }
    return line;
}

static enum err_code beanstalk_input(struct load_conn *c, struct slice in, size_t *ret_used,
                                     struct load_events *events, struct err *err)
{
    size_t used = 0;

    while (used < in.size) {
        struct slice rest = slice_make(in.data + used, in.size - used);
        size_t n = take_answer(c->talk, rest, events);

        if (n == SIZE_MAX)
            return err_set(err, E_BAD_REQUEST, "beanstalkd answered: %.60s", rest.data);
        if (n == 0)
            break;
        used += n;
    }
    *ret_used = used;
    return E_OK;
}

const struct load_protocol beanstalk = {
    .pipelines = true,
    .open = beanstalk_open,
    .close = beanstalk_close,
    .submit = beanstalk_submit,
    .claim = beanstalk_claim,
    .finish = beanstalk_finish,
    .input = beanstalk_input,
};
