/*
 * The reference model: names, and where ends may lead.
 */
/* SPDX-License-Identifier: MIT */
#include "base/arena.h"
#include "base/buf.h"
#include "base/jtext/jtext.h"
#include "core/route/join_def.h"
#include "model.h"

const char *const model_queue_names[MODEL_QUEUES] = {"alpha", "beta", "gamma", "a queue",
                                                     "default"};
const char *const model_signal_names[MODEL_SIGNALS] = {"red", "green", "dump 7"};
const char *const model_topic_names[MODEL_TOPICS] = {"news",    "late",   "t.one", "t.two",
                                                     "nobody",  "alpha",  "beta",  "gamma",
                                                     "a queue", "default"};
const char *const model_join_names[MODEL_JOINS] = {"pair", "trio"};
const char *const model_join_keys[MODEL_JOIN_KEYS] = {"", "a", "b", "c"};

struct model_list model_lists[MODEL_LISTS] = {
    {.source = "[]"},
    {.source = "[\"default\"]"},
    {.source = "[{\"queue\":\"beta\",\"params\":{\"d\":1}},{\"signal\":\"red\"}]"},
    {.source = "[{\"join\":\"pair\"}]"},
    {.source = "[{\"topic\":\"late\"}]"},
    {.source = "[{\"topic\":\"late\",\"params\":{\"d\":2}},{\"join\":\"trio\"}]"},
    {.source = "[{\"join\":\"trio\"},{\"signal\":\"green\",\"count\":2}]"},
    {.source = "[{\"queue\":\"a queue\",\"params\":{\"d\":3}}]"},
    {.source = "[{\"signal\":\"green\"}]"},
    {.source =
         "[{\"queue\":\"a queue\",\"params\":{\"d\":4}},{\"signal\":\"red\"}]"}, /* of a join */
    {.source = "[\"default\",{\"join\":\"pair\"}]"},                             /* of a join */
    {.source = "[{\"topic\":\"news\"},{\"signal\":\"dump 7\",\"count\":3}]"},
    {.source = "[\"alpha\",{\"queue\":\"gamma\",\"params\":{\"k\":\"c\",\"cause\":0}}]"},
    {.source = "[{\"topic\":\"nobody\"},{\"topic\":\"t.one\"}]"},
    {.source = "[\"gamma\",\"gamma\",{\"join\":\"pair\"},{\"join\":\"pair\"}]"},
    {.source = "[{\"signal\":\"red\",\"count\":2},{\"signal\":\"dump 7\"}]"},
};

/* Queues lead to later ones only, and listen only to what earlier ones publish. */
struct model_queue_link model_queue_links[MODEL_QUEUES][MODEL_LINKS] = {
    {{0}, {.on_success = 2, .on_failure = 4}, {.on_success = 3, .on_failure = 1}},
    {{0}, {.on_success = 3, .on_failure = 15}, {.on_success = 5, .on_failure = 7}},
    {{0},
     {.on_success = 6, .subscribe = "[\"news\",\"t.*\"]"},
     {.on_success = 7, .on_failure = 8, .subscribe = "[\"t.one\"]"}},
    {{0},
     {.on_success = 1, .subscribe = "[\"late\",\"t.*\"]"},
     {.on_success = 15, .subscribe = "[\"news\"]"}},
    {{0},
     {.on_failure = 8, .subscribe = "[\"late\"]"},
     {.on_success = 8, .subscribe = "[\"news\",\"late\"]"}},
};

const int model_join_then[MODEL_JOINS] = {9, 10};

static char join_json[MODEL_JOINS][MODEL_JOIN_COUNT + 1][256];

bool model_list_joins(int list)
{
    for (int i = 0; i < model_lists[list].n_dests; i++)
        if (model_lists[list].dests[i].kind == DEST_JOIN)
            return true;
    return false;
}

int model_named(struct slice name, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (slice_is(name, names[i]))
            return i;
    return -1;
}

NORETURN static void give_up(const char *source, const struct err *err)
{
    fprintf(stderr, "sim: %s: %s\n", source, err->msg);
    exit(2);
}

static int target_of(const struct dest *d)
{
    switch (d->kind) {
    case DEST_QUEUE: return model_named(d->name, model_queue_names, MODEL_QUEUES);
    case DEST_TOPIC: return model_named(d->name, model_topic_names, MODEL_TOPICS);
    case DEST_JOIN: return model_named(d->name, model_join_names, MODEL_JOINS);
    case DEST_SIGNAL: return model_named(d->name, model_signal_names, MODEL_SIGNALS);
    }
    return -1;
}

static void read_list(struct model_list *l)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct err err = ERR_INIT;
    struct dest_list list;
    struct slice json;

    if (dest_list_parse(slice_of(l->source), "list", &arena, &list, NULL, &err) != E_OK ||
        dest_list_canonical(slice_of(l->source), "list", &arena, &json, &err) != E_OK)
        give_up(l->source, &err);
    snprintf(l->json, sizeof(l->json), "%.*s", (int)json.size, json.size == 0 ? "" : json.data);
    for (size_t i = 0; i < list.count; i++) {
        struct model_dest *d = &l->dests[l->n_dests++];

        *d = (struct model_dest){.kind = list.items[i].kind,
                                 .target = target_of(&list.items[i]),
                                 .count = list.items[i].count};
        ASSERT(d->target >= 0);
        if (list.items[i].params.size > 0)
            snprintf(d->params, sizeof(d->params), "%.*s", (int)list.items[i].params.size,
                     list.items[i].params.data);
    }
}

static void read_subscriptions(struct model_queue_link *l)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice item;

    if (l->subscribe == NULL)
        return;
    for (struct jtext_iter it = jtext_items(slice_of(l->subscribe)); jtext_next_item(&it, &item);)
        for (int t = 0; t < MODEL_TOPICS; t++)
            if (topic_matches(jtext_text(item, &arena), slice_of(model_topic_names[t])))
                l->topics |= 1U << t;
}

static void write_join(int join, int count)
{
    CLEANUP(buf) struct buf b = BUF_INIT(sizeof(join_json[0][0]) - 1);
    struct err err = ERR_INIT;
    char source[256];

    snprintf(source, sizeof(source), "{%s\"count\":%d,\"then\":%s}",
             join == 0 ? "\"key\":\"{k}\"," : "", count, model_lists[model_join_then[join]].source);
    if (join_def_canonical(slice_of(source), &b, &err) != E_OK)
        give_up(source, &err);
    snprintf(join_json[join][count], sizeof(join_json[0][0]), "%s", buf_text(&b));
}

const char *model_join_json(int join, int count)
{
    return join_json[join][count];
}

void model_links_init(void)
{
    for (int i = 0; i < MODEL_LISTS; i++)
        read_list(&model_lists[i]);
    for (int q = 0; q < MODEL_QUEUES; q++)
        for (int l = 0; l < MODEL_LINKS; l++)
            read_subscriptions(&model_queue_links[q][l]);
    for (int j = 0; j < MODEL_JOINS; j++)
        for (int n = 2; n <= MODEL_JOIN_COUNT; n++)
            write_join(j, n);
}
