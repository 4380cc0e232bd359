/* SPDX-License-Identifier: MIT */
#include "server/process/orphans.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/vec.h"

struct children {
    VEC(pid_t) all;
};

static void children_cleanup(struct children *c)
{
    VEC_DEINIT(&c->all);
}

/* "PID (NAME) STATE PARENT …": the name may hold anything. */
static pid_t parent_of(const char *pid)
{
    char path[64];
    char text[512];
    long parent = 0;

    snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    const char *end = strrchr(text, ')');

    if (end == NULL || strlen(end) < 5)
        return 0;
    parent = strtol(end + 4, NULL, 10);
    return (pid_t)parent;
}

static void find_children(struct children *c)
{
    DIR *dir = opendir("/proc");

    if (dir == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            parent_of(entry->d_name) == getpid())
            VEC_PUSH(&c->all, (pid_t)strtol(entry->d_name, NULL, 10));
    closedir(dir);
}

void orphans_adopt(struct orphans *o)
{
    CLEANUP(children) struct children c = {VEC_INIT};

    find_children(&c);
    o->adopts = c.all.count == 0 && getpid() != 1 && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

unsigned orphans_end(const struct orphans *o, unsigned *ret_killed)
{
    CLEANUP(children) struct children c = {VEC_INIT};
    unsigned left = 0;

    if (!o->adopts)
        return 0;
    find_children(&c);
    for (size_t i = 0; i < c.all.count; i++) {
        if (waitpid(c.all.items[i], NULL, WNOHANG) == c.all.items[i])
            continue;
        *ret_killed += kill(c.all.items[i], SIGKILL) == 0;
        left++;
    }
    return left;
}
