/* SPDX-License-Identifier: MIT */
#include "server/parse/filter.h"

#include "base/jtext/jtext.h"

enum { ASK_MAX = 1000, ANSWERS_MAX = 1000, TEXT_MAX = 1000 };

static const char *const answer_words[] = {
    [FILTER_SAYS_KEEP] = "keep", [FILTER_SAYS_DROP] = "drop", [FILTER_FAILED] = "failed"};

struct answer_values {
    struct filter_answer answer;
    unsigned verdict;
};

static const struct field answer_fields[] = {
    FIELD_ID("id", answer_values, answer.id, .required = true, .min = 1, .help = "the job"),
    FIELD_WORD("verdict", answer_values, verdict, .required = true, .words = answer_words,
               .min = FILTER_SAYS_KEEP, .max = FILTER_FAILED,
               .help = "what the filter said; failed: it said nothing that counts"),
    FIELD_OBJECT("params", answer_values, answer.params, .null = true, .schema = "Params",
                 .help = "Of a job that is kept: merged into its params."),
    FIELD_TEXT("text", answer_values, answer.text, .null = true, .max = TEXT_MAX, .help = "Why."),
};

const struct object answer_object = {
    .what = "a verdict", .schema = "FilterVerdict", OBJECT_FIELDS(answer_fields), .needs = true};

static enum err_code read_answer(struct object_read *r, void *to, struct slice value)
{
    struct answer_values values = {.verdict = FILTER_SAYS_KEEP};
    struct filter_answer *answer = to;

    if (object_read_in(r, &answer_object, value, &values) != E_OK)
        return r->err->code;
    *answer = values.answer;
    answer->kind = (enum filter_answer_kind)values.verdict;
    return E_OK;
}

static enum err_code read_verdicts(struct object_read *r, const struct field *f, struct slice value)
{
    static const struct object_list how = {.what = "verdicts",
                                           .size = sizeof(struct filter_answer),
                                           .max = ANSWERS_MAX,
                                           .read = read_answer};
    struct filter_ask *x = r->to;

    (void)f;
    return object_read_list(r, &how, value, &x->verdicts, &x->n_verdicts);
}

static enum err_code read_name(struct object_read *r, void *to, struct slice value)
{
    if (jtext_type_of(value) != JTEXT_STRING)
        return object_must_be(r, "the name of a queue", value);
    *(struct slice *)to = jtext_text(value, r->arena);
    return E_OK;
}

static enum err_code read_queues(struct object_read *r, const struct field *f, struct slice value)
{
    static const struct object_list how = {
        .what = "queues", .size = sizeof(struct slice), .max = ASK_MAX, .read = read_name};
    struct filter_ask *x = r->to;

    (void)f;
    return object_read_list(r, &how, value, &x->queues, &x->n_queues);
}

static const struct field ask_fields[] = {
    FIELD_CUSTOM("queues", read_queues, .null = true,
                 .schema = "{'type':'array','items':{'type':'string'}}",
                 .help = "Queues whose filters the worker runs."),
    FIELD_CUSTOM("verdicts", read_verdicts, .null = true,
                 .schema = "{'type':'array','items':{'$ref':'#/components/schemas/FilterVerdict'}}",
                 .help = "On jobs that it was given."),
    FIELD_INT("max", filter_ask, max, .null = true, .max = ASK_MAX, .help = "Maximum jobs."),
    FIELD_LENGTH("wait", filter_ask, wait_us, .null = true, .max = WAIT_MAX_US,
                 .help = "How long to wait when no job waits for a filter."),
};

const struct object ask_object = {.what = "the body",
                                  .schema = "FilterAsk",
                                  OBJECT_FIELDS(ask_fields)};

enum err_code parse_filter(struct slice text, struct arena *arena, struct filter_ask *ret_ask,
                           struct err *err)
{
    struct filter_ask x = {.max = 0};
    struct object_read r = {.to = &x, .arena = arena, .err = err};
    struct slice value;

    if (jtext_check(text, &value, err) != E_OK || object_read(&r, &ask_object, value) != E_OK)
        return err->code;
    *ret_ask = x;
    return E_OK;
}
