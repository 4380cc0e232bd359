/*
 * String commands and shells that evaluate a value again: such places are refused, ordinary scripts
 * are not, and whatever is accepted is run by bash and by dash with hostile values, none of which
 * may be carried out.
 */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/jtext/jtext.h"
#include "base/rng.h"
#include "core/program/template.h"
#include "testing.h"

static struct arena arena;
static char directory[] = "/tmp/waybill-shell.XXXXXX";
static char canary[64]; /* exists when a value was carried out */

static int begin(void **state)
{
    (void)state;
    arena = ARENA_INIT;
    if (mkdtemp(directory) == NULL || chdir(directory) < 0)
        return -1;
    snprintf(canary, sizeof(canary), "%s/canary", directory);
    return 0;
}

static int end(void **state)
{
    char command[80];

    (void)state;
    arena_deinit(&arena);
    if (chdir("/") < 0)
        return -1;
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    memcpy(directory + sizeof(directory) - 7, "XXXXXX", 6);
    return system(command); /* NOLINT(cert-env33-c): our own directory */
}

static bool loads(const char *script, struct template_command *ret_command, struct err *err)
{
    CLEANUP(buf) struct buf json = BUF_INIT(1 << 16);

    jtext_add_string(&json, slice_of(script));
    return template_command_parse(arena_copy(&arena, buf_slice(&json)), &arena, ret_command, NULL,
                                  err) == E_OK;
}

/* ---- running ---- */

static char **argv_of(const struct template_command *c, const char *v, const char *w)
{
    CLEANUP(buf) struct buf params = BUF_INIT(4096);
    struct err err = ERR_INIT;
    char **argv = NULL;

    buf_add_str(&params, "{\"v\":");
    jtext_add_string(&params, slice_of(v));
    buf_add_str(&params, ",\"w\":");
    jtext_add_string(&params, slice_of(w));
    buf_add_char(&params, '}');
    struct slice object = buf_slice(&params);
    struct template_values values = {.objects = &object, .n_objects = 1};

    assert_int_equal(template_command_fill(c, &values, &arena, &argv, &err), E_OK);
    return argv;
}

/* Runs it by this shell, silently and without input; whether the canary sang. */
static bool sings(const char *shell, char **argv)
{
    int status;

    (void)unlink(canary);
    argv[0] = mem_strndup(shell, strlen(shell));
    pid_t pid = fork();

    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        alarm(5);
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
        execvp(shell, argv);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    free(argv[0]);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 127 && access("/bin/bash", X_OK) != 0);
    return access(canary, F_OK) == 0;
}

static const char *const shells[] = {"bash", "dash"};

/* Values that are commands where something evaluates them; `%s` is the canary. */
static const char *const hostile[] = {
    "a[$(>%s)]",   "$(>%s)",      "($(>%s))", "x=1; >%s", "`>%s`",    "'; >%s; '",
    "\"; >%s; \"", "a[$(>%s)]=1", "-v",       "-c",       "x\n>%s\n", "%s",
    "1+a[$(>%s)]", "!",           "(",        "=",        "-eq",
};

static const char *value(size_t i)
{
    static char texts[2][200];
    static size_t turn;
    char *text = texts[turn++ % 2];

    /* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral) */
    const char *place = strstr(hostile[i], "%s");
    size_t before = place != NULL ? (size_t)(place - hostile[i]) : strlen(hostile[i]);

    snprintf(text, sizeof(texts[0]), "%.*s%s%s", (int)before, hostile[i],
             place != NULL && before > 0 ? canary : "", place != NULL ? place + 2 : "");
    return text;
}

static void assert_silent(const char *script, const struct template_command *c, size_t i, size_t j)
{
    for (size_t s = 0; s < sizeof(shells) / sizeof(shells[0]); s++) {
        const char *v = value(i);
        const char *w = value(j);

        if (sings(shells[s], argv_of(c, v, w)))
            fail_msg("%s carries out a value of\n%s\nv=%s\nw=%s", shells[s], script, v, w);
    }
}

/* ---- tables ---- */

static const char *const attacks[] = {
    "echo $(( {v} + 1 ))",
    "echo \"$(( \"{v}\" ))\"",
    "echo $(( ${x:-{v}} ))",
    "echo $[ {v} ]",
    "echo \"$[{v}]\"",
    "(( {v} > 1 )) && echo more",
    "if ((x = {v})); then echo; fi",
    "for ((i = 0; i < {v}; i++)); do echo; done",
    "[[ {v} -eq 1 ]]",
    "[[ 1 -lt {v} ]]",
    "[[ \"{v}\" -ge 1 ]]",
    "[[ a = a && ( {v} -ne 1 ) ]]",
    "if [[ -n x &&\n{v} -gt 2 ]]; then echo; fi",
    "[[ -v {v} ]]",
    "[[ -v a[{v}] ]]",
    "[ -v {v} ]",
    "test -v {v}",
    "test -v \"a[{v}]\"",
    "[ {v} {w} ]",
    "[ ! {v} {w} ]",
    "x=abc; echo ${x:{v}}",
    "x=abc; echo \"${x:0:{v}}\"",
    "x=abc; echo ${x: {v}}",
    "echo ${@:{v}}",
    "echo ${*:1:{v}}",
    "x=(1 2); echo ${x[@]:{v}}",
    "a[{v}]=1",
    "a[{v}]+=1",
    "a[ 1 + {v} ]=1",
    "a[$x + {v}]=1",
    "a=([{v}]=x)",
    "a=(x [{v}]=x)",
    "echo ${a[{v}]}",
    "echo \"${a[\"{v}\"]}\" x",
    "echo ${#a[{v}]}",
    "echo ${a[{v}]:-x}",
    "let {v}",
    "let \"x = {v}\"",
    "let x={v}+1",
    "printf -v {v} x",
    "printf -v \"a[{v}]\" x",
    "printf -v{v} x",
    "printf {v} {w} x",
    "read {v} <<E\nx\nE\n",
    "read -r {v}",
    "read -a {v}",
    "unset {v}",
    "unset \"a[{v}]\"",
    "mapfile {v}",
    "readarray -t {v}",
    "export {v}",
    "export {v}=1",
    "readonly {v}=1",
    "declare {v}=1",
    "declare x={v}",
    "declare -i x={v}",
    "declare -a x={v}",
    "typeset -i x={v}",
    "readonly -a x={v}",
    "declare -i n; n={v}",
    "n={v}; declare -i n",
    "declare -i n; for n in {v}; do echo; done",
    "declare -i n; read n <<< {v}",
    "declare -ai n; n=(1 {v})",
    "declare -n r; r={v}; echo $r",
    "RANDOM={v}",
    "SRANDOM={v}",
    "OPTIND={v}",
    "PS4={v}; set -x; :",
    "export PS4={v}; set -x; :",
    "BASH_ENV={v} bash -c :",
    "getopts ab {v} -a",
    "eval {v}",
    "eval \"x={v}\"",
    "eval echo \"$(date)\" {v}",
    "command eval {v}",
    "builtin eval {v}",
    "\\eval {v}",
    "'eval' {v}",
    "X=1 eval {v}",
    ">log eval {v}",
    "2>/dev/null eval {v}",
    "true && eval {v}",
    "true; eval {v}",
    "true | eval {v}",
    "if true; then eval {v}; fi",
    "! eval {v}",
    "{ eval {v}; }",
    "(eval {v})",
    "( (eval {v}) )",
    "((true); eval {v})",
    "echo $(eval {v})",
    "echo `eval {v}`",
    "echo \"$(true; eval {v})\"",
    "cat <(eval {v})",
    "case x in x) eval {v};; esac",
    "case x in (y) true;; (x) eval {v};; esac",
    "echo $(case x in x) eval {v};; esac)",
    "case x in y|x) true;; esac; eval {v}",
    "for i in 1; do eval {v}; done",
    "while true; do eval {v}; break; done",
    "echo a >&2; eval {v}",
    "echo a &>/dev/null; eval {v}",
    "cat <<E; eval {v}\nx\nE\n",
    "cat <<E\nx\nE\neval {v}",
    "echo $'it\\'s'; eval {v}",
    "# it's\neval {v}",
    "function f { eval {v}; }; f",
    "trap {v} EXIT",
    "trap \"rm -f {v}\" EXIT",
    "alias x={v}",
    "compgen -W {v}",
    ". {v}",
    "source {v}",
    "source /dev/stdin <<< {v}",
    ". /dev/stdin <<E\n{v}\nE\n",
    "bash <<< {v}",
    "bash <<E\necho {v}\nE\n",
    "sh -s <<E\necho {v}\nE\n",
    "cat <<E | sh\necho {v}\nE\n",
    "[[ a && -n b ]]; eval {v}",
    "[[ a && eval {v} ]]",
    "[[ a; eval {v} ]]",
    "[[ a\neval {v} ]]",
    "echo {v} | sh",
    "echo \"echo {v}\" | bash",
    "printf '%s' {v} | sudo sh",
    "echo {v} |\nsh",
    "x=\"`echo {v} | sh`\"",
    "x=$(echo {v} | sh)",
    "sh -c {v}",
    "sh -c \"echo {v}\"",
    "/bin/bash -c \"echo {v}\"",
    "bash -ec \"echo {v}\"",
    "bash -o pipefail -c \"echo {v}\"",
    "bash -c -- {v}",
    "sudo -u nobody sh -c \"echo {v}\"",
    "timeout 5 bash -c \"echo {v}\"",
    "env A=1 sh -c \"echo {v}\"",
    "find . -exec sh -c \"echo {v}\" \\;",
    "echo a | xargs sh -c \"echo {v}\"",
    "su nobody -c \"echo {v}\"",
    "su - nobody -c \"echo {v}\"",
    "bash {v} {w}",
    "bash -x {v}",
    "exec {x[{v}]}>/dev/null",
    /* -s reads code from standard input, whatever follows it */
    "bash -s -- a <<E\necho {v}\nE\n",
    "bash -s a <<E\necho {v}\nE\n",
    "echo \"echo {v}\" | bash -s -- a",
    "echo {v} | sh -es a b",
    "bash -s -- a <<< {v}",
    "echo {v} | bash --",
    "echo {v} | bash -o pipefail",
    "echo {v} | bash --rcfile f",
    "echo {v} | bash /dev/stdin a",
    "bash -s {v} {w}",
    /* options with a value */
    "bash --rcfile f -c \"echo {v}\"",
    "bash --init-file f -c \"echo {v}\"",
    "bash +o posix -c \"echo {v}\"",
    "bash +O extglob -c \"echo {v}\"",
    "bash -eo pipefail -c {v}",
    "bash -co pipefail {v}",
    "bash -c -o pipefail {v}",
    "bash -oO pipefail extglob -c {v}",
    "bash -o pipefail {v} {w}",
    "bash --rcfile {v} -i",
    /* commands with a shell of their own */
    "flock f -c \"echo {v}\"",
    "flock -w 5 f --command {v}",
    "flock -n f bash -c {v}",
    "flock f bash {v} {w}",
    "script -qc \"echo {v}\" f",
    "script --command \"echo {v}\" f",
    "script --command=\"echo {v}\" f",
    "script {v}",
    "su nobody {v} {w}",
    "su --command {v} nobody",
    "su - nobody <<E\n{v}\nE\n",
    "echo {v} | su nobody",
    "sg users -c \"echo {v}\"",
    "sg users \"echo {v}\"",
    "watch \"echo {v}\"",
    "watch -n 5 echo {v}",
    "ssh host \"echo {v}\"",
    "ssh host echo {v}",
    "ssh host -- echo {v}",
    "ssh host A={v} ls",
    "ssh host A=1 ls {v}",
    "ssh -p 22 -i key user@host rm {v}",
    "ssh -o BatchMode=yes {v} ls {w}",
    "ssh host <<E\necho {v}\nE\n",
    "ssh host bash -s <<E\necho {v}\nE\n",
    "ssh host 'sudo bash -s' <<E\necho {v}\nE\n",
    "echo {v} | ssh host",
    "echo {v} | ssh -T host sh",
    "timeout 5 ssh host ls {v}",
    "ssh host \"ls $(echo {v})\"",
    "parallel \"echo {v} {}\" ::: a b",
    "parallel -j 2 echo {v} ::: a b",
    "echo {v} | parallel",
    "echo {v} | at now",
    "at now <<E\necho {v}\nE\n",
    "echo \"echo {v}\" | batch",
    "echo \"* * * * * echo {v}\" | crontab -",
    "env -S \"sh -c {v}\"",
    "env -S\"sh -c {v}\"",
    "env BASH_ENV={v} bash -c :",
    "echo {v} | xargs sh -c",
    "echo {v} | xargs -n 1 bash -c",
    "echo {v} | xargs -I@ sh -c \"echo @\"",
    "echo {v} | xargs -I @ sh -c 'echo a b c d e f g h i j k l m n o p q @'",
    "echo {v} | xargs -i sh -c 'echo {}'",
    "echo {v} | xargs -I{} sudo bash -c '{}'",
    "sudo -u nobody bash {v} {w}",
    "echo {v} | sudo -u nobody bash",
    "echo {v} | sudo --user nobody bash",
    "echo {v} | sudo -i",
    "sudo -u nobody -s <<E\n{v}\nE\n",
    "timeout -k 1 5 bash {v} {w}",
    "timeout {v} sh -c {w}",
    "nice -n 5 ionice -c 3 setsid stdbuf -o L bash {v} {w}",
    "echo {v} | docker exec -i c sh",
    "docker run --rm image sh -c \"echo {v}\"",
    "kubectl exec pod -- bash {v} {w}",
    "chroot /srv sh {v} {w}",
    "busybox sh -c {v}",
    /* printed here, run there */
    "(echo \"echo {v}\") | sh",
    "{ echo \"echo {v}\"; echo true; } | sh",
    "if true; then echo \"echo {v}\"; fi | sh",
    "for i in 1 2; do echo {v}; done | sh",
    "case x in x) echo {v};; esac | sh",
    "echo {v} | (sh)",
    "echo {v} | { sh; }",
    "echo {v} | if true; then sh; fi",
    "echo {v} | tee log | sh",
    "echo {v} | sed s/a/b/ |\n sh",
    "f() { sh; }; echo {v} | f",
    "cat <<< {v} | sh",
    "{ cat <<E\n{v}\nE\n} | sh",
    "(sh) <<E\n{v}\nE\n",
    "{ sh; } <<E\n{v}\nE\n",
    "echo {v} > >(sh)",
    "echo {v} | tee >(bash)",
    "bash <(echo {v})",
    ". <(echo {v})",
    "source <(printf %s {v})",
    "sh < <(echo {v})",
    /* the result of $(…) */
    "eval \"$(echo \"echo {v}\")\"",
    "eval $(printf %s {v})",
    "eval `echo {v}`",
    "eval \"$(cat <<E\necho {v}\nE\n)\"",
    "eval \"$(cat <<< {v})\"",
    "eval \"$(if true; then echo {v}; fi)\"",
    "eval \"$( (echo {v}) )\"",
    "eval \"$(echo \"$(echo {v})\")\"",
    "eval \"$(echo {v} | tr a b)\"",
    "sh -c \"$(echo \"echo {v}\")\"",
    "bash -c \"`echo {v}`\"",
    "echo $(( $(echo {v}) ))",
    "echo $(( `echo {v}` + 1 ))",
    "echo $(( $(echo {v} | cut -d. -f1) + 1 ))",
    "[[ $(echo {v}) -eq 5 ]]",
    "[[ 5 -lt $(printf %s {v}) ]]",
    "[ $(echo {v}) $(echo {w}) ]",
    "a[$(echo {v})]=1",
    "let x=$(echo {v})",
    "declare -i n; n=$(echo {v})",
    "trap \"rm $(echo {v})\" EXIT",
    "echo \"$(echo {v})\" | sh",
};

static void a_value_where_a_shell_evaluates_it_again_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
        struct template_command c;
        struct err err = ERR_INIT;

        if (loads(attacks[i], &c, &err))
            fail_msg("loads: %s", attacks[i]);
        if (strstr(err.msg, "{v} at byte ") == NULL && strstr(err.msg, "{w} at byte ") == NULL)
            fail_msg("%s: %s", attacks[i], err.msg);
        if (strchr(strstr(err.msg, " is in "), ':') == NULL) /* what to do instead */
            fail_msg("%s: %s", attacks[i], err.msg);
    }
}

static const char *const ordinary[] = {
    "wc -l < {v}",
    "convert {v} -resize {w}x out.png",
    "cd {v} && make -j4 2>&1 | tee build.log",
    "x={v}; echo \"$x\"",
    "x={v} y=\"{w}\"; [ -n \"$x\" ]",
    "export NAME={v}; printenv NAME",
    "readonly NAME={v}",
    "NAME={v} printenv NAME",
    "if [ {v} -gt 3 ]; then echo more; fi",
    "if [ \"{v}\" = yes ] || [ -z {w} ]; then echo; fi",
    "test -e {v} && test {v} -nt {w}",
    "[ -f {v} ] && [ ! -d {w} ] && echo both",
    "[ {v} = a -o {w} = b ]",
    "[[ {v} == *.gz ]] && gunzip -k {v}",
    "[[ -f {v} && -n {w} ]] || exit 3",
    "[[ {v} =~ ^[0-9]+$ ]]",
    "[[ $# -eq 2 ]] && echo {v}",
    "[[ -v HOME ]] && echo {v}",
    "case {v} in *.gz) gunzip {v};; a|b) echo {w};; *) cat {v};; esac",
    "case {v} in ''|*[!0-9]*) exit 2;; esac; n={v}; echo $((n + 1))",
    "echo $(( $(wc -l < {v}) + 1 ))",
    "for f in {v} {w}; do echo \"$f\"; done",
    "for i in 1 2 3; do echo $i {v}; done",
    "while read -r line; do echo \"$line {v}\"; done < {w}",
    "while IFS= read -r x; do echo $x; done <<< {v}",
    "read -p {v} answer",
    "read -r x <<E\n{v}\nE\necho \"$x\"",
    "printf '%s\\n' {v} {w}",
    "printf \"%s {v}\\n\" {w}",
    "printf -v x %s {v}",
    "printf -- {v}",
    "echo ${x:-{v}} \"${x:={v}}\" ${x:+{v}} ${x-{v}} ${HOME#{v}} ${HOME/{v}/x}",
    "echo ${HOME:0:3} {v}",
    "x={v}; echo ${x:0:3} ${#x} ${x%.gz}",
    "a=({v} \"{w}\"); echo ${a[0]} ${a[@]}",
    "a[0]={v}; echo ${a[0]}",
    "echo $((1 + 2)) $[3] {v}",
    "(( 1 < 2 )) && echo {v}",
    "(cd {v}; ls) | sort > {w}",
    "{ echo {v}; echo {w}; } > out",
    "tar czf - {v} | ssh host \"cat > backup.tgz\"",
    "echo {v} | tr a-z A-Z | sort -n",
    "cat {v} | grep -c {w}",
    "grep -c {v} {w}",
    "gzip -c {v} > {w}",
    "sh ./script.sh {v}",
    "bash script.sh -c {v}",
    "bash -- {v}",
    "sh -c 'echo \"$1\"' sh {v}",
    "bash -ec 'echo \"$1\"' bash {v} {w}",
    "bash -s -- {v} <<'E'\necho \"$1\"\nE\n",
    "find {v} -name '*.tmp' -exec rm {} +",
    "find {v} -exec sh -c 'echo \"$1\"' sh {} \\;",
    "xargs -a {v} -n1 echo",
    "sudo -u {v} ls {w}",
    "timeout 5 ls {v}",
    "nohup ./daemon {v} > {w} 2>&1 &",
    "command -v {v} > /dev/null",
    "type {v}",
    "which bash {v}",
    "echo bash {v}",
    "trap 'rm -f \"$t\"' EXIT; t=$(mktemp); cp {v} \"$t\"",
    ". ./lib.sh; run {v}",
    "source ./lib.sh {v}",
    "set -e; cp {v} {w}",
    "set -- {v} {w}; echo \"$2\"",
    "exec ./program {v}",
    "python3 -c 'import sys; print(sys.argv[1])' {v}",
    "awk -v x={v} 'BEGIN {{ print x }'",
    "sed -e \"s/x/y/\" {v}",
    "cat <<E\nhello {v}\nE\n",
    "cat <<E > {v}\n{w}\nE\necho done",
    "curl -s \"https://example.org/?q={v}\" -o {w}",
    "ls img[0-9]*{v}",
    "rm -f {v}.{bak,old}",
    "echo \"it's {v}\" # eval {w}",
    "diff <(sort {v}) <(sort {w})",
    "f() { echo \"$1\"; }; f {v}",
    "unset x; x={v}",
    "let x=1; echo {v}",
    "declare -A m; m[k]={v}; echo ${m[k]}",
    "local_copy={v}; evaluate {w}",
    "git commit -m {v}",
    "echo 'eval' {v}",
    "./read {v}; bin/test -v {v}",
    "if ! grep -q {v} {w}; then exit 1; fi",
    "i=0; while [ $i -lt 3 ]; do i=$((i + 1)); echo {v}; done",
    "x=$(basename {v} .gz); echo \"$x\"",
    "x=`dirname {v}`; ls \"$x\"",
    "test -n {v} -a -n {w}",
    "sleep {v}; exit {w}",
    "curl -s {v} | jq .",
    "echo {v} | tee {w}.log | grep -c x",
    "for i in $(seq {v}); do echo \"$i\"; break; done",
    "for i in $(echo {v} | tr , ' '); do echo \"$i\"; done",
    "tar c {v} | ssh h 'cat > f'",
    "printf '%s' {v} | ssh h 'x=$(cat); ls \"$x\"'",
    "ssh h uptime > {v}",
    "ssh -p {v} -i {w} host uptime",
    "ssh {v} uptime",
    "ssh -N -L 1:h:2 h & echo {v}",
    "ssh h 'bash -s' < install.sh; echo {v}",
    "bash -s -- {v} < /dev/null; echo {w}",
    "bash <<'E'\ntrue\nE\necho {v}",
    "echo \"installing {v}\" >&2; printf 'true' | sh",
    "echo >&2 {v}; true | sh -s -- {w}",
    "printf 'echo \"$1\"' | sh -s -- {v}",
    "x=$(echo {v} | tr a-z A-Z); echo \"$x\"",
    "n=$(( $(echo {v} | wc -c) - 1 )); echo $n",
    "[[ $(printf %s {v} | wc -c) -gt 3 ]] && echo long",
    "if [ \"$(echo {v} | cut -c1)\" = a ]; then echo; fi",
    "[ $(echo {v} | wc -l) -eq 1 ]",
    "echo \"$(date) {v}\" >> log",
    "printf \"$(date +%s) {v}\\n\" {w}",
    "flock lock ls {v}",
    "flock -w 1 lock sh -c 'echo \"$1\"' sh {v}",
    "flock -n {v}.lock true",
    "(flock 9; echo {v}) 9> lock",
    "timeout {v} true",
    "timeout -k 1 5 bash -c 'echo \"$1\"' _ {v}",
    "nice -n 5 ls {v}",
    "env A={v} B=x printenv A",
    "env -u A sh -c 'echo \"$1\"' sh {v}",
    "sudo grep bash {v}",
    "bash -o pipefail -c 'echo \"$1\"' _ {v}",
    "bash -eo pipefail -c 'echo \"$1\"' _ {v}",
    "bash +o posix -c 'echo \"$1\"' _ {v}",
    "bash --norc ./script.sh {v}",
    "script -qc 'true' /dev/null; echo {v}",
    "cp script {v}; rm -f at {w}",
    "echo {v} | xargs -n1 echo",
    "echo {v} | xargs -I@ echo a @ b",
    "echo {v} | xargs sh -c 'echo \"$1\"' sh",
    "echo {v} | xargs -I@ sh -c 'echo \"$1\"' sh @",
    "find {v} -print0 | xargs -0 rm -f",
    "echo {v} | while read -r x; do echo \"$x\"; done",
    "{ echo {v}; cat /dev/null; } | sort",
    "cat <(echo {v}) > /dev/null",
    "eval \"$(true)\"; echo {v}",
    "docker_run=1; ls bash {v}",
    "echo \"see you at {v}\"",
    "watch_dir={v}; ls \"$watch_dir\"",
    "true | wc -l; echo {v}",
    "git log --since={v} | wc -l",
    "psql -v x={v} -f report.sql | gzip > {w}",
};

static void ordinary_scripts_load_and_carry_out_no_value(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(ordinary) / sizeof(ordinary[0]); i++) {
        struct template_command c;
        struct err err = ERR_INIT;

        if (!loads(ordinary[i], &c, &err))
            fail_msg("%s: %s", ordinary[i], err.msg);
        if (strstr(ordinary[i], "ssh") == NULL && strstr(ordinary[i], "curl") == NULL &&
            strstr(ordinary[i], "sudo") == NULL && strstr(ordinary[i], "-- {v}") == NULL &&
            strstr(ordinary[i], "n + 1") == NULL)
            for (size_t v = 0; v < 4; v++)
                assert_silent(ordinary[i], &c, v, v + 1);
    }
}

static const char *const list_attacks[] = {
    "['sh','-c','echo {v}']",
    "['bash','-o','pipefail','-c','echo {v}']",
    "['bash','-eo','pipefail','-c','{v}']",
    "['bash','+o','posix','-c','{v}']",
    "['bash','--rcfile','f','-c','{v}']",
    "['bash','--norc','-ec','{v}']",
    "['timeout','5','bash','-c','{v}']",
    "['timeout','-s','KILL','{w}','bash','-c','{v}']",
    "['env','A=1','/bin/sh','-c','{v}']",
    "['env','-S','sh -c {v}']",
    "['env','BASH_ENV={v}','bash','script']",
    "['/usr/bin/nice','-n','5','sh','-c','{v}']",
    "['sudo','-u','nobody','sh','-c','{v}']",
    "['sudo','-u','nobody','sh','{v}','{w}']",
    "['nohup','setsid','sh','-c','{v}']",
    "['flock','f','-c','{v}']",
    "['flock','f','sh','-c','{v}']",
    "['su','nobody','-c','{v}']",
    "['su','-c','{v}','nobody']",
    "['script','-qc','echo {v}','f']",
    "['watch','echo {v}']",
    "['ssh','host','ls','{v}']",
    "['ssh','host','ls {v}']",
    "['parallel','echo {v}',':::','a']",
    "['docker','run','image','sh','-c','{v}']",
    "['xargs','sh','-c','{v}']",
    "['find','.','-exec','sh','-c','echo {v}',';']",
    "['bash','{v}','{w}']",
    "['bash','{v}']",
    "['bash','-x','{v}']",
    "['bash','-c{v}','a']",
};

static const char *const list_ordinary[] = {
    "['bash','-c','echo \\\"$1\\\"','_','{v}']",
    "['bash','-o','pipefail','-c','echo','_','{v}']",
    "['timeout','{w}','bash','-ec','echo','_','{v}']",
    "['sh','script','-c','{v}']",
    "['sh','--','{v}']",
    "['sh','-s','--','{v}']",
    "['./run','{v}','{w}']",
    "['echo','sh','{v}']",
    "['test','-v','{v}']",
    "['printf','{v}','{w}']",
    "['eval','{v}']", /* a program of that name */
    "['python3','-c','import sys','{v}']",
    "['ssh','-p','{w}','{v}','uptime']",
    "['flock','f','ls','{v}']",
    "['env','A={v}','ls']",
    "['sudo','-u','{w}','ls','{v}']",
    "['cp','script','{v}']",
    "['watch','-n','{v}','date']",
    "['watch','-x','ls','{v}']",
    "['docker','run','image','ls','{v}']",
    "['parallel','echo',':::','{v}']",
    "['su','-c','ls','--','{v}']",
    "['git','commit','-m','if {v}; then']",
};

/* `'` stands for `"`. */
static bool list_loads(const char *text, struct err *err)
{
    CLEANUP(buf) struct buf json = BUF_INIT(1 << 12);
    struct template_command c;

    for (; *text != '\0'; text++)
        buf_add_char(&json, *text == '\'' ? '"' : *text);
    return template_command_parse(arena_copy(&arena, buf_slice(&json)), &arena, &c, NULL, err) ==
           E_OK;
}

static void a_list_with_a_shell_among_its_words_takes_values_as_arguments_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(list_attacks) / sizeof(list_attacks[0]); i++) {
        struct err err = ERR_INIT;

        if (list_loads(list_attacks[i], &err))
            fail_msg("loads: %s", list_attacks[i]);
        if (strstr(err.msg, " in braces is in ") == NULL || strchr(err.msg, ':') == NULL)
            fail_msg("%s: %s", list_attacks[i], err.msg);
    }
    for (size_t i = 0; i < sizeof(list_ordinary) / sizeof(list_ordinary[0]); i++) {
        struct err err = ERR_INIT;

        if (!list_loads(list_ordinary[i], &err))
            fail_msg("%s: %s", list_ordinary[i], err.msg);
    }
}

/* ---- at random ---- */

/* `@` is a value, `^` a command. */
static const char *const values[] = {
    "{v}",
    "\"{v}\"",
    "x{v}",
    "\"x {v}\"",
    "{v}{w}",
    "{w}",
    "${z:-{v}}",
    "\"${z:-{v}}\"",
    "${z-\"{v}\"}",
    "\"${z:+{v}}\"",
    "\"$z{v}\"",
    "{none:-x}",
    "${z:-${y:-{v}}}",
    "-{v}",
    "x={v}",
    "a[{v}]",
    "\"a[{v}]\"",
    "plain",
};

static const char *const commands[] = {
    "echo @",
    "printf '%s' @",
    "printf @ @",
    "printf -v @ @",
    "printf -v x @",
    "x=@",
    "x=@ y=@ true",
    "export x=@",
    "export @",
    "readonly r=@",
    "declare @",
    "declare x=@",
    "declare -i n=@",
    "declare -i n; n=@",
    "typeset -i @",
    "[ @ ]",
    "[ @ = @ ]",
    "[ -n @ ]",
    "[ @ @ ]",
    "[ -v @ ]",
    "[ ! @ @ ]",
    "[ @ -eq @ ]",
    "[ @ = @ -o @ = @ ]",
    "test @",
    "test @ -lt 3",
    "test -v @",
    "[[ @ ]]",
    "[[ @ == @ ]]",
    "[[ @ -eq 1 ]]",
    "[[ 1 -gt @ ]]",
    "[[ -n @ && 1 -le @ ]]",
    "[[ ( @ -ne 1 ) ]]",
    "[[ -v @ ]]",
    "[[ x =~ @ ]]",
    "[[ @ < @ ]]",
    "let @",
    "let x=@",
    "echo $((@))",
    "echo $(( 1 + (@) ))",
    "echo \"$((@))\"",
    "echo $[@]",
    "((@))",
    "(( x = @ ))",
    "for ((i = @; i < 1; i++)); do true; done",
    "for i in @ @; do true; done",
    "echo ${z:@}",
    "echo ${HOME:0:@}",
    "echo \"${HOME:@:1}\"",
    "echo ${z:-@}",
    "echo ${q:=@}",
    "echo ${HOME#@}",
    "echo ${HOME/@/@}",
    "echo ${@:@}",
    "echo ${z[@]}",
    "echo ${a[@]:-@}",
    "a[@]=1",
    "a=(@ @)",
    "a=([@]=x)",
    "a[0]=@",
    "unset @",
    "read x <<E\n@\nE\n",
    "read @ <<E\nx\nE\n",
    "read -p @ x",
    "read x <<< @",
    "mapfile @",
    "eval @",
    "eval true; echo @",
    "trap @ EXIT",
    "alias e=@",
    "compgen -W @",
    "getopts ab @",
    "getopts ab o @",
    ". @",
    "source @",
    "source /dev/stdin <<< @",
    ". /dev/stdin <<E\n@\nE\n",
    "bash <<< @",
    "bash <<E\n@\nE\n",
    "cat <<E\n@\nE\n",
    "cat <<E | sh\n@\nE\n",
    "echo @ | sh",
    "echo @ | cat",
    "sh -c @",
    "sh -c \"true @\"",
    "bash -c 'true' @",
    "bash -ec @",
    "bash @ @",
    "sh -c 'true \"$1\"' sh @",
    "case @ in @) true;; x|y) ^;; esac",
    "case x in x) ^;; esac",
    "( ^ )",
    "(^; ^)",
    "{ ^; }",
    "if ^; then ^; fi",
    "! ^",
    "^ && ^",
    "^ || ^",
    "^; ^",
    "^\n^",
    "^ < @",
    "echo $(^)",
    "echo \"$(^)\"",
    "x=\"`^`\"",
    "cat <(^)",
    "^ 2>&1",
    "^ &>/dev/null",
    "2>/dev/null ^",
    "X=1 ^",
    "command ^",
    "true # @\n^",
    "echo 'it' \"it's\" @; ^",
    "PS4=@; set -x; ^",
    "RANDOM=@",
    "echo {{a,b} @",
    "echo \\$ @",
    "echo $'\\'' @; ^",
    "set -- @; ^",
    "((true); ^)",
    "while ^; do ^; break; done",
    "echo @ &",
    "true | ^",
    "echo $$ @",
    "exec 3<@",
    "bash -s -- a <<E\n@\nE\n",
    "bash -s -- @ <<'E'\ntrue\nE\n",
    "bash -s @ <<E\ntrue\nE\n",
    "bash +o posix -c @",
    "bash -eo pipefail -c 'true' @",
    "bash -eo pipefail @ @",
    "bash --rcfile f -c \"true @\"",
    "flock f -c @",
    "flock f bash @ @",
    "flock f sh -c 'true' sh @",
    "timeout 5 sh -c \"true @\"",
    "timeout 5 sh @ @",
    "env -u A sh -c 'true' @",
    "nice -n 5 sh @ @",
    "echo @ | xargs sh -c",
    "echo @ | xargs -I% sh -c 'true %'",
    "echo @ | xargs -I% sh -c 'true' %",
    "^ | sh",
    "^ | bash -s a",
    "^ | (sh)",
    "^ | cat",
    "^ | wc -c",
    "(^) | ^",
    "{ ^; } | ^",
    "if true; then ^; fi | ^",
    "^ | { ^; }",
    "eval \"$(^)\"",
    "sh -c \"$(^)\"",
    "echo $(( $(^) ))",
    "[[ $(^) -eq 1 ]]",
    "[ $(^) $(^) ]",
    "a[$(^)]=1",
    "bash <(^)",
    ". <(^)",
    "sh < <(^)",
    "cat <<< @",
    "eval \"$(cat <<E\n@\nE\n)\"",
};

static void add_random(struct buf *out, struct rng *rng, const char *pattern, int depth)
{
    for (; *pattern != '\0'; pattern++) {
        if (*pattern == '@')
            buf_add_str(out, values[rng_below(rng, sizeof(values) / sizeof(values[0]))]);
        else if (*pattern == '^' && depth < 4)
            add_random(out, rng, commands[rng_below(rng, sizeof(commands) / sizeof(commands[0]))],
                       depth + 1);
        else
            buf_add_char(out, *pattern == '^' ? ':' : *pattern);
    }
}

static void no_script_that_loads_carries_out_a_value(void **state)
{
    const char *more = getenv("WAYBILL_SEEDS"); /* NOLINT(concurrency-mt-unsafe) */
    size_t rounds = more != NULL ? strtoul(more, NULL, 10) * 10 : 400;
    size_t loaded = 0;
    struct rng rng;

    (void)state;
    rng_init(&rng, 11);
    for (size_t i = 0; i < rounds; i++) {
        CLEANUP(buf) struct buf script = BUF_INIT(1 << 16);
        struct template_command c;
        struct err err = ERR_INIT;

        add_random(&script, &rng, rng_below(&rng, 2) == 0 ? "^" : "^; ^", 0);
        size_t v = rng_below(&rng, sizeof(hostile) / sizeof(hostile[0]));
        size_t w = rng_below(&rng, sizeof(hostile) / sizeof(hostile[0]));

        if (!loads(buf_text(&script), &c, &err))
            continue;
        loaded++;
        assert_silent(buf_text(&script), &c, v, w);
        assert_silent(buf_text(&script), &c, 0, w);
    }
    assert_true(loaded > rounds / 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_value_where_a_shell_evaluates_it_again_is_refused, begin,
                                        end),
        cmocka_unit_test_setup_teardown(ordinary_scripts_load_and_carry_out_no_value, begin, end),
        cmocka_unit_test_setup_teardown(
            a_list_with_a_shell_among_its_words_takes_values_as_arguments_only, begin, end),
        cmocka_unit_test_setup_teardown(no_script_that_loads_carries_out_a_value, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
