/* SPDX-License-Identifier: MIT */
#include "cli/table/value.h"

#include <errno.h>

#include "base/clock.h"
#include "base/id.h"
#include "base/jtext/jtext.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "cli/request/job_names.h"
#include "cli/table/noun.h"
#include "core/job/state.h"

static enum err_code check_int(const struct value_spec *spec, const char *text, struct err *err)
{
    char *end = NULL;

    errno = 0;
    long long n = strtoll(text, &end, 10);

    if (end == text || *end != '\0' || errno != 0 || n < spec->min || n > spec->max)
        return err_set(err, E_INVALID, "'%s' is not a number from %lld to %lld", text,
                       (long long)spec->min, (long long)spec->max);
    return E_OK;
}

static enum err_code check_duration(const struct value_spec *spec, const char *text,
                                    struct err *err)
{
    int64_t us = 0;

    (void)spec;
    return duration_parse(slice_of(text), &us, err);
}

static enum err_code check_time(const struct value_spec *spec, const char *text, struct err *err)
{
    int64_t at = 0;

    (void)spec;
    return value_time(text, clock_wall_us(), &at, err);
}

static enum err_code check_since(const struct value_spec *spec, const char *text, struct err *err)
{
    int64_t at = 0;

    (void)spec;
    return value_since(text, clock_wall_us(), &at, err);
}

struct value_pair value_pair_of(const struct value_spec *spec, const char *text)
{
    const char *equals = strchr(text, '=');

    if (equals == NULL)
        return (struct value_pair){.is_json = false};
    bool is_json = spec->type == VALUE_PARAM && equals > text && equals[-1] == ':';

    return (struct value_pair){
        .key = slice_make(text, (size_t)(equals - text) - is_json),
        .value = slice_of(equals + 1),
        .is_json = is_json,
    };
}

static enum err_code check_pair(const struct value_spec *spec, const char *text, struct err *err)
{
    struct value_pair pair = value_pair_of(spec, text);
    struct slice value;
    struct err why = ERR_INIT;

    if (pair.key.size == 0)
        return err_set(err, E_INVALID, "'%s' does not have the form %s", text, spec->name);
    if (pair.is_json && jtext_check(pair.value, &value, &why) != E_OK)
        return err_set(err, E_INVALID, "'%.*s' is not JSON: %s", (int)pair.key.size, pair.key.data,
                       why.msg);
    return E_OK;
}

static enum err_code check_states(const struct value_spec *spec, const char *text, struct err *err)
{
    (void)spec;
    for (;;) {
        struct slice word = slice_make(text, strcspn(text, ","));

        if (job_state_parse(word) == JOB_NONE) {
            const char *names[JOB_STATE_COUNT];
            size_t count = 0;

            for (int s = JOB_NONE + 1; s < JOB_STATE_COUNT; s++)
                names[count++] = job_state_name((enum job_state)s);
            const char *near = nearest_word(word, names, count);

            if (near != NULL)
                return err_set(err, E_INVALID, "'%.*s' is not a state of a job; did you mean '%s'?",
                               (int)word.size, word.data, near);
            return err_set(
                err, E_INVALID,
                "'%.*s' is not a state of a job (staged held scheduled ready running done "
                "failed cancelled relayed)",
                (int)word.size, word.data);
        }
        if (text[word.size] == '\0')
            return E_OK;
        text += word.size + 1;
    }
}

static enum err_code check_choice(const struct value_spec *spec, const char *text, struct err *err)
{
    size_t count = 0;

    for (; spec->choices[count] != NULL; count++) {
        if (strcmp(spec->choices[count], text) == 0)
            return E_OK;
    }
    const char *near = nearest_word(slice_of(text), spec->choices, count);

    return err_set(err, E_INVALID, "'%s' is not one of %s%s%s%s", text, spec->name,
                   near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                   near != NULL ? "'?" : "");
}

struct slice value_job(const char *text)
{
    const char *slash = strrchr(text, '/');
    struct slice id = slice_of(slash != NULL ? slash + 1 : text);
    int64_t parsed = 0;

    return id_parse(id, &parsed) ? id : slice_make(NULL, 0);
}

static enum err_code check_job(const struct value_spec *spec, const char *text, struct err *err)
{
    (void)spec;
    if (value_job(text).size > 0 || job_name_is_short(text))
        return E_OK;
    return err_set(err, E_INVALID,
                   "'%s' is not a job's id: 13 letters and digits, or at least the first %d of "
                   "them, or its URL, or " JOB_LAST,
                   text, JOB_PREFIX_MIN);
}

static enum err_code check_noun(const struct value_spec *spec, const char *text, struct err *err)
{
    const struct noun *noun = nouns[spec->noun];

    return noun->check_name != NULL ? noun->check_name(noun->name, slice_of(text), err) : E_OK;
}

static enum err_code check_path(const struct value_spec *spec, const char *text, struct err *err)
{
    (void)spec;
    return *text != '\0' ? E_OK : err_set(err, E_INVALID, "the name of the file is empty");
}

static enum err_code check_nothing(const struct value_spec *spec, const char *text, struct err *err)
{
    (void)spec;
    (void)text;
    (void)err;
    return E_OK;
}

typedef enum err_code check_fn(const struct value_spec *spec, const char *text, struct err *err);

static check_fn *const checks[VALUE_TYPE_COUNT] = {
    [VALUE_NONE] = check_nothing,      [VALUE_TEXT] = check_nothing, [VALUE_INT] = check_int,
    [VALUE_DURATION] = check_duration, [VALUE_TIME] = check_time,    [VALUE_PAIR] = check_pair,
    [VALUE_SINCE] = check_since,       [VALUE_PARAM] = check_pair,   [VALUE_STATES] = check_states,
    [VALUE_CHOICE] = check_choice,     [VALUE_JOB] = check_job,      [VALUE_NOUN] = check_noun,
    [VALUE_VERB] = check_nothing,      [VALUE_FILE] = check_path,    [VALUE_DIR] = check_path,
};

enum err_code value_check(const struct value_spec *spec, const char *text, struct err *err)
{
    bool is_path = spec->type == VALUE_FILE || spec->type == VALUE_DIR;

    if (!is_path && !utf8_valid(slice_of(text)))
        return err_set(err, E_INVALID, "the value is not UTF-8");
    return checks[spec->type](spec, text, err);
}

/* Reads `H:M`, `H:M:S` up to the end of the text. */
static bool read_clock(const char *text, struct tm *tm)
{
    int used = 0;

    tm->tm_sec = 0;
    if (sscanf(text, "%2d:%2d%n", &tm->tm_hour, &tm->tm_min, &used) != 2)
        return false;
    text += used;
    used = 0;
    if (*text == ':' && sscanf(text, ":%2d%n", &tm->tm_sec, &used) == 1)
        text += used;
    return *text == '\0' && tm->tm_hour >= 0 && tm->tm_hour < 24 && tm->tm_min >= 0 &&
           tm->tm_min < 60 && tm->tm_sec >= 0 && tm->tm_sec < 60;
}

static bool read_date(const char **text, struct tm *tm)
{
    int used = 0;
    struct tm want = {.tm_isdst = -1};

    if (sscanf(*text, "%4d-%2d-%2d%n", &want.tm_year, &want.tm_mon, &want.tm_mday, &used) != 3)
        return false;
    want.tm_year -= 1900;
    want.tm_mon -= 1;
    struct tm known = want;

    if (mktime(&known) == -1 || known.tm_mday != want.tm_mday || known.tm_mon != want.tm_mon)
        return false; /* February 30 */
    *text += used;
    *tm = want;
    return true;
}

static bool local_time(const char *text, int64_t now_at, int64_t *ret_at)
{
    time_t now = (time_t)(now_at / US_PER_S);
    struct tm tm;
    time_t at = 0;

    if (read_date(&text, &tm)) {
        if (*text == ' ' || *text == 'T')
            text++;
        if (*text != '\0' && !read_clock(text, &tm))
            return false;
        at = mktime(&tm);
    } else {
        if (localtime_r(&now, &tm) == NULL || !read_clock(text, &tm))
            return false;
        tm.tm_isdst = -1;
        at = mktime(&tm);
        if (at <= now) { /* mktime knows what the day after the 31st is */
            tm.tm_mday++;
            tm.tm_isdst = -1;
            at = mktime(&tm);
        }
    }
    *ret_at = (int64_t)at * US_PER_S;
    return at >= 0;
}

enum err_code value_time(const char *text, int64_t now_at, int64_t *ret_at, struct err *err)
{
    if (local_time(text, now_at, ret_at))
        return E_OK;
    if (time_parse(slice_of(text), ret_at, err) != E_OK)
        return err_set(err, E_INVALID,
                       "'%s' is not a time: 22:00, '2026-12-24 22:00' (local), or "
                       "2026-12-24T22:00:00Z",
                       text);
    return E_OK;
}

enum err_code value_since(const char *text, int64_t now_at, int64_t *ret_at, struct err *err)
{
    struct err why = ERR_INIT;
    int64_t us = 0;

    if (duration_parse(slice_of(text), &us, &why) == E_OK) {
        *ret_at = us < now_at ? now_at - us : 0;
        return E_OK;
    }
    if (value_time(text, now_at, ret_at, &why) != E_OK)
        return err_set(err, E_INVALID,
                       "'%s' is neither a duration like 2h nor a time: 08:00, '2026-12-24 22:00' "
                       "(local), or 2026-12-24T22:00:00Z",
                       text);
    if (*ret_at > now_at && strlen(text) <= strlen("23:59:59")) /* the last 22:00, not the next */
        *ret_at -= US_PER_DAY;
    return E_OK;
}
