/*
 * Says when it was started: reads the clock first, then writes what it read to the pipe or file
 * that it is given (nanoseconds of CLOCK_MONOTONIC, as text, one line).
 */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct timespec now;
    char line[32];

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (argc != 2)
        return 2;
    int n = snprintf(line, sizeof(line), "%lld\n",
                     (long long)now.tv_sec * 1000000000 + (long long)now.tv_nsec);
    int fd = open(argv[1], O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, line, (size_t)n) == n ? 0 : 1;
}
