/* SPDX-License-Identifier: MIT */
#include "cli/request/last_job.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os/file.h"

#define FILE_MAX ((size_t)64 << 10)
#define PATH_SIZE_MAX 4096
#define SERVERS_MAX 20

static const char *environment(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): nobody sets it */

    return value != NULL && *value == '/' ? value : NULL;
}

/* False when there is no home. */
static bool find_file(struct buf *path)
{
    const char *state = environment("XDG_STATE_HOME");
    const char *home = environment("HOME");

    if (state == NULL && home == NULL)
        return false;
    if (state != NULL)
        buf_addf(path, "%s/waybill/last-jobs", state);
    else
        buf_addf(path, "%s/.local/state/waybill/last-jobs", home);
    return !path->overflowed;
}

static void read_file(const char *path, struct buf *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)!file_read_all(fd, text); /* what can be read counts */
    (void)close(fd);
}

/* The next line `ID SERVER`, skipping what is none. */
static bool next_line(const char **at, struct slice *ret_id, struct slice *ret_server)
{
    while (**at != '\0') {
        struct slice line = slice_make(*at, strcspn(*at, "\n"));
        int64_t id = 0;

        *at += line.size + ((*at)[line.size] == '\n');
        if (line.size <= ID_TEXT_SIZE || line.data[ID_TEXT_SIZE - 1] != ' ')
            continue;
        *ret_id = slice_make(line.data, ID_TEXT_SIZE - 1);
        *ret_server = slice_make(line.data + ID_TEXT_SIZE, line.size - ID_TEXT_SIZE);
        if (id_parse(*ret_id, &id))
            return true;
    }
    return false;
}

bool last_job_find(const char *server, char ret_id[static ID_TEXT_SIZE])
{
    CLEANUP(buf) struct buf path = BUF_INIT(PATH_SIZE_MAX);
    CLEANUP(buf) struct buf text = BUF_INIT(FILE_MAX);
    struct slice id;
    struct slice of;

    if (!find_file(&path))
        return false;
    read_file(buf_text(&path), &text);
    for (const char *at = buf_text(&text); next_line(&at, &id, &of);) {
        if (!slice_is(of, server))
            continue;
        snprintf(ret_id, ID_TEXT_SIZE, "%.*s", (int)id.size, id.data);
        return true;
    }
    return false;
}

/* A new file replaces the old one: a reader sees either of them complete. */
static void write_file(const char *path, struct slice text)
{
    CLEANUP(buf) struct buf fresh = BUF_INIT(PATH_SIZE_MAX);
    CLEANUP(mem) char *place = mem_strdup(path);

    /* Those on the way to it, for this user alone. */
    for (char *at = strchr(place + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(place, 0700);
        *at = '/';
    }
    buf_addf(&fresh, "%s.%ld", path, (long)getpid());
    FILE *f = fopen(buf_text(&fresh), "we");

    if (f == NULL)
        return;
    bool written = fwrite(text.data, 1, text.size, f) == text.size;

    if (fclose(f) != 0 || !written || rename(buf_text(&fresh), path) != 0)
        (void)unlink(buf_text(&fresh));
}

void last_job_keep(const char *server, const char *id)
{
    CLEANUP(buf) struct buf path = BUF_INIT(PATH_SIZE_MAX);
    CLEANUP(buf) struct buf old = BUF_INIT(FILE_MAX);
    CLEANUP(buf) struct buf fresh = BUF_INIT(FILE_MAX);
    struct slice known;
    struct slice of;
    int lines = 1;

    if (strlen(id) != ID_TEXT_SIZE - 1 || strchr(server, '\n') != NULL || !find_file(&path))
        return;
    read_file(buf_text(&path), &old);
    buf_addf(&fresh, "%s %s\n", id, server);
    for (const char *at = buf_text(&old); lines < SERVERS_MAX && next_line(&at, &known, &of);) {
        if (slice_is(of, server))
            continue;
        buf_addf(&fresh, "%.*s %.*s\n", (int)known.size, known.data, (int)of.size, of.data);
        lines++;
    }
    write_file(buf_text(&path), buf_slice(&fresh));
}
