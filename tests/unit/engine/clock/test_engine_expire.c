/*
 * Jobs that have not started in time.
 */
/* SPDX-License-Identifier: MIT */
#include "engine_fixture.h"
#include "testing.h"

static void nothing_yet(void **state)
{
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_yet)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
