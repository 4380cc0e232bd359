/*
 * Force-included into every file of ours: libc calls that cannot be used safely do not compile.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison gets strcpy strcat sprintf vsprintf strtok asctime ctime localtime gmtime
#pragma GCC poison atoi atol atoll atof
