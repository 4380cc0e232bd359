/*
 * The commands: one function a verb, named in the table of commands.c.
 *
 * Each is called with a parsed line, prints its output and returns the exit status.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

struct cli;

int cmd_add(struct cli *cli);
int cmd_list(struct cli *cli);
int cmd_show(struct cli *cli);
int cmd_log(struct cli *cli);
int cmd_wait(struct cli *cli);
int cmd_act(struct cli *cli); /* cancel retry hold release clone now move rm */
int cmd_edit(struct cli *cli);
int cmd_apply(struct cli *cli);
int cmd_serve(struct cli *cli);
int cmd_worker(struct cli *cli);
int cmd_status(struct cli *cli);
int cmd_top(struct cli *cli);
int cmd_check(struct cli *cli);
int cmd_backup(struct cli *cli);
int cmd_prune(struct cli *cli);
int cmd_store_copy(struct cli *cli);
int cmd_bench(struct cli *cli);
int cmd_progress(struct cli *cli);
int cmd_emit(struct cli *cli);
int cmd_set(struct cli *cli);
int cmd_step(struct cli *cli);
int cmd_raise(struct cli *cli);
int cmd_end_word(struct cli *cli); /* done fail */
int cmd_resend(struct cli *cli);
int cmd_busy(struct cli *cli);
int cmd_use(struct cli *cli);
int cmd_completion(struct cli *cli);
int cmd_each(struct cli *cli);
int cmd_run(struct cli *cli);
int cmd_help(struct cli *cli);
int cmd_version(struct cli *cli);
