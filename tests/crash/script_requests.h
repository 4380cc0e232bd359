/*
 * The requests of the script, one function each: for script.c alone.
 *
 * Jobs and leases are those that earlier steps were answered with, in the order they came.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "engine/op.h"
#include "script.h"

/* A request with room for its parts. */
struct request {
    struct op op;
    bool done;
    struct submit_item items[4];
    struct finish_item finish[4];
    struct touch_item touch[4];
    struct claim_queue queues[2];
    struct definition_put puts[2];
};

void request_submit_one(struct script *s, struct request *r);
void request_submit_key(struct script *s, struct request *r);
void request_submit_clash(struct script *s, struct request *r);
void request_submit_array(struct script *s, struct request *r);
void request_submit_bad_array(struct script *s, struct request *r);
void request_submit_lines(struct script *s, struct request *r);
void request_claim_three(struct script *s, struct request *r);
void request_claim_two(struct script *s, struct request *r);
void request_claim_for_long(struct script *s, struct request *r);
void request_touch_all(struct script *s, struct request *r);
void request_finish_done(struct script *s, struct request *r);
void request_finish_failed(struct script *s, struct request *r);
void request_finish_later(struct script *s, struct request *r);
void request_finish_returned(struct script *s, struct request *r);
void request_finish_cancelled(struct script *s, struct request *r);
void request_exchange_all(struct script *s, struct request *r);
void request_finish_plain(struct script *s, struct request *r);
void request_emit(struct script *s, struct request *r);
void request_emit_visible(struct script *s, struct request *r);
void request_emit_cursor(struct script *s, struct request *r);
void request_emit_after_cursor(struct script *s, struct request *r);
void request_emit_next_cursor(struct script *s, struct request *r);
void request_emit_third(struct script *s, struct request *r);
void request_emit_more(struct script *s, struct request *r);
void request_finish_emitter_failed(struct script *s, struct request *r);
void request_finish_emitter_done(struct script *s, struct request *r);
void request_log_text(struct script *s, struct request *r);
void request_log_more(struct script *s, struct request *r);
void request_cancel_running(struct script *s, struct request *r);
void request_hold(struct script *s, struct request *r);
void request_patch(struct script *s, struct request *r);
void request_start_now(struct script *s, struct request *r);
void request_release(struct script *s, struct request *r);
void request_move(struct script *s, struct request *r);
void request_clone(struct script *s, struct request *r);
void request_cancel_clone(struct script *s, struct request *r);
void request_retry(struct script *s, struct request *r);
void request_delete_clone(struct script *s, struct request *r);
void request_bulk_hold(struct script *s, struct request *r);
void request_bulk_release(struct script *s, struct request *r);
void request_bulk_delete(struct script *s, struct request *r);
void request_put_queues(struct script *s, struct request *r);
void request_put_passing_queue(struct script *s, struct request *r);
void request_prune_queues(struct script *s, struct request *r);
void request_queue_restart(struct script *s, struct request *r);
void request_queue_pause(struct script *s, struct request *r);
void request_queue_drain(struct script *s, struct request *r);
void request_queue_up(struct script *s, struct request *r);
