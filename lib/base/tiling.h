// SPDX-License-Identifier: Apache-2.0
// Tilings as text: "method blocks, vector_width 8, aligned". A table of a tiling's fields prints
// the text and reads it.
#ifndef WEFT_LIB_TILING_H
#define WEFT_LIB_TILING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/status.h>

typedef enum weft_tiling_kind {
    WEFT_TILING_INT,   // an int
    WEFT_TILING_INT64, // an int64_t
    WEFT_TILING_FLAG,  // a bool
    WEFT_TILING_WORD,  // an enum that counts words from 0
} weft_tiling_kind;

typedef struct weft_tiling_field {
    const char *name; // the member's
    size_t offset;    // of it in the struct
    weft_tiling_kind kind;
    const char *const *words; // of WEFT_TILING_WORD
    int n_words;
} weft_tiling_field;

enum { WEFT_TILING_MOST_FIELDS = 32 };

typedef struct weft_tiling_table {
    const weft_tiling_field *fields; // in the order of the text
    int n_fields;                    // up to WEFT_TILING_MOST_FIELDS
} weft_tiling_table;

// Entries of a table. The kind follows from the member's type.
#define TILING_FIELD(type, member)                                                                 \
    {                                                                                              \
        .name = #member, .offset = offsetof(type, member),                                         \
        .kind = _Generic(((type *)NULL)->member, int                                               \
                         : WEFT_TILING_INT, int64_t                                                \
                         : WEFT_TILING_INT64, bool                                                 \
                         : WEFT_TILING_FLAG)                                                       \
    }
#define TILING_WORD(type, member, list)                                                            \
    {                                                                                              \
        .name = #member, .offset = offsetof(type, member), .kind = WEFT_TILING_WORD,               \
        .words = (list), .n_words = (int)(sizeof(list) / sizeof((list)[0]))                        \
    }

// The table of an array of them.
#define TILING_TABLE(list)                                                                         \
    {                                                                                              \
        .fields = (list), .n_fields = (int)(sizeof(list) / sizeof((list)[0]))                      \
    }

// Fields separated by ", ": "name value"; a flag that is on is its name alone. Numbers that are 0
// and flags that are off are left out. Returns and cuts as snprintf() does.
int weft_tiling_print(const weft_tiling_table *table, const void *tiling, char *text, size_t size);

// The inverse, of a call's parameter: if `text` is NULL, nothing is forced, and the tiling not
// changed. Fields may come in any order, with any spaces around names and values; missing ones are
// 0, off, or the first word. WEFT_BAD_ARGUMENT says what is wrong and at which character, after
// `name`, which is the call and its parameter: "matmul: tiling".
weft_status weft_tiling_read(bool *is_forced, void *tiling, const weft_tiling_table *table,
                             const char *name, const char *text);

#endif
