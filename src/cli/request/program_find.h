/*
 * Whether a word of the line is a program that could be started from here.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

/* 0, or why not: an errno.  A word without a slash is looked for in PATH. */
int program_fault(const char *word);
