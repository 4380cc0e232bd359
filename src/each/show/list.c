/*
 * `each --list`: the runs of this data directory that are not finished.
 *
 * The progress of a run is the number of its printed lines, so no store is opened.
 */
/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/clock.h"
#include "base/os/own_dir.h"
#include "cli/view/command_text.h"
#include "cli/view/reply_json.h"
#include "each/each.h"
#include "each/run.h"
#include "worker/client/url.h"

#define PIECE ((size_t)64 << 10)
#define COMMAND_MAX ((size_t)1 << 20)

struct unfinished {
    json_t *identity; /* of run.json */
    int64_t printed;  /* lines */
    int64_t began_at;
    int64_t last_at; /* when it was last started */
    int holder;      /* its process id; 0: none; below 0: unknown */
};

static int64_t time_of(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * US_PER_S + st->st_mtim.tv_nsec / 1000;
}

static int64_t count_bits(int dir_fd)
{
    static unsigned char piece[PIECE]; /* one thread */
    int fd = openat(dir_fd, EACH_RUN_PRINTED, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int64_t count = 0;

    if (fd < 0)
        return 0;
    for (ssize_t n; (n = read(fd, piece, sizeof(piece))) > 0;)
        for (ssize_t i = 0; i < n; i++)
            count += __builtin_popcount(piece[i]);
    close(fd);
    return count;
}

/* Who runs it: a lock that can be taken has no holder. */
static int holder_of(int lock_fd)
{
    if (flock(lock_fd, LOCK_SH | LOCK_NB) == 0) {
        flock(lock_fd, LOCK_UN);
        return 0;
    }
    return own_dir_holder(lock_fd);
}

static json_t *read_identity(int dir_fd, int64_t *ret_at)
{
    int fd = openat(dir_fd, RUN_DIR_IDENTITY, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;

    if (fd < 0)
        return NULL;
    json_t *identity = fstat(fd, &st) == 0 ? json_loadfd(fd, 0, NULL) : NULL;

    *ret_at = identity != NULL ? time_of(&st) : 0;
    close(fd);
    return identity;
}

/* False: it is finished, or none. */
static bool look_at_run(int dir_fd, struct unfinished *ret)
{
    int lock_fd = openat(dir_fd, RUN_DIR_LOCK, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;
    bool open = lock_fd >= 0 && fstat(lock_fd, &st) == 0 &&
                faccessat(dir_fd, RUN_DIR_STORE, F_OK, AT_SYMLINK_NOFOLLOW) == 0 &&
                faccessat(dir_fd, RUN_DIR_FINISHED, F_OK, AT_SYMLINK_NOFOLLOW) != 0;

    if (open) {
        ret->last_at = time_of(&st);
        ret->holder = holder_of(lock_fd);
        ret->printed = count_bits(dir_fd);
        ret->identity = read_identity(dir_fd, &ret->began_at);
    }
    if (lock_fd >= 0)
        close(lock_fd);
    return open && ret->identity != NULL;
}

/* `--colsep , -N 2 -- `, as they are typed before the command; run.json has the bytes of the
 * separator as hexadecimal digits. */
static void add_options(const json_t *identity, struct buf *out)
{
    CLEANUP(buf) struct buf separator = BUF_INIT(COMMAND_MAX);
    unsigned byte = 0;

    for (const char *at = reply_text(identity, "colsep"); sscanf(at, "%2x", &byte) == 1; at += 2)
        buf_add_char(&separator, (char)byte);
    if (separator.size > 0) {
        buf_add_str(out, "--colsep ");
        command_add_word(out, slice_is(buf_slice(&separator), "\t") ? SLICE("\\t")
                                                                    : buf_slice(&separator));
        buf_add_char(out, ' ');
    }
    if (reply_int(identity, "lines") > 1)
        buf_addf(out, "-N %" PRId64 " ", reply_int(identity, "lines"));
    if (out->size > 0)
        buf_add_str(out, "-- ");
}

static void print_run(const struct unfinished *u, const struct cli *cli, struct table *t)
{
    CLEANUP(buf) struct buf command = BUF_INIT(COMMAND_MAX);
    const json_t *words = json_object_get(u->identity, "command");
    int64_t now_at = clock_wall_us();
    char age[SHORT_TEXT_SIZE];

    if (cli->json) {
        char text[TIME_TEXT_SIZE];

        json_object_set_new(u->identity, "printed", json_integer(u->printed));
        json_object_set_new(u->identity, "began_at", json_string(time_format(u->began_at, text)));
        json_object_set_new(u->identity, "worked_on_at",
                            json_string(time_format(u->last_at, text)));
        json_object_set_new(u->identity, "running", json_boolean(u->holder != 0));
        json_dumpf(u->identity, stdout, JSON_COMPACT);
        putchar('\n');
        return;
    }
    add_options(u->identity, &command);
    command_add_words(&command, words);
    table_add(t, u->holder != 0 ? COLOUR_GREEN : COLOUR_YELLOW,
              u->holder != 0 ? "running" : "interrupted");
    table_addf(t, COLOUR_PLAIN, "%" PRId64, u->printed);
    table_addf(t, COLOUR_PLAIN, "%s ago", age_format(now_at - u->began_at, age));
    table_addf(t, COLOUR_PLAIN, "%s ago", age_format(now_at - u->last_at, age));
    table_add(t, COLOUR_PLAIN, reply_text(u->identity, "directory"));
    table_add(t, COLOUR_PLAIN, buf_text(&command));
}

static size_t list_runs(const struct cli *cli, const char *runs, struct table *t)
{
    DIR *dir = opendir(runs);
    size_t count = 0;

    if (dir == NULL)
        return 0;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct unfinished u = {.identity = NULL};
        int fd = entry->d_name[0] == '.'
                     ? -1
                     : openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd >= 0 && look_at_run(fd, &u)) {
            print_run(&u, cli, t);
            count++;
        }
        json_decref(u.identity);
        if (fd >= 0)
            close(fd);
    }
    closedir(dir);
    return count;
}

int each_list_unfinished(struct cli *cli)
{
    static const struct column columns[] = {
        {.title = "STATE"},
        {.title = "PRINTED", .right = true},
        {.title = "BEGAN", .right = true},
        {.title = "WORKED ON", .right = true},
        {.title = "DIRECTORY"},
        {.title = "COMMAND"},
    };
    CLEANUP(buf) struct buf runs = BUF_INIT(PATH_MAX);
    CLEANUP(mem) char *data_dir = NULL;
    CLEANUP(table) struct table t;
    struct err err = ERR_INIT;

    table_init(&t, columns, ARRAY_LEN(columns));
    if (client_data_dir(NULL, &data_dir, &err) != E_OK)
        return cli_fail(cli, &err);
    buf_addf(&runs, "%s/each", data_dir);
    size_t count = list_runs(cli, buf_text(&runs), &t);

    if (t.cells.count > 0)
        table_print(&t, &cli->screen);
    if (count == 0 && !cli->json)
        fprintf(stderr, "no run is unfinished\n");
    return CLI_OK;
}
