/* SPDX-License-Identifier: MIT */
#include "cli/table/noun.h"

#include "cli/view/reply_json.h"

#define NOUN_ROW(ID, word, verb, text) [NOUN_##ID] = &word##_noun,

const struct noun *const nouns[NOUN_COUNT] = {NOUNS(NOUN_ROW)};

const char *noun_command(enum noun_id id)
{
    return nouns[id]->command != NULL ? nouns[id]->command : nouns[id]->name;
}

void noun_print_table(enum noun_id id, const json_t *items, int64_t now_at, const struct screen *s)
{
    view_table_print(
        &(struct view_table){.columns = nouns[id]->columns, .items = items, .now_at = now_at}, s);
}

void noun_print_page(enum noun_id id, const json_t *item, int64_t now_at, const struct screen *s)
{
    const struct noun *noun = nouns[id];
    const struct view_source from = {.item = item, .now_at = now_at};

    fprintf(screen_out(s), "%s %s", noun->name, reply_text(item, "name"));
    view_line_print(noun->heading, &from, s);
    fputc('\n', screen_out(s));
    view_page_print(noun->page, &from, s);
    if (noun->part != NULL)
        view_table_print(&(struct view_table){.columns = noun->part_columns,
                                              .items = json_object_get(item, noun->part),
                                              .parent = item,
                                              .indent = 2,
                                              .now_at = now_at},
                         s);
    if (noun->print_more != NULL)
        noun->print_more(item, s);
}
