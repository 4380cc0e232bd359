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

/* The program is about to die: whatever works is good enough. */
static void report(void)
{
    fprintf(stderr, "fuzz: input %llu of seed %llu, %zu bytes: \"", (unsigned long long)number,
            (unsigned long long)seed, current.size);
    for (size_t i = 0; i < current.size && i < 4000; i++) {
        unsigned char c = (unsigned char)current.data[i];

        if (c == '"' || c == '\\')
            fprintf(stderr, "\\%c", c);
        else if (c >= 0x20 && c < 0x7F)
            fputc(c, stderr);
        else
            fprintf(stderr, "\\%03o", c);
    }
    fprintf(stderr, "\"\nfuzz: replay with: %s @%llu %llu\n", program, (unsigned long long)number,
            (unsigned long long)seed);
}

static void on_signal(int signal_number)
{
    signal(signal_number, SIG_DFL);
    report();
    raise(signal_number);
}

static void watch_for_death(void)
{
    static const int deadly[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

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
