/* SPDX-License-Identifier: MIT */
#include "driver.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "mutate.h"

static struct slice current; /* the input that is running */

void fuzz_fail(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("fuzz: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    abort();
}

#ifdef FUZZ_LIBFUZZER

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    current = slice_make((const char *)data, size);
    fuzz_target.run(current);
    return 0;
}

#else

static char *room; /* FUZZ_INPUT_MAX bytes, then a page that cannot be touched */
static const char *program;
static uint64_t seed;
static volatile uint64_t number; /* of the input */

/* Sanitizers have their own way to end a program; without them it is absent. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

/* The last words, put together by hand: in a signal handler little else is allowed. */
static char words[FUZZ_INPUT_MAX * 4 + 1000];
static size_t words_size;

static void add_text(const char *text)
{
    while (*text != '\0' && words_size < sizeof(words))
        words[words_size++] = *text++;
}

static void add_number(uint64_t value)
{
    char digits[24];
    size_t at = sizeof(digits) - 1;

    digits[at] = '\0';
    do
        digits[--at] = (char)('0' + value % 10);
    while ((value /= 10) > 0);
    add_text(digits + at);
}

/* As it would stand in a C string. */
static void add_byte(unsigned char c)
{
    bool plain = c >= 0x20 && c < 0x7F && c != '"' && c != '\\';

    if (plain)
        add_text((char[]){(char)c, '\0'});
    else
        add_text((char[]){'\\', (char)('0' + (c >> 6)), (char)('0' + (c >> 3 & 7)),
                          (char)('0' + (c & 7)), '\0'});
}

static void report(void)
{
    words_size = 0;
    add_text("fuzz: the input is \"");
    for (size_t i = 0; i < current.size; i++)
        add_byte((unsigned char)current.data[i]);
    add_text("\"\nfuzz: replay with: ");
    add_text(program);
    add_text(" @");
    add_number(number);
    add_text(" ");
    add_number(seed);
    add_text("\n");
    if (write(STDERR_FILENO, words, words_size) < 0)
        _exit(3);
}

static void on_signal(int signal_number)
{
    signal(signal_number, SIG_DFL);
    report();
    raise(signal_number);
}

/* A sanitizer reports a bad access itself and then calls back; an abort it leaves to us. */
static void watch_for_death(void)
{
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

    signal(SIGABRT, on_signal);
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(report);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(deadly); i++)
        signal(deadly[i], on_signal);
}

static void make_room(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    ASSERT(FUZZ_INPUT_MAX % page == 0);
    room = mmap(NULL, FUZZ_INPUT_MAX + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                -1, 0);
    ASSERT(room != MAP_FAILED);
    ASSERT(mprotect(room + FUZZ_INPUT_MAX, page, PROT_NONE) == 0);
}

static void run(const char *data, size_t size)
{
    char *at = room + FUZZ_INPUT_MAX - size;

    memcpy(at, data, size);
    current = slice_make(at, size);
    fuzz_target.run(current);
}

/* Far apart for neighbouring numbers: the generator's own mixing does the rest. */
static void run_number(uint64_t n)
{
    static struct fuzz_input input;
    struct rng rng;

    number = n;
    rng_init(&rng, seed * UINT64_C(0xD1342543DE82EF95) + n * UINT64_C(0xA0761D6478BD642F));
    fuzz_make_input(&fuzz_target, &rng, &input);
    run(input.data, input.size);
}

static int run_file(const char *path)
{
    static char data[FUZZ_INPUT_MAX];
    FILE *f = fopen(path, "rb");

    if (f == NULL) {
        fprintf(stderr, "fuzz: %s: %s\n", path, strerror(errno));
        return 2;
    }
    size_t size = fread(data, 1, sizeof(data), f);

    fclose(f);
    run(data, size);
    return 0;
}

static void run_all(uint64_t count, int64_t until_mono)
{
    uint64_t n = 0;

    while (n < count && (n % 1000 != 0 || clock_mono_us() < until_mono))
        run_number(n++);
    printf("%llu inputs of seed %llu\n", (unsigned long long)n, (unsigned long long)seed);
}

static bool parse_number(const char *text, uint64_t *ret_value, const char **ret_rest)
{
    char *rest;

    if (text == NULL || *text < '0' || *text > '9')
        return false;
    *ret_value = strtoull(text, &rest, 10);
    *ret_rest = rest;
    return true;
}

static int usage(void)
{
    fprintf(stderr, "usage: %s COUNT|SECONDSs|@NUMBER SEED, or %s FILE\n", program, program);
    return 2;
}

int main(int argc, char **argv)
{
    const char *rest;
    uint64_t amount;

    program = argv[0];
    make_room();
    watch_for_death();
    if (argc == 2)
        return run_file(argv[1]);
    if (argc != 3 || !parse_number(argv[2], &seed, &rest) || *rest != '\0')
        return usage();
    bool alone = argv[1][0] == '@';

    if (!parse_number(argv[1] + alone, &amount, &rest))
        return usage();
    if (*rest == '\0' && alone)
        run_number(amount);
    else if (*rest == '\0')
        run_all(amount, INT64_MAX);
    else if (strcmp(rest, "s") == 0 && !alone)
        run_all(UINT64_MAX, clock_mono_us() + (int64_t)amount * US_PER_S);
    else
        return usage();
    return 0;
}

#endif
