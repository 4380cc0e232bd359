/*
 * JSON objects from outside, read into structs by a table of their fields.
 *
 * A table has one row for each key: its name, the type and the place of its value in the struct,
 * its bounds, its default and its meaning. Reading, canonical JSON, error messages, the
 * documentation and the OpenAPI schemas of requests all follow the same table.
 *
 * A message begins with the place of the mistake, read from the outside in: "steps[6].queue: must
 * be …", "retry: unknown key 'mex', did you mean 'max'?". `fault_at` points to the value, or to
 * the unknown key, in the JSON text; YAML lines are found by it.
 *
 * For text that jtext_check has accepted, which also refuses duplicate keys.  Pure.
 */
/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct field;
struct object;
struct object_read;

/* Reads a value into r->to, or checks one that has been read. The caller adds the place to its
 * error. */
typedef enum err_code field_fn(struct object_read *r, const struct field *f, struct slice value);

/* Adds the canonical JSON of the field. */
typedef void field_write_fn(const void *from, const struct field *f, struct buf *out);

enum field_type {
    FIELD_T_CUSTOM,  /* read by `read` */
    FIELD_T_TEXT,    /* struct slice; bounds are bytes */
    FIELD_T_INT,     /* int */
    FIELD_T_INT64,   /* int64_t */
    FIELD_T_REAL,    /* double; bounds are whole */
    FIELD_T_LENGTH,  /* int64_t, microseconds: "30s" or a number of seconds */
    FIELD_T_SIZE,    /* int64_t, bytes: "64K" or a number */
    FIELD_T_TIME,    /* int64_t, microseconds since 1970 */
    FIELD_T_ID,      /* int64_t; `min` 1 refuses the id 0 */
    FIELD_T_BOOL,    /* bool */
    FIELD_T_WORD,    /* an enum: words[min] to words[max] */
    FIELD_T_OBJECT,  /* struct slice: any JSON object */
    FIELD_T_JSON,    /* struct slice: any JSON value */
    FIELD_T_MEMBERS, /* an object whose members, rows of `of`, are in the same struct */
    FIELD_T_IGNORED, /* accepted and ignored */
    FIELD_T_UNBUILT, /* known to the design, not built yet */
};

struct field {
    const char *name;
    size_t size; /* of the name */
    enum field_type type;
    bool required;            /* the object needs it */
    bool null;                /* null means not given; otherwise null is a value */
    bool ours;                /* only the engine writes it, into the store */
    bool empty;               /* canonical JSON keeps an empty list or object */
    size_t offset;            /* of the value in the struct */
    size_t given;             /* offset of a bool that is set when the value is given; 0: none */
    int64_t min, max;         /* in the unit of the field */
    const char *other;        /* another name of the key, or NULL */
    field_fn *read;           /* FIELD_T_CUSTOM */
    field_fn *check;          /* of a value that has been read, or NULL */
    field_write_fn *write;    /* FIELD_T_CUSTOM, where canonical JSON is made */
    const char *const *words; /* FIELD_T_WORD */
    const struct object *of;  /* FIELD_T_MEMBERS */

    /* For people and documents. */
    const char *standard; /* the default as JSON; NULL: the field stays as it was */
    const char *absent;   /* the default for people; NULL: `standard` */
    const char *help;     /* one sentence, Markdown */
    const char *form;     /* the form of a value; NULL: follows from the type */
    const char *schema;   /* JSON schema, or the name of one; NULL: follows from the type */
};

/* Checks a whole object that has been read; r->key names the member to blame, if it is one. */
typedef enum err_code object_check_fn(struct object_read *r, struct slice value);

struct object {
    const char *what;   /* for messages: "a job" */
    const char *schema; /* its name in the OpenAPI document; NULL: it has none */
    const struct field *fields;
    size_t n_fields;
    bool needs;             /* some of its fields are required */
    object_check_fn *check; /* or NULL */
    const char *hint;       /* after "must be an object": what one looks like; or NULL */
    const char *alone; /* the key that a number instead of the object probably means; or NULL */
};

enum { OBJECT_FIELDS_MAX = 32 };

/*
 * Rows: FIELD_INT("priority", submit_item, priority, .min = -1000, .max = 1000, .help = "…").
 * The type of the struct's member is checked.
 */
#define FIELD_ROW(key, t, ...)                                           \
    {                                                                    \
        .name = (key), .size = sizeof(key) - 1, .type = (t), __VA_ARGS__ \
    }
/* NOLINTBEGIN(bugprone-macro-parentheses): a type */
#define FIELD_OFFSET(c_type, s, m) \
    .offset = _Generic(((struct s){}).m, c_type : offsetof(struct s, m))
/* NOLINTEND(bugprone-macro-parentheses) */
#define FIELD_TEXT(key, s, m, ...) \
    FIELD_ROW(key, FIELD_T_TEXT, FIELD_OFFSET(struct slice, s, m), __VA_ARGS__)
#define FIELD_INT(key, s, m, ...) FIELD_ROW(key, FIELD_T_INT, FIELD_OFFSET(int, s, m), __VA_ARGS__)
#define FIELD_INT64(key, s, m, ...) \
    FIELD_ROW(key, FIELD_T_INT64, FIELD_OFFSET(int64_t, s, m), __VA_ARGS__)
#define FIELD_REAL(key, s, m, ...) \
    FIELD_ROW(key, FIELD_T_REAL, FIELD_OFFSET(double, s, m), __VA_ARGS__)
#define FIELD_LENGTH(key, s, m, ...) \
    FIELD_ROW(key, FIELD_T_LENGTH, FIELD_OFFSET(int64_t, s, m), __VA_ARGS__)
#define FIELD_SIZE(key, s, m, ...) \
    FIELD_ROW(key, FIELD_T_SIZE, FIELD_OFFSET(int64_t, s, m), __VA_ARGS__)
#define FIELD_TIME(key, s, m, ...) \
    FIELD_ROW(key, FIELD_T_TIME, FIELD_OFFSET(int64_t, s, m), __VA_ARGS__)
#define FIELD_ID(key, s, m, ...) \
    FIELD_ROW(key, FIELD_T_ID, FIELD_OFFSET(int64_t, s, m), __VA_ARGS__)
#define FIELD_BOOL(key, s, m, ...) \
    FIELD_ROW(key, FIELD_T_BOOL, FIELD_OFFSET(bool, s, m), __VA_ARGS__)
#define FIELD_WORD(key, s, m, ...) \
    FIELD_ROW(key, FIELD_T_WORD, FIELD_OFFSET(unsigned, s, m), __VA_ARGS__)
#define FIELD_OBJECT(key, s, m, ...) \
    FIELD_ROW(key, FIELD_T_OBJECT, FIELD_OFFSET(struct slice, s, m), __VA_ARGS__)
#define FIELD_JSON(key, s, m, ...) \
    FIELD_ROW(key, FIELD_T_JSON, FIELD_OFFSET(struct slice, s, m), __VA_ARGS__)
#define FIELD_CUSTOM(key, reader, ...) FIELD_ROW(key, FIELD_T_CUSTOM, .read = (reader), __VA_ARGS__)
#define FIELD_MEMBERS(key, table, ...) FIELD_ROW(key, FIELD_T_MEMBERS, .of = (table), __VA_ARGS__)
#define FIELD_IGNORED(key) FIELD_ROW(key, FIELD_T_IGNORED, .null = true)
#define FIELD_GIVEN(s, m) .given = _Generic(((struct s){}).m, bool : offsetof(struct s, m))
#define OBJECT_FIELDS(list) .fields = (list), .n_fields = ARRAY_LEN(list)

/* Where in the text an object is: `name` or `name[index]` inside of `outer`. */
struct object_place {
    const struct object_place *outer; /* NULL: the outermost */
    const char *name;
    size_t index;
    bool listed; /* it is one of a list */
};

/* Takes a mistake; returns false when it shall end the reading as its error. */
typedef bool object_fault_fn(void *ctx, const char *fault_at, const struct err *err);

struct object_faults {
    object_fault_fn *take;
    void *ctx;
    size_t count; /* out: mistakes that were taken */
};

/* An object while it is read. */
struct object_read {
    void *to; /* the struct that is filled; offsets count from here */
    struct arena *arena;
    struct err *err;
    const struct object_place *place; /* of the object that is read; NULL: the outermost */
    const char *key;                  /* of the member that is read, as written */
    /* Texts are copied into the arena, objects without their white space; otherwise they are slices
     * of the JSON, unless an escape had to be decoded. */
    bool copies;
    bool stored;                  /* the text comes from the store: `ours` fields are accepted */
    bool placed;                  /* `err` already has its place */
    const void *with;             /* context for the custom readers */
    struct object_faults *faults; /* NULL: the first mistake ends the reading */
    const char *fault_at;         /* out: the value or key to blame; NULL: the whole object */
};

/* Reads all members and checks the whole. E_INVALID for a mistake (E_TOO_LARGE and others from
 * custom readers). */
MUST_CHECK enum err_code object_read(struct object_read *r, const struct object *table,
                                     struct slice value);

/* The same for a member that is an object, into its own struct. */
MUST_CHECK enum err_code object_read_in(struct object_read *r, const struct object *table,
                                        struct slice value, void *to);

/* Reads one item into zeroed memory; the caller adds the place to its error. */
typedef enum err_code object_item_fn(struct object_read *r, void *to, struct slice value);

struct object_list {
    const char *what; /* for messages: "steps" */
    size_t size;      /* of an item's struct */
    size_t max;
    bool alone;           /* a single item is accepted as a list of one */
    bool numbered;        /* err->item is the index of the mistake */
    enum err_code beyond; /* error for more than `max` items; 0: E_INVALID */
    const struct object *of;
    object_item_fn *read; /* instead of `of` */
};

/* Reads a member that is a list.  Items are in the arena, followed by one that is zero.  With
 * `faults`, items with a mistake are zero. */
MUST_CHECK enum err_code object_read_list(struct object_read *r, const struct object_list *list,
                                          struct slice value, void *ret_items, size_t *ret_n);

/* Reads one value by its row. */
MUST_CHECK enum err_code field_read(struct object_read *r, const struct field *f,
                                    struct slice value);

/* Puts the place of the member (with key NULL: of the object) in front of the error, once. */
enum err_code object_blame(struct object_read *r);

/* After a mistake: whether it was taken and reading continues. */
bool object_goes_on(struct object_read *r);

/* Sets all fields that have a default. */
void object_defaults(struct object_read *r, const struct object *table);

/* The field of that name, which the table must have. */
const struct field *object_get(const struct object *table, const char *name);

/* Canonical JSON: the fields that `given` has, in the order of the table. Empty lists and objects
 * are left out. */
void object_write(const void *from, const struct object *table, struct slice given,
                  struct buf *out);
void field_write(const void *from, const struct field *f, struct buf *out);

/* Adds the JSON schema of an object.  It may refer to those named Length, Size, Time and Id. */
void object_schema(const struct object *table, struct buf *out);

/* "1 to 10000", "1ms to 10000d": for messages and documentation. */
void field_bounds(const struct field *f, struct buf *out);

/* For custom readers.  E_INVALID: "must be WHAT, not VALUE". */
enum err_code object_must_be(struct object_read *r, const char *what, struct slice value);
