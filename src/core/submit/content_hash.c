/* SPDX-License-Identifier: MIT */
#include "core/submit/content_hash.h"

#include "base/jtext/jtext.h"

/* FNV-1a */
static uint64_t hash_more(uint64_t hash, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)data[i]) * UINT64_C(0x100000001b3);
    return hash;
}

#define HASH_INIT UINT64_C(0xcbf29ce484222325)

uint64_t content_hash(struct slice bytes)
{
    return hash_more(HASH_INIT, bytes.data, bytes.size);
}

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
        return content_hash(object);
    return hash_more(hash_more(HASH_INIT, object.data, (size_t)(cut - object.data)), on,
                     (size_t)(end - on));
}
