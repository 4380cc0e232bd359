/* SPDX-License-Identifier: MIT */
#include "core/object/unknown_key.h"

#include "base/buf.h"
#include "base/text/nearest.h"
#include "core/object/quote.h"

enum { SHOWN_MAX = 1000 };

enum err_code unknown_key(struct slice name, const char *const *words, size_t n, size_t n_shown,
                          struct err *err)
{
    CLEANUP(buf) struct buf all = BUF_INIT(SHOWN_MAX);
    const char *near = nearest_word(name, words, n);
    struct quote quote;

    quote_text(&quote, name);
    if (near != NULL)
        return err_set(err, E_INVALID, "unknown key %s, did you mean '%s'?", quote.text, near);
    for (size_t i = 0; i < n_shown; i++)
        buf_addf(&all, " %s", words[i]);
    return err_set(err, E_INVALID, "unknown key %s, the keys are:%s", quote.text, buf_text(&all));
}
