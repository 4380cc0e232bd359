/* SPDX-License-Identifier: MIT */
#include "core/submit/content_hash.h"

#include "base/jtext/jtext.h"

uint64_t content_without_redo(struct slice object)
{
    const char *end = object.data + object.size;
    const char *cut = NULL; /* start of what is left out */
    const char *on = NULL;  /* its end */
    const char *before = NULL;
    struct slice key;
    struct slice value;

    for (struct jtext_iter it = jtext_members(object); jtext_next_member(&it, &key, &value);) {
        if (jtext_key_is(key, "redo")) {
            cut = before != NULL ? before : key.data;
            on = value.data + value.size;
            continue;
        }
        if (cut != NULL && before == NULL)
            on = key.data; /* it is the first member: leaves out the comma after it */
        before = value.data + value.size;
    }
    if (cut == NULL)
        return slice_hash(object);
    return slice_hash_more(slice_hash(slice_make(object.data, (size_t)(cut - object.data))),
                           slice_make(on, (size_t)(end - on)));
}
