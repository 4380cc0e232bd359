/* SPDX-License-Identifier: MIT */
#include "cli/table/completion.h"

#include "cli/table/command.h"
#include "cli/table/noun.h"

#define LIST_JOBS "waybill list --ids --limit 50 2>/dev/null; echo @last" /* the newest */
#define STATES "staged held scheduled ready running done failed cancelled relayed"

/* What the scripts call a value: the name of a list to offer, a kind of file, or a word list. */
static void add_kind(struct buf *b, const struct value_spec *v)
{
    switch (v->type) {
    case VALUE_NOUN: buf_addf(b, "names %s", noun_command(v->noun)); return;
    case VALUE_JOB: buf_add_str(b, "job"); return;
    case VALUE_FILE: buf_add_str(b, "file"); return;
    case VALUE_DIR: buf_add_str(b, "dir"); return;
    case VALUE_STATES: buf_add_str(b, "words " STATES); return;
    case VALUE_VERB:
        buf_add_str(b, "words");
        for (const struct command *c = commands; c->name != NULL; c++)
            buf_addf(b, " %s", c->name);
        return;
    case VALUE_CHOICE:
        buf_add_str(b, "words");
        for (size_t i = 0; v->choices[i] != NULL; i++)
            buf_addf(b, " %s", v->choices[i]);
        return;
    case VALUE_NONE:
    case VALUE_TEXT:
    case VALUE_INT:
    case VALUE_DURATION:
    case VALUE_TIME:
    case VALUE_SINCE:
    case VALUE_PAIR:
    case VALUE_PARAM:
    case VALUE_TYPE_COUNT: break;
    }
    buf_add_str(b, "none");
}

static void add_names(struct buf *b, const struct command *table)
{
    for (const struct command *c = table; c->name != NULL; c++)
        buf_addf(b, "%s%s", c == table ? "" : " ", c->name);
}

/* One branch of the `case`: what the command's words and its options' values are. */
static void add_branch(struct buf *b, const struct command *parent, const struct command *c)
{
    const char *first = parent != NULL ? parent->name : c->name;
    const char *second = parent != NULL ? c->name : "";
    const struct option_spec *o = NULL;

    buf_addf(b, "    '%s %s')\n        options='", first, second);
    for (unsigned i = 0; (o = command_next_option(c, &i)) != NULL;)
        buf_addf(b, "%s--%s", i == 1 ? "" : " ", o->name);
    buf_add_str(b, "'\n        kind='");
    add_kind(b, &c->arguments[0].value); /* VALUE_NONE when it has no arguments */
    buf_add_str(b, "'\n        case $2 in\n");
    for (unsigned i = 0; (o = command_next_option(c, &i)) != NULL;) {
        if (o->value.type == VALUE_NONE)
            continue;
        buf_addf(b, "        --%s", o->name);
        if (o->letter != '\0')
            buf_addf(b, " | -%c", o->letter);
        buf_add_str(b, ") options='' kind='");
        add_kind(b, &o->value);
        buf_add_str(b, "' ;;\n");
    }
    buf_add_str(b, "        esac\n        ;;\n");
}

/* The table as a function that bash and zsh both read: sets `options` and `kind`. */
static void add_table(struct buf *b)
{
    buf_add_str(b, "_waybill_table()\n{\n    options='' kind=none\n    case $1 in\n");
    for (const struct command *c = commands; c->name != NULL; c++) {
        if (c->verbs == NULL) {
            add_branch(b, NULL, c);
            continue;
        }
        buf_addf(b, "    '%s ')\n        kind='words ", c->name);
        add_names(b, c->verbs);
        buf_add_str(b, "'\n        ;;\n");
        for (const struct command *v = c->verbs; v->name != NULL; v++)
            add_branch(b, c, v);
    }
    buf_add_str(b, "    esac\n}\n\n");
}

/* Sets `verb` and asks the table; the same text for both shells, which count words differently. */
static void add_asking(struct buf *b, const char *second, const char *third, const char *current)
{
    buf_addf(b, "    case %s in\n    ", second);
    /* The words that have verbs: `queue|workers`. */
    const char *bar = "";

    for (const struct command *c = commands; c->name != NULL; c++) {
        if (c->verbs != NULL) {
            buf_addf(b, "%s%s", bar, c->name);
            bar = " | ";
        }
    }
    buf_addf(b, ")\n        verb=\"%s \"\n        [ %s -gt 2 ] && verb=\"%s %s\"\n        ;;\n",
             second, current, second, third);
    buf_addf(b, "    *) verb=\"%s \" ;;\n    esac\n", second);
}

static void bash_script(struct buf *b)
{
    buf_add_str(b, "# bash completion for waybill\n\n");
    add_table(b);
    buf_add_str(b, "# The words after -- are a command: as bash completes any.\n"
                   "_waybill_command()\n{\n"
                   "    compopt -o filenames\n"
                   "    if declare -F _comp_command_offset >/dev/null; then\n"
                   "        _comp_command_offset \"$1\"\n"
                   "    elif declare -F _command_offset >/dev/null; then\n"
                   "        _command_offset \"$1\"\n"
                   "    elif [ \"$COMP_CWORD\" -eq \"$1\" ]; then\n"
                   "        mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
                   "    else\n"
                   "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
                   "    fi\n}\n\n"
                   "_waybill_offer()\n{\n"
                   "    local word\n"
                   "    while IFS= read -r word; do\n"
                   "        [[ $word == \"$cur\"* ]] && COMPREPLY+=(\"$(printf %q \"$word\")\")\n"
                   "    done\n}\n\n"
                   "_waybill()\n{\n"
                   "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
                   "    local verb options kind i\n"
                   "    COMPREPLY=()\n"
                   "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
                   "        if [ \"${COMP_WORDS[i]}\" = -- ]; then\n"
                   "            _waybill_command $((i + 1))\n"
                   "            return\n"
                   "        fi\n"
                   "    done\n"
                   "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                   "        _waybill_offer < <(printf '%s\\n' ");
    add_names(b, commands);
    buf_add_str(b, ")\n        return\n    fi\n");
    add_asking(b, "${COMP_WORDS[1]}", "${COMP_WORDS[2]}", "\"$COMP_CWORD\"");
    buf_add_str(
        b, "    _waybill_table \"$verb\" \"$prev\"\n"
           "    if [[ $cur == -* && -n $options ]]; then\n"
           "        _waybill_offer < <(printf '%s\\n' $options)\n"
           "        return\n"
           "    fi\n"
           "    case $kind in\n"
           "    file) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
           "    dir) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;\n"
           "    names*)\n"
           "        _waybill_offer < <(waybill ${kind#names } list --names 2>/dev/null) ;;\n"
           "    job) _waybill_offer < <(" LIST_JOBS ") ;;\n"
           "    words*) _waybill_offer < <(printf '%s\\n' ${kind#words}) ;;\n"
           "    esac\n}\n\n"
           "complete -F _waybill waybill\n");
}

static void zsh_script(struct buf *b)
{
    buf_add_str(b, "#compdef waybill\n# zsh completion for waybill\n\n");
    add_table(b);
    buf_add_str(b, "_waybill()\n{\n"
                   "    local cur=${words[CURRENT]} prev=${words[CURRENT-1]}\n"
                   "    local verb options kind\n"
                   "    if (( CURRENT == 2 )); then\n"
                   "        compadd -- ");
    add_names(b, commands);
    buf_add_str(b, "\n        return\n    fi\n");
    add_asking(b, "${words[2]}", "${words[3]}", "$((CURRENT - 1))");
    buf_add_str(b, "    _waybill_table \"$verb\" \"$prev\"\n"
                   "    if [[ $cur == -* && -n $options ]]; then\n"
                   "        compadd -- ${=options}\n"
                   "        return\n"
                   "    fi\n"
                   "    case $kind in\n"
                   "    file) _files ;;\n"
                   "    dir) _files -/ ;;\n"
                   "    names*)\n"
                   "        compadd -- "
                   "${(f)\"$(waybill ${kind#names } list --names 2>/dev/null)\"} ;;\n"
                   "    job) compadd -V jobs -- ${(f)\"$(" LIST_JOBS ")\"} ;;\n"
                   "    words*) compadd -- ${=kind#words} ;;\n"
                   "    esac\n}\n\n"
                   "if [ \"$funcstack[1]\" = _waybill ]; then\n"
                   "    _waybill \"$@\"\n"
                   "else\n"
                   "    compdef _waybill waybill\n"
                   "fi\n");
}

static void fish_quoted(struct buf *b, const char *text)
{
    buf_add_char(b, '\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'' || *text == '\\')
            buf_add_char(b, '\\');
        buf_add_char(b, *text);
    }
    buf_add_char(b, '\'');
}

static void fish_values(struct buf *b, const struct value_spec *v)
{
    CLEANUP(buf) struct buf kind = BUF_INIT(1000);

    add_kind(&kind, v);
    if (v->type == VALUE_FILE)
        buf_add_str(b, " -r -F");
    else if (v->type == VALUE_DIR)
        buf_add_str(b, " -x -a '(__fish_complete_directories)'");
    else if (v->type == VALUE_NOUN)
        buf_addf(b, " -x -a '(waybill %s list --names 2>/dev/null)'", noun_command(v->noun));
    else if (v->type == VALUE_JOB)
        buf_add_str(b, " -x -k -a '(" LIST_JOBS ")'");
    else if (strncmp(buf_text(&kind), "words ", 6) == 0)
        buf_addf(b, " -x -a '%s'", buf_text(&kind) + 6);
    else
        buf_add_str(b, " -x");
}

static void fish_command(struct buf *b, const struct command *parent, const struct command *c)
{
    const struct option_spec *o = NULL;
    CLEANUP(buf) struct buf at = BUF_INIT(200);

    buf_addf(&at, "complete -c waybill -n '__waybill_at %s %s'",
             parent != NULL ? parent->name : c->name, parent != NULL ? c->name : "");
    for (unsigned i = 0; (o = command_next_option(c, &i)) != NULL;) {
        buf_addf(b, "%s -l %s", buf_text(&at), o->name);
        if (o->letter != '\0')
            buf_addf(b, " -s %c", o->letter);
        if (o->value.type != VALUE_NONE)
            fish_values(b, &o->value);
        buf_add_str(b, " -d ");
        fish_quoted(b, o->help);
        buf_add_char(b, '\n');
    }
    if (c->arguments[0].value.name != NULL) {
        buf_add_slice(b, buf_slice(&at));
        fish_values(b, &c->arguments[0].value);
        buf_add_char(b, '\n');
    }
}

static void fish_verbs(struct buf *b, const char *condition, const struct command *table)
{
    for (const struct command *c = table; c->name != NULL; c++) {
        buf_addf(b, "complete -c waybill -n '%s' -a %s -d ", condition, c->name);
        fish_quoted(b, c->help);
        buf_add_char(b, '\n');
    }
}

static void fish_script(struct buf *b)
{
    buf_add_str(b, "# fish completion for waybill\n\n"
                   "function __waybill_at\n"
                   "    set -l words (commandline -opc)\n"
                   "    set -l last (math 1 + (count $argv))\n"
                   "    test (count $words) -ge $last\n"
                   "    and set -l verbs $words[2..$last]\n"
                   "    and test \"$verbs\" = \"$argv\"\n"
                   "end\n\n"
                   "function __waybill_next\n"
                   "    __waybill_at $argv\n"
                   "    and test (count (commandline -opc)) -eq (math 1 + (count $argv))\n"
                   "end\n\n"
                   "complete -c waybill -f\n");
    fish_verbs(b, "test (count (commandline -opc)) -eq 1", commands);
    for (const struct command *c = commands; c->name != NULL; c++) {
        CLEANUP(buf) struct buf next = BUF_INIT(200);

        if (c->verbs == NULL) {
            fish_command(b, NULL, c);
            continue;
        }
        buf_addf(&next, "__waybill_next %s", c->name);
        fish_verbs(b, buf_text(&next), c->verbs);
        for (const struct command *v = c->verbs; v->name != NULL; v++)
            fish_command(b, c, v);
    }
}

void completion_script(const char *shell, struct buf *out)
{
    static const struct {
        const char *shell;
        void (*write)(struct buf *out);
    } scripts[] = {
        {.shell = "bash", .write = bash_script},
        {.shell = "zsh", .write = zsh_script},
        {.shell = "fish", .write = fish_script},
    };

    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        if (strcmp(scripts[i].shell, shell) == 0)
            scripts[i].write(out);
    }
}
