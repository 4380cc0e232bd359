/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os/log.h"
#include "cli/cmd/cmd.h"
#include "cli/request/job_names.h"
#include "cli/request/program_find.h"
#include "cli/table/help.h"

#define ERROR_MAX 2048

int cli_exit_status(enum err_code code)
{
    switch (code) {
    case E_OK: return CLI_OK;
    case E_NOT_FOUND: return CLI_NOT_FOUND;
    case E_BAD_REQUEST:
    case E_UNAUTHORIZED:
    case E_FORBIDDEN:
    case E_METHOD:
    case E_CONFLICT:
    case E_STALE_LEASE:
    case E_PRECONDITION:
    case E_TOO_LARGE:
    case E_UNSUPPORTED:
    case E_RANGE:
    case E_INVALID:
    case E_TOO_MANY: return CLI_REFUSED;
    case E_INTERNAL:
    case E_UNAVAILABLE:
    case E_QUEUE_DOWN:
    case E_TOO_SLOW:
    case E_FULL: return CLI_NO_SERVER;
    case ERR_CODE_COUNT: break;
    }
    ASSERT(!"an error code without exit status");
    return CLI_FAILED;
}

/* Prints one line, whatever the quoted values contain. */
static void print_error(const char *text)
{
    CLEANUP(buf) struct buf clean = BUF_INIT(ERROR_MAX * 4);

    clean_text(&clean, slice_of(text));
    fprintf(stderr, "waybill: %s\n", buf_text(&clean));
}

/* The server speaks of headers; here the token comes from the environment. */
static void hint_at_token(bool refused)
{
    const char *token = getenv("WAYBILL_TOKEN"); /* NOLINT(concurrency-mt-unsafe): nobody sets it */

    if (refused && token != NULL && *token != '\0')
        fprintf(stderr, "the token in WAYBILL_TOKEN is wrong: set it to the one in the server's "
                        "--token-file, or unset it\n");
    else
        fprintf(stderr, "try it on the server's machine, or set WAYBILL_TOKEN to the token in the "
                        "server's --token-file\n");
}

int cli_fail(const struct cli *cli, const struct err *err)
{
    fflush(stdout);
    print_error(err->msg);
    if ((err->code == E_FORBIDDEN || err->code == E_UNAUTHORIZED) && cli->client != NULL &&
        !client_is_local(cli->client))
        hint_at_token(err->code == E_UNAUTHORIZED);
    if (cli->misconfigured)
        return CLI_USAGE;
    return err->unknown_queue ? CLI_NOT_FOUND : cli_exit_status(err->code);
}

int cli_usage(const struct cli *cli, const char *fmt, ...)
{
    const struct args *a = &cli->args;
    char text[ERROR_MAX];
    va_list args;

    fflush(stdout);
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    print_error(text);
    if (a->command == NULL)
        fprintf(stderr, "try 'waybill help'\n");
    else
        fprintf(stderr, "try 'waybill %s%s%s --help'\n", a->parent != NULL ? a->parent->name : "",
                a->parent != NULL ? " " : "", a->command->name);
    return CLI_USAGE;
}

void cli_hint_program(const struct cli *cli)
{
    const struct args *a = &cli->args;
    const char *word = a->words.count > 0 ? a->words.items[0] : NULL;

    if (word == NULL || !a->command->takes_program || a->program.count > 0)
        return;
    /* A whole line of a shell in quotes. */
    CLEANUP(buf) struct buf first = BUF_INIT(PATH_MAX);
    size_t size = strcspn(word, " ");

    buf_add(&first, word, size);
    if (word[size] == ' ' && size > 0 && !first.overflowed && program_fault(buf_text(&first)) == 0)
        fprintf(stderr,
                "no shell reads the command: without the quotes, waybill %s -- %s, or with a "
                "shell, waybill %s -- sh -c …\n",
                a->command->name, word, a->command->name);
    if (program_fault(word) != 0)
        return;
    fprintf(stderr, "to run the program '%s': waybill %s -- %s …\n", word, a->command->name, word);
}

/* Options that only some commands have. */
static bool knows(const struct args *a, const char *option)
{
    const struct option_spec *o = NULL;

    for (unsigned i = 0; (o = command_next_option(a->command, &i)) != NULL;)
        if (strcmp(o->name, option) == 0)
            return true;
    return false;
}

static const char *text_if_known(const struct args *a, const char *option)
{
    return knows(a, option) ? args_text(a, option) : NULL;
}

struct client_config cli_client_config(const struct cli *cli)
{
    return (struct client_config){
        .url = text_if_known(&cli->args, "url"),
        .data_dir = text_if_known(&cli->args, "data"),
        .insecure = knows(&cli->args, "insecure") && args_has(&cli->args, "insecure"),
    };
}

enum err_code cli_client(struct cli *cli, struct client **ret_client, struct err *err)
{
    const struct client_config config = cli_client_config(cli);

    if (cli->client == NULL && client_open(&config, &cli->client, err) != E_OK) {
        cli->misconfigured = err->code == E_INVALID;
        return err->code;
    }
    *ret_client = cli->client;
    return E_OK;
}

enum err_code cli_call(struct cli *cli, const struct client_request *request,
                       struct client_reply *reply, struct err *err)
{
    struct client *client = NULL;
    struct client_request r = *request;

    if (r.patience_s == 0 && strstr(r.path, "wait=") == NULL)
        r.patience_s = CLI_PATIENCE_S;
    if (cli_client(cli, &client, err) != E_OK || client_call(client, &r, reply, err) != E_OK)
        return err->code;
    if (reply->json == NULL && request->on_data == NULL)
        return err_set(err, E_INTERNAL, "%s does not answer with JSON: is it a waybill server?",
                       client_server(client));
    return E_OK;
}

enum err_code cli_get(struct cli *cli, const char *path, struct client_reply *reply,
                      struct err *err)
{
    return cli_call(cli, &(struct client_request){.path = path}, reply, err);
}

static enum log_level level_of(const char *name)
{
    static const struct {
        const char *name;
        enum log_level level;
    } levels[] = {
        {.name = "error", .level = LOG_LEVEL_ERROR},
        {.name = "warn", .level = LOG_LEVEL_WARN},
        {.name = "info", .level = LOG_LEVEL_INFO},
        {.name = "debug", .level = LOG_LEVEL_DEBUG},
    };
    size_t i = 0;

    while (name != NULL && strcmp(levels[i].name, name) != 0) {
        i++;
        ASSERT(i < ARRAY_LEN(levels));
    }
    return name != NULL ? levels[i].level : LOG_LEVEL_INFO;
}

int cli_cores(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

void cli_set_log_level(const struct args *a)
{
    log_set_level(level_of(args_text(a, "log-level")));
}

static bool reader_is_gone(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

/* Nothing is done until the output is out: a full disk must not look like success. */
static int flush_output(int status)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    int cause = errno;

    if (status != CLI_OK)
        return status;
    if (cause == EPIPE || reader_is_gone())
        return 128 + SIGPIPE;
    fprintf(stderr, "waybill: cannot write the output%s%s\n", cause != 0 ? ": " : "",
            cause != 0 ? strerror(cause) : "");
    return CLI_FAILED;
}

static int run(struct cli *cli, struct outputs *outputs)
{
    if (cli->args.wants_help) {
        help_command(stdout, cli->args.parent, cli->args.command, cli->screen.width);
        return CLI_OK;
    }
    cli->json = args_has(&cli->args, "json");
    outputs_open(outputs, cli->json ? OUTPUTS_JSON : OUTPUTS_TEXT);
    if (!cli->json)
        cli->outputs = outputs;
    int status = job_names_resolve(cli);

    return status != CLI_OK ? status : cli->args.command->run(cli);
}

/* `waybill`, `waybill --help`, `waybill --version`: lines without a verb. */
static bool run_without_verb(int argc, char **argv, int width, int *ret_status)
{
    if (argc < 2) {
        help_overview(stderr, width);
        *ret_status = CLI_USAGE;
        return true;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help_overview(stdout, width);
        *ret_status = CLI_OK;
        return true;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("waybill " WAYBILL_VERSION);
        *ret_status = CLI_OK;
        return true;
    }
    return false;
}

static int misread(const struct cli *cli, const struct err *err, int argc, char **argv)
{
    const struct command *c = cli->args.command;
    int status = cli_usage(cli, "%s", err->msg);

    if (c == NULL)
        return status;
    /* Words of other tools, up to the words of the program. */
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *advice = command_foreign(c, argv[i], i + 1 < argc ? argv[i + 1] : NULL);

        if (advice != NULL)
            fprintf(stderr, "%s\n", advice);
    }
    cli_hint_program(cli);
    return status;
}

int cli_main(int argc, char **argv)
{
    struct cli cli = {.client = NULL, .arena = ARENA_INIT};
    struct outputs outputs = {.before_out = NULL};
    struct err err = ERR_INIT;
    int status = CLI_OK;

    signal(SIGPIPE, SIG_IGN); /* a closed output is seen where it is written */
    screen_init(&cli.screen);
    if (run_without_verb(argc, argv, cli.screen.width, &status))
        return flush_output(status);
    if (args_parse(&cli.args, commands, argc - 1, (const char *const *)argv + 1, &err) == E_OK)
        status = run(&cli, &outputs);
    else
        status = misread(&cli, &err, argc, argv);
    client_close(cli.client);
    args_deinit(&cli.args);
    arena_deinit(&cli.arena);
    status = flush_output(status);
    if (outputs.before_out != NULL)
        outputs_close(&outputs);
    return status;
}
