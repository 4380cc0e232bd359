/* SPDX-License-Identifier: MIT */
#include "base/compiler.h"
#include "base/text/nearest.h"
#include "testing.h"

static const char *const words[] = {"queue", "params", "priority", "delay", "labels", "due_at",
                                    "key",   "body",   "a",        "x",     "timeout"};

static const char *near(const char *word)
{
    return nearest_word(slice_of(word), words, ARRAY_LEN(words));
}

static void a_word_with_a_slip_finds_its_neighbour(void **state)
{
    (void)state;
    static const struct {
        const char *slip;
        const char *word;
    } cases[] = {
        {"queue", "queue"},      {"quue", "queue"},       {"queues", "queue"},
        {"qeueu", NULL},         {"uqeue", "queue"},      {"QUEUE", "queue"},
        {"Prams", "params"},     {"parms", "params"},     {"prioirty", "priority"},
        {"priorty", "priority"}, {"proirty", "priority"}, {"due-at", "due_at"},
        {"boby", "body"},        {"kye", "key"},          {"timeuot", "timeout"},
        {"laebls", "labels"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *found = near(cases[i].slip);

        if (cases[i].word == NULL)
            assert_null(found);
        else if (found == NULL)
            fail_msg("nothing is near %s", cases[i].slip);
        else
            assert_string_equal(found, cases[i].word);
    }
}

static void what_is_far_from_all_finds_nothing(void **state)
{
    (void)state;
    static const char *const far[] = {"", "banana", "zz", "bo", "q", "queueueueue", "command"};

    for (size_t i = 0; i < ARRAY_LEN(far); i++)
        if (near(far[i]) != NULL)
            fail_msg("%s is near %s", near(far[i]), far[i]);
}

static void one_letter_words_are_not_near_other_letters(void **state)
{
    (void)state;
    assert_null(near("z"));
    assert_string_equal(near("A"), "a");
}

static void the_nearer_wins_and_then_the_first(void **state)
{
    (void)state;
    static const char *const close[] = {"fetched", "fetcher", "fetch"};

    assert_string_equal(nearest_word(SLICE("fetche"), close, 3), "fetched");
    assert_string_equal(nearest_word(SLICE("fetcherr"), close, 3), "fetcher");
    assert_string_equal(nearest_word(SLICE("fetcch"), close, 3), "fetch");
    assert_null(nearest_word(SLICE("fetch"), close, 0));
}

static void words_of_any_length_are_safe(void **state)
{
    (void)state;
    char longest[65];
    char longer[1000];
    const char *const list[] = {longest, longer};

    memset(longest, 'y', 64);
    longest[64] = '\0';
    memset(longer, 'y', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_null(nearest_word(slice_of(longer), list, 2));
    assert_ptr_equal(nearest_word(slice_make(longer, 64), list, 2), longest);
    assert_ptr_equal(nearest_word(slice_make(longer, 60), list, 2), longest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_word_with_a_slip_finds_its_neighbour),
        cmocka_unit_test(what_is_far_from_all_finds_nothing),
        cmocka_unit_test(one_letter_words_are_not_near_other_letters),
        cmocka_unit_test(the_nearer_wins_and_then_the_first),
        cmocka_unit_test(words_of_any_length_are_safe),
    };

    return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
