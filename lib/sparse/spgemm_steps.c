// SPDX-License-Identifier: Apache-2.0
// The steps of sparse x sparse products: arguments, enqueue.
#include "base/arithmetic.h"
#include "op/items.h"
#include "operand/view.h"
#include "runtime/parameters.h"
#include "sparse/spgemm_call.h"
#include "sparse/spgemm_parameters.h"

// ---- arguments

typedef struct {
    FACTORS_PARAMETERS(FIELD, )
} factors;

typedef struct {
    LEFT_PARAMETERS(FIELD, , OUT)
} left;

typedef struct {
    NOTES_PARAMETERS(FIELD, )
} notes;

typedef struct {
    COUNTS_PARAMETERS(FIELD, , OUT)
} counts;

typedef struct {
    OFFSETS_PARAMETERS(FIELD, , SOLE_OUT)
} offsets;

typedef struct {
    ENTRIES_PARAMETERS(FIELD, )
} entries;

typedef struct {
    ELEMENTS_PARAMETERS(FIELD, )
} elements;

// One call.
typedef struct {
    weft_launch *launch;
    const weft_spgemm_state *s;
    factors factors;
    left left;
    notes notes;
    counts counts;
    offsets offsets;   // of a sparse C
    entries entries;   // the same
    elements elements; // of a dense one
} product;

// The array, or where it is not there another buffer, which is not read.
static cl_mem or_offsets(cl_mem array, const weft_csr *csr)
{
    return array && csr->nnz > 0 ? array : csr->offsets;
}

static factors factors_of(const weft_csr *A, const weft_csr *B)
{
    return (factors){
        .a_offsets = A->offsets,
        .a_offsets_start = A->offsets_start,
        .a_indices = or_offsets(A->indices, A),
        .a_indices_start = A->indices_start,
        .a_values = or_offsets(A->values, A),
        .a_values_start = A->values_start,
        .b_offsets = B->offsets,
        .b_offsets_start = B->offsets_start,
        .b_indices = or_offsets(B->indices, B),
        .b_indices_start = B->indices_start,
        .b_values = or_offsets(B->values, B),
        .b_values_start = B->values_start,
    };
}

// Without long rows `other` is passed for the notes, and without sorted ones for what they leave;
// it is not read.
static product product_of(weft_launch *launch, const weft_spgemm_state *s, const weft_call *call,
                          cl_mem scratch, cl_mem other)
{
    return (product){
        .launch = launch,
        .s = s,
        .factors =
            factors_of(weft_call_csr(call, WEFT_SPGEMM_A), weft_call_csr(call, WEFT_SPGEMM_B)),
        .left = {s->has_sorted ? scratch : other, s->left},
        .notes = {s->has_long ? scratch : other, s->notes, WEFT_SPGEMM_NOTED},
        .counts = {scratch, s->counts},
    };
}

static void add_factors(weft_arguments *arguments, const factors *a)
{
    ADD_LISTED(arguments, FACTORS_PARAMETERS(LISTED, COMMA));
}

static void add_left(weft_arguments *arguments, const left *a)
{
    ADD_LISTED(arguments, LEFT_PARAMETERS(LISTED, COMMA, OUT));
}

static void add_notes(weft_arguments *arguments, const notes *a)
{
    ADD_LISTED(arguments, NOTES_PARAMETERS(LISTED, COMMA));
}

static void add_counts(weft_arguments *arguments, const counts *a)
{
    ADD_LISTED(arguments, COUNTS_PARAMETERS(LISTED, COMMA, OUT));
}

static void add_offsets(weft_arguments *arguments, const offsets *a)
{
    ADD_LISTED(arguments, OFFSETS_PARAMETERS(LISTED, COMMA, SOLE_OUT));
}

static void add_marks(weft_arguments *arguments, const product *p, int64_t words)
{
    const struct {
        MARKS_PARAMETERS(FIELD, )
    } own = {(size_t)weft_spgemm_marks_bytes(words, p->s->tiling.items)}, *a = &own;
    ADD_LISTED(arguments, MARKS_PARAMETERS(LISTED, COMMA));
}

static size_t sums_bytes(const product *p, int64_t columns)
{
    return (size_t)(columns * weft_sum_bytes(p->s->problem.dtype));
}

static void add_entries(weft_arguments *arguments, const entries *a)
{
    ADD_LISTED(arguments, ENTRIES_PARAMETERS(LISTED, COMMA));
}

// Words of marks, their ranks, and so many sums; then the entries.
static void add_marked(weft_arguments *arguments, const product *p, int64_t words, int64_t columns)
{
    const struct {
        SUMS_PARAMETERS(FIELD, )
    } own = {(size_t)words * sizeof(cl_int), sums_bytes(p, columns)}, *a = &own;
    add_marks(arguments, p, words);
    ADD_LISTED(arguments, SUMS_PARAMETERS(LISTED, COMMA));
    add_entries(arguments, &p->entries);
}

// C, and sums of so many columns.
static void add_elements(weft_arguments *arguments, product *p, int64_t columns)
{
    elements *a = &p->elements;
    a->sums = sums_bytes(p, columns);
    ADD_LISTED(arguments, ELEMENTS_PARAMETERS(LISTED, COMMA));
}

// Of marks, where there is room for so many sums.
static cl_int words_of(const product *p, int columns)
{
    return (cl_int)weft_spgemm_words(columns, p->s->tiling.items);
}

// ---- enqueue

static cl_int long_from(const weft_spgemm_state *s)
{
    return s->has_long ? s->tiling.long_from : 0;
}

// To count, tiling.columns is the number of words.
static weft_status enqueue_count(const product *p)
{
    const weft_spgemm_state *s = p->s;
    const struct {
        COUNT_PARAMETERS(FIELD, )
    } own = {.n_rows = s->problem.m,
             .n_cols = (cl_int)s->problem.n,
             .rows = s->tiling.rows,
             .words = s->tiling.columns,
             .sorted = s->tiling.sorted,
             .long_from = long_from(s)},
      *a = &own;
    weft_arguments arguments = {.n = 0};
    ADD_LISTED(&arguments, COUNT_PARAMETERS(LISTED, COMMA));
    add_factors(&arguments, &p->factors);
    add_left(&arguments, &p->left);
    add_notes(&arguments, &p->notes);
    add_offsets(&arguments, &p->offsets);
    add_marks(&arguments, p, own.words);
    return weft_items_enqueue(p->launch, s->rows, arguments.n, arguments.list, s->tiling.items,
                              (const int64_t[3]){s->n_row_blocks});
}

static weft_status enqueue_fill(const product *p)
{
    const weft_spgemm_state *s = p->s;
    const struct {
        FILL_PARAMETERS(FIELD, )
    } own = {.n_rows = s->problem.m,
             .n_cols = (cl_int)s->problem.n,
             .rows = s->tiling.rows,
             .columns = s->tiling.columns,
             .words = words_of(p, s->tiling.columns),
             .sorted = s->tiling.sorted,
             .long_from = long_from(s)},
      *a = &own;
    weft_arguments arguments = {.n = 0};
    ADD_LISTED(&arguments, FILL_PARAMETERS(LISTED, COMMA));
    add_factors(&arguments, &p->factors);
    add_left(&arguments, &p->left);
    add_notes(&arguments, &p->notes);
    add_offsets(&arguments, &p->offsets);
    add_marked(&arguments, p, own.words, own.columns);
    return weft_items_enqueue(p->launch, s->rows, arguments.n, arguments.list, s->tiling.items,
                              (const int64_t[3]){s->n_row_blocks});
}

// To count entries or to fill them.
static weft_status enqueue_sorted(const product *p, bool is_fill)
{
    const weft_spgemm_state *s = p->s;
    const weft_spgemm_tiling *t = &s->tiling;
    const size_t products = (size_t)t->sorted;
    const struct {
        SORT_PARAMETERS(FIELD, )
        KEYS_PARAMETERS(FIELD, )
        PRODUCTS_PARAMETERS(FIELD, )
    } own = {.n_rows = s->problem.m,
             .rows = t->rows,
             .sorted = t->sorted,
             .sort_rows = t->sort_rows,
             .column_bits = weft_spgemm_column_bits(s->problem.n),
             .keys = products * sizeof(cl_uint),
             .a_factors = sums_bytes(p, t->sorted),
             .b_factors = sums_bytes(p, t->sorted),
             .heads = (products + 1) * sizeof(cl_ushort)},
      *a = &own;
    weft_arguments arguments = {.n = 0};
    ADD_LISTED(&arguments, SORT_PARAMETERS(LISTED, COMMA));
    add_factors(&arguments, &p->factors);
    add_left(&arguments, &p->left);
    add_offsets(&arguments, &p->offsets);
    ADD_LISTED(&arguments, KEYS_PARAMETERS(LISTED, COMMA));
    if (is_fill) {
        ADD_LISTED(&arguments, PRODUCTS_PARAMETERS(LISTED, COMMA));
        add_entries(&arguments, &p->entries);
    }
    return weft_items_enqueue(p->launch, s->sorted, arguments.n, arguments.list, t->sort_items,
                              (const int64_t[3]){s->n_row_blocks});
}

static weft_status enqueue_dense(product *p)
{
    const weft_spgemm_state *s = p->s;
    const struct {
        DENSE_PARAMETERS(FIELD, )
    } own = {.n_rows = s->problem.m,
             .n_cols = (cl_int)s->problem.n,
             .rows = s->tiling.rows,
             .columns = s->tiling.columns,
             .long_from = long_from(s)},
      *a = &own;
    weft_arguments arguments = {.n = 0};
    ADD_LISTED(&arguments, DENSE_PARAMETERS(LISTED, COMMA));
    add_factors(&arguments, &p->factors);
    add_notes(&arguments, &p->notes);
    add_elements(&arguments, p, own.columns);
    return weft_items_enqueue(p->launch, s->rows, arguments.n, arguments.list, s->tiling.items,
                              (const int64_t[3]){s->n_row_blocks});
}

static weft_status enqueue_start(const product *p)
{
    weft_arguments arguments = {.n = 0};
    add_notes(&arguments, &p->notes);
    return weft_items_enqueue(p->launch, p->s->start, arguments.n, arguments.list,
                              p->s->tiling.items, (const int64_t[3]){1});
}

static weft_status enqueue_count_long(const product *p)
{
    const weft_spgemm_state *s = p->s;
    const struct {
        COUNT_LONG_PARAMETERS(FIELD, )
    } own = {.n_cols = (cl_int)s->problem.n,
             .chunk = s->chunk,
             .share = s->share,
             .n_chunks = (cl_int)s->n_chunks,
             .words = s->tiling.long_columns},
      *a = &own;
    weft_arguments arguments = {.n = 0};
    ADD_LISTED(&arguments, COUNT_LONG_PARAMETERS(LISTED, COMMA));
    add_factors(&arguments, &p->factors);
    add_notes(&arguments, &p->notes);
    add_counts(&arguments, &p->counts);
    add_marks(&arguments, p, own.words);
    return weft_items_enqueue(
        p->launch, s->count_long, arguments.n, arguments.list, s->tiling.items,
        (const int64_t[3]){ceil_div(s->n_chunks, s->share), WEFT_SPGEMM_AT_ONCE});
}

static weft_status enqueue_join_long(const product *p)
{
    const struct {
        JOIN_LONG_PARAMETERS(FIELD, )
    } own = {.n_chunks = (cl_int)p->s->n_chunks}, *a = &own;
    weft_arguments arguments = {.n = 0};
    ADD_LISTED(&arguments, JOIN_LONG_PARAMETERS(LISTED, COMMA));
    add_notes(&arguments, &p->notes);
    add_counts(&arguments, &p->counts);
    add_offsets(&arguments, &p->offsets);
    return weft_items_enqueue(p->launch, p->s->join_long, arguments.n, arguments.list,
                              p->s->tiling.items, (const int64_t[3]){1, WEFT_SPGEMM_AT_ONCE});
}

static weft_status enqueue_fill_long(const product *p)
{
    const weft_spgemm_state *s = p->s;
    const struct {
        FILL_LONG_PARAMETERS(FIELD, )
    } own = {.n_cols = (cl_int)s->problem.n,
             .chunk = s->chunk,
             .n_chunks = (cl_int)s->n_chunks,
             .columns = s->tiling.long_columns,
             .words = words_of(p, s->tiling.long_columns)},
      *a = &own;
    weft_arguments arguments = {.n = 0};
    ADD_LISTED(&arguments, FILL_LONG_PARAMETERS(LISTED, COMMA));
    add_factors(&arguments, &p->factors);
    add_notes(&arguments, &p->notes);
    add_counts(&arguments, &p->counts);
    add_offsets(&arguments, &p->offsets);
    add_marked(&arguments, p, own.words, own.columns);
    return weft_items_enqueue(p->launch, s->fill_long, arguments.n, arguments.list, s->tiling.items,
                              (const int64_t[3]){s->n_chunks, WEFT_SPGEMM_AT_ONCE});
}

static weft_status enqueue_dense_long(product *p)
{
    const weft_spgemm_state *s = p->s;
    const struct {
        DENSE_LONG_PARAMETERS(FIELD, )
    } own = {.n_cols = (cl_int)s->problem.n, .chunk = s->chunk, .columns = s->tiling.long_columns},
      *a = &own;
    weft_arguments arguments = {.n = 0};
    ADD_LISTED(&arguments, DENSE_LONG_PARAMETERS(LISTED, COMMA));
    add_factors(&arguments, &p->factors);
    add_notes(&arguments, &p->notes);
    add_elements(&arguments, p, own.columns);
    return weft_items_enqueue(p->launch, s->dense_long, arguments.n, arguments.list,
                              s->tiling.items,
                              (const int64_t[3]){s->n_chunks, WEFT_SPGEMM_AT_ONCE});
}

// ---- steps

static weft_status count_rows(const product *p)
{
    if (p->s->problem.m == 0)
        return WEFT_OK;
    if (p->s->has_long)
        TRY(enqueue_start(p));
    if (p->s->has_sorted)
        TRY(enqueue_sorted(p, false));
    TRY(enqueue_count(p));
    if (!p->s->has_long)
        return WEFT_OK;
    TRY(enqueue_count_long(p));
    return enqueue_join_long(p);
}

weft_status weft_spgemm_run_count(weft_launch *launch, const void *state, const weft_call *call,
                                  cl_mem scratch)
{
    const weft_spgemm_state *s = state;
    const weft_csr *C = weft_call_csr(call, WEFT_SPGEMM_C);
    product p = product_of(launch, s, call, scratch, C->offsets);
    p.offsets = (offsets){C->offsets, C->offsets_start};
    TRY(count_rows(&p));
    const weft_numbers of_c = {C->offsets, C->offsets_start};
    // One group needs no sums: another buffer is passed.
    const weft_numbers sums = s->scan.n_groups > 1 ? (weft_numbers){scratch, s->sums} : of_c;
    return weft_scan_enqueue(launch, &s->scan, of_c, of_c, true, sums);
}

weft_status weft_spgemm_run_fill(weft_launch *launch, const void *state, const weft_call *call,
                                 cl_mem scratch)
{
    const weft_spgemm_state *s = state;
    const weft_csr *C = weft_call_csr(call, WEFT_SPGEMM_C);
    product p = product_of(launch, s, call, scratch, C->offsets);
    p.offsets = (offsets){C->offsets, C->offsets_start};
    p.entries.c_indices = C->indices;
    p.entries.c_indices_start = C->indices_start;
    p.entries.c_values = C->values;
    p.entries.c_values_start = C->values_start;
    if (s->has_sorted)
        TRY(enqueue_sorted(&p, true));
    if (!s->has_long)
        return enqueue_fill(&p);
    TRY(enqueue_start(&p));
    TRY(enqueue_fill(&p));
    TRY(enqueue_count_long(&p));
    return enqueue_fill_long(&p);
}

weft_status weft_spgemm_run_dense(weft_launch *launch, const void *state, const weft_call *call,
                                  cl_mem scratch)
{
    const weft_spgemm_state *s = state;
    const weft_spgemm_numbers *given = call->own;
    const weft_tensor *C = weft_call_tensor(call, WEFT_SPGEMM_C);
    product p = product_of(launch, s, call, scratch, C->buffer);
    p.elements = (elements){
        .C = C->buffer,
        .c_start = C->offset,
        .c_row = C->stride[0],
        .c_column = C->stride[1],
        .alpha = weft_number_of(s->problem.dtype, s->has_products ? given->alpha : 0),
        .beta = weft_number_of(s->problem.dtype, given->beta),
    };
    if (s->has_long)
        TRY(enqueue_start(&p));
    TRY(enqueue_dense(&p));
    return s->has_long ? enqueue_dense_long(&p) : WEFT_OK;
}
