/*
 * The whole content of a store as text, so that two states can be compared.
 *
 * Every table but `meta` (the marks of the process itself) is in it, whatever the schema is; of
 * claims, endings and work only what is still of use.  Ids, tokens and the like are shown by their
 * rank among all of them: an attempt that failed uses some up, and nobody is to notice.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

/* The store in FILE on a VFS; free() it. */
char *dump_store(const char *vfs, const char *file);

/* The first lines in which two dumps differ, for people; free() it. */
char *dump_difference(const char *is, const char *wanted);
