/* SPDX-License-Identifier: MIT */
#include "cli/request/in_job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <sys/file.h>
#include <sys/stat.h>

#include "base/os/file.h"
#include "core/program/word.h"

enum { LINES_FD = 3, ANSWERS_FD = 4 };

static const char *environment(const char *name)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): nobody sets it */

    return value != NULL && *value != '\0' ? value : NULL;
}

static bool is_pipe(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode);
}

enum err_code in_job_open(struct in_job *ret_job, struct err *err)
{
    const char *file = environment("WAYBILL_JOB_FILE");

    if (environment("WAYBILL_ID") == NULL || file == NULL)
        return err_set(err, E_INVALID,
                       "not inside a job: a worker sets WAYBILL_ID and WAYBILL_JOB_FILE for the "
                       "programs it runs");
    if (!is_pipe(LINES_FD) || !is_pipe(ANSWERS_FD))
        return err_set(err, E_INVALID,
                       "descriptors 3 and 4 do not lead to the worker: something between it and "
                       "this command has closed them");
    int fd = open(file, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return err_errno(err, E_INVALID, "open the job's file %s", file);
    ret_job->lock_fd = fd;
    return E_OK;
}

void in_job_close(struct in_job *j)
{
    close(j->lock_fd);
    j->lock_fd = -1;
}

static enum err_code nobody_listens(struct err *err)
{
    return err_set(err, E_UNAVAILABLE, "the worker does not listen any more: the job has ended");
}

static enum err_code send_line(struct slice line, struct err *err)
{
    CLEANUP(buf) struct buf whole = BUF_INIT(WORD_LINE_MAX + 1);

    buf_add_slice(&whole, line);
    buf_add_char(&whole, '\n');
    if (whole.overflowed)
        return err_set(err, E_INVALID, "the line is longer than %zu KiB", WORD_LINE_MAX >> 10);
    if (file_write_all(LINES_FD, buf_slice(&whole)))
        return E_OK;
    return errno == EPIPE ? nobody_listens(err)
                          : err_errno(err, E_UNAVAILABLE, "write to the worker");
}

/* Unread old replies would be taken for ours, or fill the pipe. */
static void drop_old_answers(void)
{
    struct pollfd answers = {.fd = ANSWERS_FD, .events = POLLIN};
    char old[4096];

    while (poll(&answers, 1, 0) == 1 && (answers.revents & POLLIN) != 0) {
        if (read(ANSWERS_FD, old, sizeof(old)) <= 0)
            return;
    }
}

/* Byte by byte: what follows the line belongs to another process. */
static enum err_code read_answer(struct buf *answer, struct err *err)
{
    for (;;) {
        char c = 0;
        ssize_t n = read(ANSWERS_FD, &c, 1);

        if (n == 0)
            return nobody_listens(err);
        if (n < 0 && errno != EINTR)
            return err_errno(err, E_UNAVAILABLE, "read the worker's answer");
        if (n == 1 && c == '\n')
            return E_OK;
        if (n == 1)
            buf_add_char(answer, c);
    }
}

/* Removes the first word, which must be `ok`. */
static enum err_code judge(struct buf *answer, struct err *err)
{
    size_t word = strcspn(buf_text(answer), " ");
    size_t rest = buf_text(answer)[word] == ' ' ? word + 1 : word;

    if (!slice_is(slice_make(buf_text(answer), word), "ok"))
        return err_set(err, E_CONFLICT, "the worker refuses it: %s", buf_text(answer) + rest);
    answer->size -= rest;
    memmove(answer->data, answer->data + rest, answer->size + 1);
    return E_OK;
}

static enum err_code say(struct slice line, bool answered, struct buf *answer, struct err *err)
{
    buf_clear(answer);
    if (answered)
        drop_old_answers();
    if (send_line(line, err) != E_OK)
        return err->code;
    if (!answered)
        return E_OK;
    return read_answer(answer, err) == E_OK ? judge(answer, err) : err->code;
}

enum err_code in_job_say(struct in_job *j, struct slice line, struct buf *answer, struct err *err)
{
    CLEANUP(arena) struct arena arena = ARENA_INIT;
    struct slice rest;
    struct word word;

    if (word_parse(line, &arena, &word, err) != E_OK)
        return err->code;
    const struct word_spec *spec = word_find(line, &rest);

    ASSERT(spec != NULL);
    while (flock(j->lock_fd, LOCK_EX) < 0) {
        if (errno != EINTR)
            return err_errno(err, E_UNAVAILABLE, "lock the job's file");
    }
    enum err_code code = say(line, spec->reply != WORD_REPLY_NONE, answer, err);

    (void)flock(j->lock_fd, LOCK_UN);
    return code;
}
