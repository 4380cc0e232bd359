/*
 * Emptying a directory that a program has filled.
 *
 * Links are removed, not followed; mounts are not entered; missing permissions are granted.  A tree
 * of any depth needs three descriptors: deep directories are moved up to the top and emptied there.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

enum empty_dir_result {
    EMPTY_DIR_DONE,
    EMPTY_DIR_MORE,  /* the budget is spent: call again */
    EMPTY_DIR_STUCK, /* the rest cannot be removed */
};

/* Removes up to *budget entries and decrements *budget for each. */
enum empty_dir_result empty_dir(int dir_fd, unsigned *budget);

/* True when the directory has no entries.  Changes the position of the descriptor. */
int dir_is_empty(int dir_fd);

/* Gives the owner of a directory all permissions; anything else is left alone. */
void dir_permit_owner(int dir_fd, const char *name);
