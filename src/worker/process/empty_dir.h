/*
 * Emptying a directory that somebody else has filled.
 *
 * Links are removed, not followed; mounts are not entered; what has no permissions is given them.
 * A tree of any depth takes three descriptors: what lies deeper is lifted up to the top and goes in
 * its turn.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

enum empty_dir_result {
    EMPTY_DIR_DONE,
    EMPTY_DIR_MORE,  /* the budget is used up: call again */
    EMPTY_DIR_STUCK, /* what is left cannot be removed */
};

/* Removes up to *budget entries and counts it down. */
enum empty_dir_result empty_dir(int dir_fd, unsigned *budget);

/* The directory has no entries.  Changes the position of the descriptor. */
int dir_is_empty(int dir_fd);

/* Gives a directory the permissions its owner needs, if it is one and can be given them. */
void dir_permit_owner(int dir_fd, const char *name);
