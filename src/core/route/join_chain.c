/* SPDX-License-Identifier: MIT */
#include "core/route/join_chain.h"

#include "core/object/quote.h"

struct walk {
    struct join_node *nodes;
    size_t n;
    size_t bad;
    struct err *err;
};

/* The join that a destination leads to, or NULL. */
static struct join_node *find(const struct walk *w, const struct dest *d)
{
    for (size_t i = 0; i < w->n && d->kind == DEST_JOIN; i++)
        if (slice_equal(w->nodes[i].name, d->name))
            return &w->nodes[i];
    return NULL;
}

static void refuse(struct walk *w, const struct join_node *node, const char *fmt)
{
    struct quote quote;

    quote_text(&quote, node->name);
    w->bad = (size_t)(node - w->nodes);
    err_set(w->err, E_INVALID, "join %s %s", quote.text, fmt);
}

/* Length of the longest chain of joins from here; 0 after a refusal. */
static int measure(struct walk *w, struct join_node *node, int above)
{
    int deepest = 0;

    if (node->deep > 0 || w->err->code != E_OK)
        return node->deep;
    if (node->is_under_way)
        refuse(w, node, "leads back to itself by joins alone");
    else if (above >= JOINS_DEEP_MAX)
        refuse(w, node, "is the last of a chain of too many joins");
    if (w->err->code != E_OK)
        return 0;
    node->is_under_way = true;
    for (size_t i = 0; i < node->then->count; i++) {
        struct join_node *next = find(w, &node->then->items[i]);
        int deep = next == NULL ? 0 : measure(w, next, above + 1);

        deepest = deep > deepest ? deep : deepest;
    }
    node->is_under_way = false;
    node->deep = deepest + 1;
    return node->deep;
}

enum err_code join_chain_check(struct join_node *nodes, size_t n, size_t *ret_bad, struct err *err)
{
    struct walk w = {.nodes = nodes, .n = n, .err = err};

    for (size_t i = 0; i < n && err->code == E_OK; i++)
        if (measure(&w, &nodes[i], 0) > JOINS_DEEP_MAX && err->code == E_OK)
            refuse(&w, &nodes[i], "is the first of a chain of too many joins");
    if (err->code != E_OK)
        *ret_bad = w.bad;
    return err->code;
}
