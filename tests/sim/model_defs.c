/*
 * The reference model: how queues are defined.
 */
/* SPDX-License-Identifier: MIT */
#include "base/buf.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "model.h"

const struct model_def model_defs[MODEL_DEFS] = {
    {.source =
         "{\"own_command\":true,\"keep\":{\"done\":\"20m\",\"failed\":\"40m\",\"log\":\"1M\"}}",
     .first_us = 10 * US_PER_S,
     .cap_us = US_PER_HOUR,
     .factor = 2,
     .jitter = 0.1,
     .keep_done_us = 20 * US_PER_MIN,
     .keep_failed_us = 40 * US_PER_MIN,
     .keep_log = 1 << 20},
    {.source =
         "{\"retry\":{\"max\":3,\"first\":\"5s\",\"factor\":3,\"cap\":\"30s\",\"jitter\":0.5},"
         "\"keep\":{\"done\":\"5m\",\"failed\":\"2h\",\"log\":\"64K\"}}",
     .max = 3,
     .first_us = 5 * US_PER_S,
     .cap_us = 30 * US_PER_S,
     .factor = 3,
     .jitter = 0.5,
     .keep_done_us = 5 * US_PER_MIN,
     .keep_failed_us = 2 * US_PER_HOUR,
     .keep_log = 64 << 10},
    {.source = "{\"retry\":{\"max\":2,\"first\":\"1s\",\"jitter\":0,"
               "\"exits\":{\"64-74\":\"never\",\"75\":\"later\"}},"
               "\"stop_after\":4,\"keep\":{\"done\":\"1h\",\"failed\":\"1h\",\"log\":\"4K\"}}",
     .max = 2,
     .stop_after = 4,
     .first_us = US_PER_S,
     .cap_us = US_PER_HOUR,
     .factor = 2,
     .jitter = 0,
     .exits = true,
     .keep_done_us = US_PER_HOUR,
     .keep_failed_us = US_PER_HOUR,
     .keep_log = 4 << 10},
    {.source = "{\"retry\":{\"max\":100,\"first\":0,\"jitter\":1},"
               "\"keep\":{\"done\":\"1m\",\"failed\":\"10m\",\"log\":\"64K\"}}",
     .max = 100,
     .first_us = 0,
     .cap_us = US_PER_HOUR,
     .factor = 2,
     .jitter = 1,
     .keep_done_us = US_PER_MIN,
     .keep_failed_us = 10 * US_PER_MIN,
     .keep_log = 64 << 10},
    {.source = "{\"own_command\":true}",
     .first_us = 10 * US_PER_S,
     .cap_us = US_PER_HOUR,
     .factor = 2,
     .jitter = 0.1,
     .keep_done_us = 30 * US_PER_DAY,
     .keep_failed_us = 90 * US_PER_DAY,
     .keep_log = 1 << 20},
};

static char def_json[MODEL_QUEUES][MODEL_DEFS][MODEL_LINKS][512];

const char *model_def_json(int queue, int def, int links)
{
    return def_json[queue][def][links];
}

static void write_def(int queue, int def, int links)
{
    char *out = def_json[queue][def][links];
    CLEANUP(buf) struct buf b = BUF_INIT(sizeof(def_json[0][0][0]) - 1);
    CLEANUP(buf) struct buf source = BUF_INIT(1024);
    const struct model_queue_link *l = &model_queue_links[queue][links];
    struct err err = ERR_INIT;

    buf_addf(&source, "%.*s", (int)strlen(model_defs[def].source) - 1, model_defs[def].source);
    if (l->on_success != 0)
        buf_addf(&source, ",\"on_success\":%s", model_lists[l->on_success].source);
    if (l->on_failure != 0)
        buf_addf(&source, ",\"on_failure\":%s", model_lists[l->on_failure].source);
    if (l->subscribe != NULL)
        buf_addf(&source, ",\"subscribe\":%s", l->subscribe);
    buf_add_char(&source, '}');
    if (queue_def_canonical(buf_slice(&source), &b, &err) != E_OK) {
        fprintf(stderr, "sim: definition %d of %s: %s\n", def, model_queue_names[queue], err.msg);
        exit(2);
    }
    snprintf(out, sizeof(def_json[0][0][0]), "%s", buf_text(&b));
}

void model_defs_init(void)
{
    model_links_init();
    for (int q = 0; q < MODEL_QUEUES; q++)
        for (int d = 0; d < MODEL_DEFS; d++)
            for (int l = 0; l < MODEL_LINKS; l++)
                write_def(q, d, l);
}
