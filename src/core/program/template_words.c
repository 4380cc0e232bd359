/* SPDX-License-Identifier: MIT */
#include "core/program/template_words.h"

#include <string.h>

#include "core/program/template_rules.h"
#include "core/program/template_scan.h"

/* ---- words ---- */

static bool is(const struct shell_word *word, const char *text)
{
    return word->begun && strcmp(word->text, text) == 0;
}

static bool is_one_of(const struct shell_word *word, const char *const *texts)
{
    while (*texts != NULL && !is(word, *texts))
        texts++;
    return *texts != NULL;
}

/* The length of the variable's name at the beginning, 0 when there is none. */
static size_t variable_size(const char *text)
{
    size_t size = 0;

    if (*text >= '0' && *text <= '9')
        return 0;
    while (template_is_name_char(text[size]))
        size++;
    return size;
}

/* NAME=, NAME+=, NAME[…]= */
static bool is_assignment(const struct shell_word *word)
{
    size_t size = variable_size(word->text);
    const char *rest = word->text + size;

    if (size == 0)
        return false;
    if (*rest == '[' && strchr(rest, ']') != NULL)
        rest = strchr(rest, ']') + 1;
    return *rest == '=' || (rest[0] == '+' && rest[1] == '=');
}

static bool is_evaluated(const struct shell_word *word)
{
    return rule_evaluates_variable(word->text, variable_size(word->text));
}

/* -c, -ec: an option word with that letter. */
static bool has_option(const struct shell_word *word, char letter)
{
    return word->text[0] == '-' && word->text[1] != '-' && strchr(word->text + 1, letter) != NULL;
}

static bool is_option(const struct shell_word *word)
{
    return (word->text[0] == '-' || word->text[0] == '+') && word->text[1] != '\0';
}

/* How many words behind an option are its values: -o pipefail, -u nobody, --user nobody. */
static size_t count_values(const struct shell_word *word, const char *letters)
{
    const char *letter = word->text + 1;

    if (word->text[0] == '-' && word->text[1] == '-')
        return rule_long_option_has_value(word->text);
    if (letters == NULL)
        return 0;
    letter += strcspn(letter, letters);
    return letter[0] != '\0' && letter[1] == '\0';
}

/* A shell's options stay options when others are attached: -eo pipefail, -oc pipefail CODE. */
static size_t count_shell_values(const struct shell_word *word)
{
    size_t count = 0;

    if (is(word, "--rcfile") || is(word, "--init-file"))
        return 1;
    for (size_t i = 1; i < word->size && word->text[1] != '-'; i++)
        count += word->text[i] == 'o' || word->text[i] == 'O';
    return count;
}

void shell_word_begin(struct shell_words *w)
{
    w->word.begun = true;
}

void shell_word_add(struct shell_words *w, char c)
{
    struct shell_word *word = &w->word;

    word->begun = true;
    if (word->size + 1 < sizeof(word->text))
        word->text[word->size++] = c;
    if (w->replaced[0] == '\0' || word->has_replaced)
        return;
    word->matched = w->replaced[word->matched] == c ? word->matched + 1 : w->replaced[0] == c;
    word->has_replaced = w->replaced[word->matched] == '\0';
}

bool shell_word_takes_subscript(const struct shell_words *w)
{
    const char *text = w->word.text + (w->word.text[0] == '{');
    size_t size = variable_size(text);

    if (w->in_list && !w->word.begun)
        return true;
    return !w->word.named && size > 0 && text[size] == '\0';
}

/* ---- names ---- */

static const struct shell_fault no_fault = {.where = NULL};

static const char *const comparisons[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge", NULL};
static const char *const variable_tests[] = {"-v", "-R", NULL};

/* Whether the word before begins with a name: its value may be an option (-v). */
static bool follows_name(const struct shell_words *w)
{
    return w->before.begun && w->before.name_first;
}

/* read -p PROMPT: an option whose value is no name. */
static bool is_read_option(const struct shell_word *before)
{
    return has_option(before, before->text[before->size > 0 ? before->size - 1 : 0]) &&
           strchr("pditnNu", before->text[before->size - 1]) != NULL;
}

/* Judges a name by the command that its word belongs to. */
static const char *judge_argument(const struct shell_words *w)
{
    bool wrong = false;

    switch (w->rule->kind) {
    case RULE_ALL:
    case RULE_DECLARE: wrong = true; break;
    case RULE_DOUBLE:
        if (is_one_of(&w->before, comparisons))
            return rule_in_arithmetic;
        wrong = is_one_of(&w->before, variable_tests);
        break;
    case RULE_PRINTF: /* -v NAME, -vNAME */
        wrong = (w->args == 1 && (is(&w->before, "-v") || follows_name(w))) ||
                (w->args == 0 && has_option(&w->word, 'v'));
        break;
    case RULE_EXPORT:
        if (w->attributes || is_evaluated(&w->word))
            return rule_in_variable;
        wrong = !is_assignment(&w->word);
        break;
    case RULE_TEST: wrong = is_one_of(&w->before, variable_tests) || follows_name(w); break;
    case RULE_READ: wrong = !is_read_option(&w->before); break;
    case RULE_GETOPTS: wrong = w->args == 1; break;
    case RULE_SOURCE: wrong = w->args == 0; break;
    case RULE_NONE:
    case RULE_OPENS:
    case RULE_PRINTS:
    case RULE_CASE:
    case RULE_FOR:
    case RULE_FUNCTION:
    case RULE_WRAPS:
    case RULE_RUNS:
    case RULE_JOINS:
    case RULE_SHELL:
    case RULE_SU:
    case RULE_INPUT:
    case RULE_SUMS: break;
    }
    return wrong ? w->rule->where : NULL;
}

/* --command CODE of su, script and flock. */
static bool is_code_option(const struct shell_word *word)
{
    static const char *const names[] = {"--command", "--session-command", NULL};

    return has_option(word, 'c') || is_one_of(word, names);
}

static bool has_attached_code(const struct shell_word *word)
{
    return has_option(word, 'c') || strncmp(word->text, "--command=", 10) == 0 ||
           strncmp(word->text, "--session-command=", 18) == 0;
}

/* Judges a name by a shell among the words. */
static const char *judge_shell(const struct shell_words *w)
{
    bool shell = w->shell != NULL && w->shell->kind == RULE_SHELL;
    bool runs = is(&w->before, "--rcfile") || is(&w->before, "--init-file");

    if (w->shell == NULL || w->shell_has_file)
        return NULL;
    if (w->values > 0)
        return shell && runs ? rule_in_file : NULL;
    if (w->code_next)
        return rule_in_code;
    if (w->shell_past_options)
        return NULL;
    if (has_attached_code(&w->word))
        return rule_in_code;
    if (shell)
        return w->shell_leads ? rule_in_file : NULL;
    return w->shell_leads && w->word.size == 0 ? rule_in_option : NULL;
}

/* Judges a name by a `sudo` or `ssh` whose command is not read yet. */
static const char *judge_wrapped(const struct shell_words *w)
{
    if (w->wrap == NULL || w->values > 0)
        return NULL;
    if (w->wrap->splits != '\0' && has_option(&w->word, w->wrap->splits))
        return w->wrap->where;
    if (w->wrap->kind != RULE_JOINS || w->operands > 0 || w->execs || is_option(&w->word))
        return NULL;
    return w->wrap->where;
}

static const char *judge_target(const struct shell_words *w, bool printed)
{
    bool runs_it = w->rule != NULL && w->rule->kind == RULE_SOURCE;

    if (w->shell != NULL && w->shell_leads && !w->shell_has_file)
        runs_it = true;
    return (w->here_string || printed) && (runs_it || w->shell_reads_input) ? rule_in_code : NULL;
}

static const char *judge(const struct shell_words *w, bool printed)
{
    const char *where = NULL;

    if (w->in_list || w->in_pattern)
        return NULL;
    if (w->target)
        return judge_target(w, printed);
    if (w->joined != NULL)
        return w->joined;
    if (w->rule == NULL) {
        bool evaluated = is_assignment(&w->word) && is_evaluated(&w->word);

        where = judge_wrapped(w);
        return where == NULL && evaluated ? rule_in_variable : where;
    }
    where = judge_argument(w);
    return where != NULL ? where : judge_shell(w);
}

struct shell_fault shell_word_name(struct shell_words *w, struct shell_facts *facts,
                                   struct shell_name name, bool printed)
{
    struct shell_fault fault = {.where = judge(w, printed), .name = name};
    bool given = (w->rule == NULL && is_assignment(&w->word)) || w->in_list ||
                 (w->rule != NULL && (w->rule->kind == RULE_FOR || w->rule->kind == RULE_EXPORT)) ||
                 w->here_string;
    /* Whether the command prints the word or passes it on as its input. */
    bool prints = w->target ? w->here_string
                            : w->rule != NULL &&
                                  (w->rule->kind == RULE_PRINTS || w->rule->kind == RULE_PRINTF);

    if (given && facts->assigned.where == NULL)
        facts->assigned = (struct shell_fault){rule_in_variable, name};
    if (prints)
        w->says = (struct shell_fault){rule_in_print, name};
    w->word.name_first = w->word.name_first || w->word.size == 0 || (printed && w->word.size == 1);
    w->word.named = true;
    w->word.begun = true;
    w->word.name = name;
    shell_word_add(w, '$');
    return fault;
}

void shell_prints(struct shell_words *w, struct shell_facts *facts, struct shell_name name)
{
    w->output = (struct shell_fault){rule_in_print, name};
    if (facts->printed.where == NULL)
        facts->printed = w->output;
}

/* ---- the ends of words ---- */

static void start_shell(struct shell_words *w, const struct shell_rule *rule, bool leads)
{
    w->shell = rule;
    w->shell_leads = leads;
    w->shell_has_file = false;
    w->shell_past_options = false;
    w->shell_reads_input = false;
    w->code_next = false;
}

static void note_replaced(struct shell_words *w, const char *text)
{
    size_t size = strlen(text);

    if (size >= sizeof(w->replaced))
        size = sizeof(w->replaced) - 1; /* its beginning is enough */
    memcpy(w->replaced, text, size);
    w->replaced[size] = '\0';
}

/* xargs -I@, -i, --replace */
static void end_xargs_option(struct shell_words *w)
{
    const char *text = w->word.text;

    if (strncmp(text, "-I", 2) == 0)
        note_replaced(w, text + 2); /* -I @: by its value */
    else if (strncmp(text, "--replace=", 10) == 0)
        note_replaced(w, text + 10);
    else if (is(&w->word, "-i") || is(&w->word, "--replace"))
        note_replaced(w, "{}");
}

/* An option of the `sudo`, `ssh` or the like itself. */
static void end_wrap_option(struct shell_words *w)
{
    const struct shell_rule *wrap = w->wrap;

    w->values = count_values(&w->word, wrap->values);
    if (wrap->shells != NULL && strpbrk(w->word.text, wrap->shells) != NULL)
        w->starts_shell = true;
    if (wrap->execs != '\0' && (has_option(&w->word, wrap->execs) || is(&w->word, "--exec")))
        w->execs = true;
    if (wrap->splits != '\0' && has_option(&w->word, wrap->splits))
        w->joined = wrap->where;
    if (w->fed)
        end_xargs_option(w);
}

/* Whether the word belongs to the `sudo`, `ssh` or the like before the command. */
static bool ends_within_wrap(struct shell_words *w)
{
    bool asks = strcmp(w->wrap->word, "command") == 0 && strpbrk(w->word.text, "vV") != NULL;

    if (strcmp(w->wrap->word, "flock") == 0 && w->operands == 0 && is_code_option(&w->word)) {
        w->rule = w->wrap;
        start_shell(w, w->wrap, false);
        w->code_next = true;
        return true;
    }
    if (is_option(&w->word) && !asks) {
        end_wrap_option(w);
        return true;
    }
    if (w->operands > 0) {
        w->operands--;
        return true;
    }
    if (w->wrap->kind == RULE_JOINS && !w->execs)
        w->joined = w->wrap->where;
    return false;
}

/* The command itself, or a word before it. */
static void end_command_word(struct shell_words *w)
{
    const struct shell_rule *rule = rule_find(w->word.text, w->exec);

    if ((w->wrap != NULL && ends_within_wrap(w)) || is_assignment(&w->word))
        return;
    if (w->cases > 0 && is(&w->word, "esac")) {
        w->cases--;
        return;
    }
    if (rule->kind == RULE_OPENS)
        return;
    if (rule->kind == RULE_WRAPS || rule->kind == RULE_JOINS) {
        w->wrap = rule;
        w->operands = rule->operands;
        w->execs = false;
        w->fed = w->fed || strcmp(rule->word, "xargs") == 0;
        return;
    }
    w->rule = rule;
    w->in_test = rule->kind == RULE_DOUBLE;
    if (rule->kind == RULE_SHELL || rule->kind == RULE_SU)
        start_shell(w, rule, true);
}

static const char *const input_files[] = {"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", NULL};

/* A word that is no option: the code, or the file; what follows are its arguments. */
static void end_shell_operand(struct shell_words *w)
{
    bool shell = w->shell->kind == RULE_SHELL;

    if (w->code_next && w->word.has_replaced)
        w->fed_code = true;
    if (!w->code_next && shell && is_one_of(&w->word, input_files))
        w->shell_reads_input = true;
    w->shell_has_file = w->code_next || shell;
    w->code_next = false;
}

static void end_shell_word(struct shell_words *w)
{
    bool shell = w->shell->kind == RULE_SHELL;

    if (!w->shell_past_options && (is(&w->word, "--") || (shell && is(&w->word, "-")))) {
        w->shell_past_options = true;
    } else if (w->shell_past_options || !is_option(&w->word)) {
        end_shell_operand(w);
    } else {
        if (shell ? has_option(&w->word, 'c') : is_code_option(&w->word))
            w->code_next = true;
        if (shell && has_option(&w->word, 's'))
            w->shell_reads_input = true;
        if (!shell && has_attached_code(&w->word) && !w->code_next)
            w->shell_has_file = true;
        w->values = shell ? count_shell_values(&w->word) : count_values(&w->word, w->shell->values);
    }
}

static void begin_patterns(struct shell_words *w)
{
    w->rule = NULL;
    w->in_pattern = true;
}

static void end_argument(struct shell_words *w, struct shell_facts *facts)
{
    const struct shell_rule *rule = rule_find(w->word.text, w->exec);
    bool declares = w->rule->kind == RULE_DECLARE || w->rule->kind == RULE_EXPORT;

    w->args++;
    if (declares && is_option(&w->word)) {
        w->attributes = w->attributes || strpbrk(w->word.text, "inaA") != NULL;
        facts->evaluates = facts->evaluates || strpbrk(w->word.text, "in") != NULL;
    }
    if (w->rule->kind == RULE_CASE && is(&w->word, "in")) {
        w->cases++;
        begin_patterns(w);
    } else if (w->in_test && is(&w->word, "]]")) {
        w->in_test = false;
    } else if (w->shell != NULL && !w->shell_has_file) {
        end_shell_word(w);
    } else if (rule->kind == RULE_SHELL || rule->kind == RULE_SU) {
        start_shell(w, rule, w->rule->kind == RULE_RUNS);
    }
}

/* In a shell without [[, `[[ a && eval b` is two commands.  No test compares such a word. */
static bool leaves_test(const struct shell_words *w)
{
    enum rule_kind kind = rule_find(w->word.text, w->exec)->kind;

    return w->in_test && w->args > 0 && !w->before.begun && kind != RULE_NONE &&
           kind != RULE_OPENS && kind != RULE_DOUBLE;
}

static void end_plain_word(struct shell_words *w, struct shell_facts *facts)
{
    if (w->values > 0) {
        w->values--;
        if (w->fed && is(&w->before, "-I"))
            note_replaced(w, w->word.text);
    } else if (w->rule == NULL) {
        end_command_word(w);
    } else {
        end_argument(w, facts);
    }
}

/* ssh HOST 'bash -s': blanks inside the word separate words. */
static void end_joined_word(struct shell_words *w, struct shell_facts *facts)
{
    const struct shell_word whole = w->word;
    const char *at = whole.text;

    for (size_t size; at += strspn(at, " \t\n"), (size = strcspn(at, " \t\n")) > 0; at += size) {
        w->word = (struct shell_word){.begun = true, .size = size};
        memcpy(w->word.text, at, size);
        end_plain_word(w, facts);
    }
    w->word = whole;
    if (is(&whole, ":::"))
        w->joined = NULL; /* parallel quotes these */
}

struct shell_fault shell_word_end(struct shell_words *w, struct shell_facts *facts)
{
    struct shell_fault fault = no_fault;

    if (!w->word.begun)
        return no_fault;
    if (w->target) {
        w->target = false;
        w->here_string = false;
    } else if (w->in_pattern) {
        if (is(&w->word, "esac")) {
            w->cases -= w->cases > 0;
            w->in_pattern = false;
        }
    } else if (!w->in_list) {
        if (w->in_test && w->before.named && is_one_of(&w->word, comparisons)) /* [[ {x} -eq 1 ]] */
            fault = (struct shell_fault){rule_in_arithmetic, w->before.name};
        if (leaves_test(w))
            w->rule = NULL;
        bool joins = w->wrap != NULL && w->wrap->kind == RULE_JOINS && w->operands == 0 &&
                     w->values == 0 && !w->execs;

        if (joins || w->joined != NULL)
            end_joined_word(w, facts);
        else
            end_plain_word(w, facts);
        w->before = w->word;
    }
    w->word = (struct shell_word){.begun = false};
    return fault;
}

/* ---- operators ---- */

/* Whether the command runs its standard input, as a shell without a file does. */
static bool reads_code(const struct shell_words *w)
{
    if (w->fed_code || (w->fed && w->shell != NULL && w->code_next))
        return true;
    if (w->rule == NULL)
        return w->starts_shell ||
               (w->wrap != NULL && w->wrap->kind == RULE_JOINS && !w->operands && !w->execs);
    if (w->rule->kind == RULE_INPUT)
        return true;
    if (w->rule->kind == RULE_SOURCE)
        return is_one_of(&w->before, input_files);
    if (w->shell == NULL || !w->shell_leads)
        return false;
    return w->shell_reads_input || (!w->shell_has_file && !w->code_next);
}

static void redirect(struct shell_words *w, struct slice text)
{
    bool here_string = text.size > 2 && memcmp(text.data, "<<<", 3) == 0;

    w->target = true;
    w->here_string = w->here_string || here_string;
    if (text.data[0] == '<' && (text.size < 2 || text.data[1] != '&'))
        w->own_input = true;
    if (text.size > 2 && memcmp(text.data, ">&2", 3) == 0)
        w->to_errors = true;
}

static void end_command(struct shell_words *w, struct shell_facts *facts, char c, bool in_pipe,
                        bool *ret_reads_code)
{
    bool begun = w->rule != NULL || w->wrap != NULL;
    bool goes_on = w->piped && !begun && c == '\n'; /* a newline behind | */

    if (reads_code(w)) {
        *ret_reads_code = true;
        facts->runs_input = facts->runs_input || !w->own_input;
    }
    if (w->says.where != NULL && !w->to_errors)
        w->printed = w->says;
    if (w->rule != NULL && w->rule->kind == RULE_SUMS)
        w->printed = no_fault;
    *w = (struct shell_words){.cases = w->cases,
                              .in_list = w->in_list,
                              .piped = in_pipe || goes_on,
                              .printed = w->printed,
                              .output = w->output};
    if (w->printed.where != NULL && !w->piped) {
        shell_prints(w, facts, w->printed.name);
        w->printed = no_fault;
    }
}

struct shell_fault shell_operator(struct shell_words *w, struct shell_facts *facts,
                                  struct slice text, bool *ret_reads_code)
{
    char c = text.data[0];
    char next = text.size > 1 ? text.data[1] : '\0';
    bool redirects = c == '<' || c == '>';

    *ret_reads_code = false;
    if (redirects && w->word.size > 0 && strspn(w->word.text, "0123456789") == w->word.size)
        w->word = (struct shell_word){.begun = false}; /* 2>file: the digits are no word */
    struct shell_fault fault = shell_word_end(w, facts);

    if (fault.where != NULL || w->in_list)
        return fault;
    if (w->in_test && c != ';') {
        w->before = (struct shell_word){.begun = false};
        return no_fault;
    }
    if (redirects) {
        redirect(w, text);
        return no_fault;
    }
    if (w->in_pattern) {
        w->in_pattern = c != ')';
        return no_fault;
    }
    if (c == '&' && next == '>') /* &>file */
        return no_fault;
    bool in_pipe = c == '|' && next != '|';
    bool ends_clause = c == ';' && (next == ';' || next == '&') && w->cases > 0;

    end_command(w, facts, c, in_pipe, ret_reads_code);
    if (ends_clause)
        begin_patterns(w);
    return no_fault;
}

struct shell_fault shell_end(const struct shell_facts *facts)
{
    if (facts->evaluates && facts->assigned.where != NULL)
        return facts->assigned;
    return facts->runs_input ? facts->printed : no_fault;
}
