/* SPDX-License-Identifier: MIT */
#include "base/jtext/jtext.h"
#include "core/clock/schedule_def.h"
#include "core/gate/lane_def.h"
#include "core/group/choice.h"
#include "core/group/group_def.h"
#include "core/job/state.h"
#include "core/queue/keys.h"
#include "core/route/join_def.h"
#include "core/route/routing.h"
#include "server/parse/emit.h"
#include "server/parse/exchange.h"
#include "server/parse/filter.h"
#include "server/parse/items.h"
#include "server/parse/job_filter.h"
#include "server/parse/log.h"
#include "server/parse/submit.h"
#include "server/request/routes.h"

/* What requests bring is described by the tables that read it: those of routes, and these. */
static const struct object *const parts[] = {
    &job_object,      &step_object,       &record_object, &after_object,    &dest_object,
    &retry_object,    &queue_object,      &join_object,   &schedule_object, &claim_object,
    &finishes_object, &touches_object,    &finish_object, &touch_object,    &log_object,
    &worker_object,   &lane_object,       &emit_object,   &filter_object,   &group_object,
    &finally_object,  &group_open_object, &ask_object,    &answer_object,
};

static void write_names(struct buf *out, const char *name, const char *(*name_of)(unsigned n),
                        unsigned count)
{
    jtext_add_key(out, name);
    buf_add_str(out, "{\"enum\":[");
    for (unsigned n = 1; n < count; n++) {
        jtext_add_comma(out);
        jtext_add_string(out, slice_of(name_of(n)));
    }
    buf_add_str(out, "]}");
}

static const char *code_name(unsigned n)
{
    return err_name((enum err_code)n);
}

static const char *state_name(unsigned n)
{
    return job_state_name((enum job_state)n);
}

static void write_table(struct buf *out, const struct object *table)
{
    jtext_add_key(out, table->schema);
    object_schema(table, out);
}

void schemas_write(struct buf *out)
{
    buf_add_char(out, '{');
    write_names(out, "ErrorCode", code_name, ERR_CODE_COUNT);
    write_names(out, "State", state_name, JOB_STATE_COUNT);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        write_table(out, parts[i]);
    for (size_t i = 0; routes_get(i) != NULL; i++)
        if (routes_get(i)->reads != NULL)
            write_table(out, routes_get(i)->reads);
    buf_add_char(out, ',');
    buf_add_str(out, schemas_json + 1); /* the members of that object, and its end */
}
