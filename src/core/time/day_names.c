/* SPDX-License-Identifier: MIT */
#include "core/time/day_names.h"

#include <strings.h>

#include "base/compiler.h"
#include "base/text/nearest.h"
#include "core/object/quote.h"

enum { DAYS = 7, MONTHS = 12 };

/* Each short name has its whole name in the second half. */
static const char *const days[] = {"Sun",       "Mon",      "Tue",    "Wed",     "Thu",
                                   "Fri",       "Sat",      "Sunday", "Monday",  "Tuesday",
                                   "Wednesday", "Thursday", "Friday", "Saturday"};
static const char *const months[] = {"Jan",       "Feb",     "Mar",      "Apr",      "May",
                                     "Jun",       "Jul",     "Aug",      "Sep",      "Oct",
                                     "Nov",       "Dec",     "January",  "February", "March",
                                     "April",     "May",     "June",     "July",     "August",
                                     "September", "October", "November", "December"};

struct names {
    const char *what, *shown;
    const char *const *words;
    int count;
};

static enum err_code find(const struct names *names, struct slice text, int *ret, struct err *err)
{
    size_t n = 2 * (size_t)names->count;
    struct quote quote;

    for (size_t i = 0; i < n; i++)
        if (strlen(names->words[i]) == text.size &&
            strncasecmp(names->words[i], text.data, text.size) == 0) {
            *ret = (int)i % names->count;
            return E_OK;
        }
    const char *near = nearest_word(text, names->words, n);

    if (near == NULL)
        return err_set(err, E_INVALID, "%s is not a %s: %s", quote_text(&quote, text), names->what,
                       names->shown);
    return err_set(err, E_INVALID, "%s is not a %s, did you mean '%s'?", quote_text(&quote, text),
                   names->what, near);
}

enum err_code day_name_parse(struct slice text, int *ret_day, struct err *err)
{
    static const struct names names = {"day", "Mon Tue Wed Thu Fri Sat Sun", days, DAYS};

    return find(&names, text, ret_day, err);
}

enum err_code month_name_parse(struct slice text, int *ret_month, struct err *err)
{
    static const struct names names = {"month", "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
                                       months, MONTHS};

    if (find(&names, text, ret_month, err) != E_OK)
        return err->code;
    ++*ret_month;
    return E_OK;
}
