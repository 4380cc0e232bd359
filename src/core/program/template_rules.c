/* SPDX-License-Identifier: MIT */
#include "core/program/template_rules.h"

#include <string.h>

#include "base/compiler.h"

#define CHECK_FIRST ": check it, put it into a variable, and use that"

static const char in_eval[] =
    "what a command evaluates as code: use a list, or pass it to a script as an argument";
const char rule_in_remote[] =
    "a command that a shell on the other side runs, where it would be code: send it on standard "
    "input, printf '%s' {x} | ssh HOST 'x=$(cat); …'";
static const char in_joined[] =
    "words that are joined and run by a shell, where it would be code: name a script there, and "
    "pass the value in a variable of the environment";
const char rule_in_arithmetic[] =
    "arithmetic, where a shell may run what is in a value" CHECK_FIRST;
const char rule_in_variable_name[] =
    "the name of a variable, which a shell evaluates: name it in the script";
const char rule_in_variable[] =
    "a value that the shell evaluates for this variable: use another variable";
const char rule_in_code[] = "a script of its own, where it would be code: pass it as an "
                            "argument behind the script and read it as \"$1\" there";
const char rule_in_file[] =
    "what a shell runs as a script: name that file in the command, or write -- before it";
const char rule_in_option[] =
    "a word that may be an option with code, such as -c: write -- before it";
const char rule_in_print[] =
    "what the script prints, and a shell in it runs its standard input: give that shell a file, or "
    "-c and a script, and the value as an argument";

static const struct shell_rule rules[] = {
    {"if", RULE_OPENS, .where = NULL},
    {"then", RULE_OPENS, .where = NULL},
    {"elif", RULE_OPENS, .where = NULL},
    {"else", RULE_OPENS, .where = NULL},
    {"do", RULE_OPENS, .where = NULL},
    {"while", RULE_OPENS, .where = NULL},
    {"until", RULE_OPENS, .where = NULL},
    {"{", RULE_OPENS, .where = NULL},
    {"!", RULE_OPENS, .where = NULL},
    {"coproc", RULE_OPENS, .where = NULL},
    {"eval", RULE_ALL, .where = in_eval},
    {"trap", RULE_ALL, .where = in_eval},
    {"alias", RULE_ALL, .where = in_eval},
    {"compgen", RULE_ALL, .where = in_eval},
    {"complete", RULE_ALL, .where = in_eval},
    {"bind", RULE_ALL, .where = in_eval},
    {"fc", RULE_ALL, .where = in_eval},
    {"let", RULE_ALL, .where = rule_in_arithmetic},
    {"unset", RULE_ALL, .where = rule_in_variable_name},
    {"mapfile", RULE_ALL, .where = rule_in_variable_name},
    {"readarray", RULE_ALL, .where = rule_in_variable_name},
    {"echo", RULE_PRINTS, .where = NULL},
    {"printf", RULE_PRINTF, .where = rule_in_variable_name},
    {"[", RULE_TEST, .where = rule_in_variable_name},
    {"test", RULE_TEST, .where = rule_in_variable_name},
    {"[[", RULE_DOUBLE, .where = rule_in_variable_name},
    {"declare", RULE_DECLARE, .where = rule_in_variable},
    {"typeset", RULE_DECLARE, .where = rule_in_variable},
    {"local", RULE_DECLARE, .where = rule_in_variable},
    {"export", RULE_EXPORT, .where = rule_in_variable_name},
    {"readonly", RULE_EXPORT, .where = rule_in_variable_name},
    {"read", RULE_READ, .where = rule_in_variable_name},
    {"getopts", RULE_GETOPTS, .where = rule_in_variable_name},
    {".", RULE_SOURCE, .where = rule_in_file},
    {"source", RULE_SOURCE, .where = rule_in_file},
    {"case", RULE_CASE, .where = NULL},
    {"for", RULE_FOR, .where = NULL},
    {"select", RULE_FOR, .where = NULL},
    {"function", RULE_FUNCTION, .where = NULL},

    {"command", RULE_WRAPS, .where = NULL},
    {"builtin", RULE_WRAPS, .where = NULL},
    {"exec", RULE_WRAPS, .values = "a"},
    {"time", RULE_WRAPS, .values = "fo"},
    {"env", RULE_WRAPS, .where = in_joined, .values = "uC", .splits = 'S'},
    {"sudo", RULE_WRAPS, .values = "CDghpRrTtUu", .shells = "is"},
    {"doas", RULE_WRAPS, .values = "Cu", .shells = "s"},
    {"nohup", RULE_WRAPS, .where = NULL},
    {"nice", RULE_WRAPS, .values = "n"},
    {"ionice", RULE_WRAPS, .values = "cnpPu"},
    {"setsid", RULE_WRAPS, .where = NULL},
    {"setpriv", RULE_WRAPS, .where = NULL},
    {"stdbuf", RULE_WRAPS, .values = "ioe"},
    {"strace", RULE_WRAPS, .values = "abeIoOpPsSuUX"},
    {"busybox", RULE_WRAPS, .where = NULL},
    {"timeout", RULE_WRAPS, .values = "ks", .operands = 1},
    {"chronic", RULE_WRAPS, .where = NULL},
    {"chrt", RULE_WRAPS, .values = "TPD", .operands = 1},
    {"taskset", RULE_WRAPS, .operands = 1},
    {"chroot", RULE_WRAPS, .operands = 1},
    {"flock", RULE_WRAPS, .where = rule_in_code, .values = "wE", .operands = 1},
    {"xargs", RULE_WRAPS, .values = "adEILnPs"},
    {"docker", RULE_RUNS, .where = NULL},
    {"podman", RULE_RUNS, .where = NULL},
    {"nerdctl", RULE_RUNS, .where = NULL},
    {"kubectl", RULE_RUNS, .where = NULL},
    {"lxc", RULE_RUNS, .where = NULL},
    {"nsenter", RULE_RUNS, .where = NULL},
    {"unshare", RULE_RUNS, .where = NULL},
    {"systemd-run", RULE_RUNS, .where = NULL},
    {"ssh", RULE_JOINS, .where = rule_in_remote, .values = "BbcDEeFIiJLlmOoPpQRSWw", .operands = 1,
     .execs = 'N'},
    {"sg", RULE_JOINS, .where = rule_in_code, .operands = 1},
    {"watch", RULE_JOINS, .where = in_joined, .values = "nq", .execs = 'x'},
    {"parallel", RULE_JOINS, .where = in_joined, .values = "aCdEIjLNnPSsU"},
    {"sh", RULE_SHELL, .where = rule_in_code},
    {"bash", RULE_SHELL, .where = rule_in_code},
    {"rbash", RULE_SHELL, .where = rule_in_code},
    {"dash", RULE_SHELL, .where = rule_in_code},
    {"ash", RULE_SHELL, .where = rule_in_code},
    {"ksh", RULE_SHELL, .where = rule_in_code},
    {"mksh", RULE_SHELL, .where = rule_in_code},
    {"zsh", RULE_SHELL, .where = rule_in_code},
    {"yash", RULE_SHELL, .where = rule_in_code},
    {"fish", RULE_SHELL, .where = rule_in_code},
    {"csh", RULE_SHELL, .where = rule_in_code},
    {"tcsh", RULE_SHELL, .where = rule_in_code},
    {"su", RULE_SU, .where = rule_in_code, .values = "gGsTuw"},
    {"runuser", RULE_SU, .where = rule_in_code, .values = "gGsTuw"},
    {"script", RULE_SU, .where = rule_in_code, .values = "BEIOTmo"},
    {"at", RULE_INPUT, .where = NULL},
    {"batch", RULE_INPUT, .where = NULL},
    {"crontab", RULE_INPUT, .where = NULL},
    {"wc", RULE_SUMS, .where = NULL},
    {"cksum", RULE_SUMS, .where = NULL},
    {"md5sum", RULE_SUMS, .where = NULL},
    {"sha1sum", RULE_SUMS, .where = NULL},
    {"sha256sum", RULE_SUMS, .where = NULL},
    {"sha512sum", RULE_SUMS, .where = NULL},
};

static const struct shell_rule other_command = {.kind = RULE_NONE};

static const char *const evaluated[] = {"PS4",     "ENV",     "BASH_ENV", "PROMPT_COMMAND",
                                        "RANDOM",  "SRANDOM", "OPTIND",   "SECONDS",
                                        "HISTCMD", "LINENO"};

static const char *const long_with_value[] = {
    "--user",
    "--group",
    "--chdir",
    "--chroot",
    "--host",
    "--prompt",
    "--signal",
    "--wait",
    "--kill-after",
    "--timeout",
    "--unset",
    "--adjustment",
    "--shell",
    "--interval",
    "--output",
    "--max-args",
    "--max-procs",
    "--arg-file",
    "--delimiter",
    "--jobs",
    "--error",
    "--input",
    "--conflict-exit-code",
    "--whitelist-environment",
    "--supp-group",
};

const struct shell_rule *rule_find(const char *word, bool exec)
{
    const char *slash = strrchr(word, '/');
    const char *base = slash != NULL ? slash + 1 : word;

    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        bool program = rules[i].kind >= RULE_WRAPS;

        if ((program || !exec) && strcmp(rules[i].word, program ? base : word) == 0)
            return &rules[i];
    }
    return &other_command;
}

bool rule_evaluates_variable(const char *name, size_t size)
{
    for (size_t i = 0; i < ARRAY_LEN(evaluated); i++)
        if (strlen(evaluated[i]) == size && memcmp(name, evaluated[i], size) == 0)
            return true;
    return false;
}

bool rule_long_option_has_value(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(long_with_value); i++)
        if (strcmp(word, long_with_value[i]) == 0)
            return true;
    return false;
}
