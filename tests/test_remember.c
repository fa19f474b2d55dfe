// SPDX-License-Identifier: Apache-2.0
// What a context remembers of calls. A second call like the first plans nothing, compiles nothing,
// allocates nothing and gives the same; one that differs in one thing gives what it gives in a new
// context.
//
// For another operation: a function that calls it, and a row of `cases` that says what changes.
#include "operation_case.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>

#include "runtime/memo.h"
#include "short_memory.h"

// Operands are N rows and columns within larger matrices.
enum { N = OPERATION_EXTENT / 2, MOST_CHANGES = 12 };

static operation_operands o;
static int n_found; // calls that a context knew

bool __real_weft_memo_find(weft_memo *memo, const void *key, size_t key_bytes, void *state,
                           size_t state_bytes, const weft_memo_facts *facts, bool *is_known);
bool __wrap_weft_memo_find(weft_memo *memo, const void *key, size_t key_bytes, void *state,
                           size_t state_bytes, const weft_memo_facts *facts, bool *is_known);

bool __wrap_weft_memo_find(weft_memo *memo, const void *key, size_t key_bytes, void *state,
                           size_t state_bytes, const weft_memo_facts *facts, bool *is_known)
{
    const bool is_found =
        __real_weft_memo_find(memo, key, key_bytes, state, state_bytes, facts, is_known);
    n_found += is_found;
    return is_found;
}

// What a call is given besides its operands, and how these differ. The first call of each case has
// all 0. A call ignores what its operation does not have.
typedef struct given {
    int axis, more_axes;
    double number; // that is added: to the scale, to epsilon, to the correction; or alpha
    double beta;
    weft_reduction op;
    weft_spmm_reduction reduction;
    weft_activation activation;
    bool is_rms;
    const char *tiling, *scaling_tiling;

    int64_t fewer_rows;
    weft_dtype dtype; // of all operands
    int64_t offset;   // of the first one
    bool is_transposed, lacks_buffer;
    bool lacks_weight, lacks_bias, lacks_dw, lacks_db;
    bool is_indicator;  // a matrix says where, and its values are not read
    bool is_dense;      // a factor that is sparse otherwise
    bool lacks_entries; // a sparse output
    bool has_arguments;
    bool transposes_a; // A^T, which wants a plan object

    weft_status wanted; // of the call
} given;

typedef struct change {
    const char *name;
    given by;
} change;

typedef struct remembered_case {
    const char *name;
    weft_status (*call)(weft_context *ctx, const given *by);
    change changes[MOST_CHANGES]; // up to one without a name
} remembered_case;

// One of two kernels, where there is one otherwise; and one that no operation takes.
#define IN_PARTS                                                                                   \
    "vector_width 1, vectors 3, items 1, items_y 1, unroll 2, widen 1, run 2, grid_x 4, grid_y "   \
    "4, parts 3"
#define NO_TILING "vector_width 3"
// Of products at the entries of a matrix, and of attention over one.
#define BY_TILES                                                                                   \
    "vector_width 1, vectors 3, lanes 1, chunks_per_group 1, entries 16, passes, packed"
#define NO_ITEMS "items 3"
#define IN_SHORT_ROWS                                                                              \
    "vector_width 1, vectors 2, outputs 3, lanes 1, rows_per_group 1, rows_per_item 2, row_chunk " \
    "3"
#define IN_THREE_STEPS "in_steps"
#define BY_ROWS                                                                                    \
    "vector_width 1, vectors 1, lanes 1, items_y 1, rows_per_group 2, rows_per_item 1, load 1, "   \
    "unroll 1, "                                                                                   \
    "row_chunk 4"

// Kernels for long rows as well.
#define IN_ROW_CHUNKS "vector_width 4, lanes 1, rows_per_group 1, cache 16, chunk 40, row_chunk 4"
#define LONG_ROWS     "items 1, rows 4, columns 16, long_from 3, long_columns 64, long_groups 2"

// ---- operands

static weft_tensor block(cl_mem buffer, const given *by)
{
    return (weft_tensor){.buffer = buffer,
                         .dtype = by->dtype,
                         .ndim = 2,
                         .shape = {N - by->fewer_rows, N},
                         .stride = {OPERATION_EXTENT, 1}};
}

// The first operand.
static weft_tensor first_block(const given *by)
{
    weft_tensor X = block(by->lacks_buffer ? NULL : o.X.buffer, by);
    X.offset = by->offset;
    if (by->is_transposed) {
        X.stride[0] = 1;
        X.stride[1] = OPERATION_EXTENT;
    }
    return X;
}

static weft_tensor output_block(int i, const given *by)
{
    return block(o.outputs[i], by);
}

// One number for each that is normalised together.
static weft_tensor scaling_of(cl_mem buffer, const given *by)
{
    weft_tensor w = block(buffer, by);
    if (!by->more_axes) {
        w.ndim = 1;
        w.shape[0] = N;
        w.stride[0] = 1;
    }
    return w;
}

// ---- calls

static weft_status softmax(weft_context *ctx, const given *by)
{
    const weft_tensor X = first_block(by), Y = output_block(0, by);
    return weft_softmax(ctx, o.queue, 1 + by->number, &X, by->axis, &Y,
                        WEFT_SOFTMAX(.tiling = by->tiling));
}

static weft_status log_softmax(weft_context *ctx, const given *by)
{
    const weft_tensor X = first_block(by), Y = output_block(0, by);
    return weft_log_softmax(ctx, o.queue, 1 + by->number, &X, by->axis, &Y,
                            WEFT_SOFTMAX(.tiling = by->tiling));
}

static weft_status softmax_backward(weft_context *ctx, const given *by)
{
    const weft_tensor Y = first_block(by), dY = block(o.Y.buffer, by), dX = output_block(0, by);
    return weft_softmax_backward(ctx, o.queue, 1 + by->number, &Y, &dY, by->axis, &dX,
                                 WEFT_SOFTMAX(.tiling = by->tiling));
}

static weft_status log_softmax_backward(weft_context *ctx, const given *by)
{
    const weft_tensor Y = first_block(by), dY = block(o.Y.buffer, by), dX = output_block(0, by);
    return weft_log_softmax_backward(ctx, o.queue, 1 + by->number, &Y, &dY, by->axis, &dX,
                                     WEFT_SOFTMAX(.tiling = by->tiling));
}

static weft_status norm(weft_context *ctx, const given *by)
{
    const weft_tensor X = first_block(by), Y = output_block(0, by);
    const weft_tensor w = scaling_of(o.Y.buffer, by), b = scaling_of(o.Z.buffer, by);
    return (by->is_rms ? weft_rms_norm : weft_layer_norm)(
        ctx, o.queue, 1e-5 + by->number, &X, 1 + by->more_axes, &Y,
        WEFT_NORM(.weight = by->lacks_weight ? NULL : &w, .bias = by->lacks_bias ? NULL : &b,
                  .tiling = by->tiling));
}

static weft_status norm_backward(weft_context *ctx, const given *by)
{
    const weft_tensor X = first_block(by), dY = block(o.Y.buffer, by), dX = output_block(0, by);
    const weft_tensor w = scaling_of(o.Z.buffer, by);
    const weft_tensor dW = scaling_of(o.outputs[1], by), db = scaling_of(o.outputs[2], by);
    return (by->is_rms ? weft_rms_norm_backward : weft_layer_norm_backward)(
        ctx, o.queue, 1e-5 + by->number, &X, 1 + by->more_axes, &dY, &dX,
        WEFT_NORM_BACKWARD(.weight = by->lacks_weight ? NULL : &w, .dW = by->lacks_dw ? NULL : &dW,
                           .db = by->lacks_db ? NULL : &db, .tiling = by->tiling,
                           .scaling_tiling = by->scaling_tiling));
}

// Of rows and of columns there are as many.
static weft_status reduce(weft_context *ctx, const given *by)
{
    const weft_tensor X = first_block(by);
    const weft_tensor Y = {
        .buffer = o.outputs[0], .ndim = 1 - by->more_axes, .shape = {N}, .stride = {1}};
    return weft_reduce(ctx, o.queue, by->op ? by->op : WEFT_VAR, &X, 1 + by->more_axes,
                       (const int[]){by->axis, 1 - by->axis}, &Y,
                       WEFT_REDUCE(.correction = (int64_t)by->number, .tiling = by->tiling));
}

// The sparse matrix.
static weft_csr matrix(const given *by)
{
    weft_csr A = o.A;
    A.values = by->lacks_buffer ? NULL : A.values;
    return A;
}

// Values of its entries.
static weft_tensor entries(cl_mem buffer)
{
    return (weft_tensor){.buffer = buffer, .ndim = 1, .shape = {o.A.nnz}, .stride = {1}};
}

// Where the offsets are those of A, the first entries of each row are written.
static weft_csr product_of(cl_mem offsets)
{
    return (weft_csr){.n_rows = OPERATION_EXTENT,
                      .n_cols = OPERATION_EXTENT,
                      .nnz = o.A.nnz,
                      .offsets = offsets,
                      .indices = o.outputs[1],
                      .values = o.outputs[2],
                      .offsets_start = offsets == o.A.offsets ? o.A.offsets_start : 0};
}

static weft_status sparse_softmax(weft_context *ctx, const given *by)
{
    const weft_csr X = matrix(by);
    const weft_tensor Y = entries(o.outputs[0]);
    return weft_sparse_softmax(ctx, o.queue, 1 + by->number, &X, &Y,
                               WEFT_SPARSE_SOFTMAX(.tiling = by->tiling));
}

static weft_status sparse_softmax_backward(weft_context *ctx, const given *by)
{
    const weft_csr Y = matrix(by);
    const weft_tensor dX = entries(o.outputs[0]);
    return weft_sparse_softmax_backward(ctx, o.queue, 1 + by->number, &Y, &o.values, &dX,
                                        WEFT_SPARSE_SOFTMAX(.tiling = by->tiling));
}

static weft_status spgemm_count(weft_context *ctx, const given *by)
{
    const weft_csr A = matrix(by), C = product_of(o.outputs[0]);
    return weft_spgemm_count(ctx, o.queue, &A, &o.A, &C, NULL, WEFT_SPGEMM(.tiling = by->tiling));
}

static weft_status spgemm(weft_context *ctx, const given *by)
{
    const weft_csr A = matrix(by);
    weft_csr C = product_of(o.A.offsets);
    C.nnz = by->lacks_entries ? 0 : C.nnz;
    return weft_spgemm(ctx, o.queue, &A, &o.A, &C, WEFT_SPGEMM(.tiling = by->tiling));
}

static weft_status spgemm_dense(weft_context *ctx, const given *by)
{
    const weft_csr A = matrix(by);
    const weft_tensor C = weft_matrix(o.outputs[0], WEFT_F32, OPERATION_EXTENT, OPERATION_EXTENT);
    return weft_spgemm_dense(ctx, o.queue, by->number, &A, &o.A, by->beta, &C,
                             WEFT_SPGEMM(.tiling = by->tiling));
}

// All rows, and N columns.
static weft_tensor tall_block(weft_tensor narrow)
{
    narrow.shape[0] = OPERATION_EXTENT;
    return narrow;
}

static weft_status sddmm(weft_context *ctx, const given *by)
{
    const weft_tensor X = tall_block(first_block(by)), Y = tall_block(block(o.Y.buffer, by));
    const weft_tensor B = weft_tensor_transposed(&Y), D = entries(o.outputs[0]);
    return weft_sddmm(ctx, o.queue, 1 + by->number, &X, &B, &o.A, 0, &D,
                      WEFT_SDDMM(.indicator = by->is_indicator, .tiling = by->tiling));
}

static weft_status sddmm_sparse(weft_context *ctx, const given *by)
{
    const weft_factor *A = WEFT_SPARSE(&o.A), *B = by->is_dense ? WEFT_DENSE(&o.X) : A;
    const weft_tensor D = entries(o.outputs[0]);
    return weft_sddmm_sparse(
        ctx, o.queue, 1 + by->number, A, B, &o.A, 0, &D,
        WEFT_SDDMM_SPARSE(.indicator = by->is_indicator, .tiling = by->tiling));
}

static weft_status spmm(weft_context *ctx, const given *by)
{
    const weft_csr A = matrix(by);
    const weft_tensor B = tall_block(first_block(by)), C = tall_block(output_block(0, by));
    weft_tensor arguments = tall_block(output_block(1, by));
    arguments.dtype = WEFT_I32;
    return weft_spmm(ctx, o.queue, by->number, &A, &B, by->beta, &C,
                     WEFT_SPMM(.reduction = by->reduction,
                               .arguments = by->has_arguments ? &arguments : NULL,
                               .bias = by->lacks_bias ? NULL : &o.row, .activation = by->activation,
                               .tiling = by->tiling));
}

static weft_status spmm_dcsr(weft_context *ctx, const given *by)
{
    const weft_tensor B = tall_block(first_block(by)), C = tall_block(output_block(0, by));
    return weft_spmm_dcsr(ctx, o.queue, by->number, &o.stored, &B, by->beta, &C,
                          WEFT_SPMM(.reduction = by->reduction, .activation = by->activation,
                                    .transpose_a = by->transposes_a));
}

static weft_status sparse_linear(weft_context *ctx, const given *by)
{
    const weft_csr W = matrix(by);
    const weft_tensor X = tall_block(first_block(by)), Y = tall_block(output_block(0, by));
    return weft_sparse_linear(
        ctx, o.queue, &W, &X, &Y,
        WEFT_SPARSE_LINEAR(.bias = by->lacks_bias ? NULL : &o.row, .activation = by->activation));
}

static weft_status sparse_linear_dw(weft_context *ctx, const given *by)
{
    const weft_tensor X = tall_block(first_block(by)), dY = tall_block(block(o.Y.buffer, by));
    const weft_tensor dW = entries(o.outputs[0]);
    return weft_sparse_linear_dw(ctx, o.queue, &dY, &X, &o.A, &dW,
                                 WEFT_SPARSE_LINEAR(.beta = by->beta));
}

static weft_status sparse_attention(weft_context *ctx, const given *by)
{
    const weft_tensor Q = tall_block(first_block(by)), K = tall_block(block(o.Y.buffer, by));
    const weft_tensor V = tall_block(block(o.Z.buffer, by)), O = tall_block(output_block(0, by));
    return weft_sparse_attention(ctx, o.queue, 1 + by->number, &Q, &K, &V, &o.A, &O,
                                 WEFT_SPARSE_ATTENTION(.tiling = by->tiling));
}

// ---- what a context answers

typedef struct answer {
    weft_status status;
    char message[512];
    uint64_t launches;
    operation_results results;
} answer;

static void ask(answer *to, const remembered_case *of, weft_context *ctx, const given *by)
{
    operation_clear(&o);
    const uint64_t before = weft_context_get_stats(ctx).launches;
    to->status = of->call(ctx, by);
    snprintf(to->message, sizeof(to->message), "%s",
             to->status == WEFT_OK ? "" : weft_last_error());
    to->launches = weft_context_get_stats(ctx).launches - before;
    operation_read(&o, &to->results);
}

static bool are_equal(const answer *a, const answer *b)
{
    return a->status == b->status && strcmp(a->message, b->message) == 0 &&
           a->launches == b->launches && memcmp(&a->results, &b->results, sizeof(a->results)) == 0;
}

static void check_status(const answer *got, const remembered_case *of, const given *by,
                         const char *name)
{
    if (got->status != by->wanted)
        fail_msg("%s, %s: %s, not %s: %s", of->name, name, weft_status_name(got->status),
                 weft_status_name(by->wanted), got->message);
}

static void check_answer(const answer *got, const answer *wanted, const char *what,
                         const char *name)
{
    if (!are_equal(got, wanted))
        fail_msg("%s, %s: %s \"%s\", %" PRIu64 " kernels, where a new context gives %s \"%s\", "
                 "%" PRIu64 " kernels and results that are %s",
                 what, name, weft_status_name(got->status), got->message, got->launches,
                 weft_status_name(wanted->status), wanted->message, wanted->launches,
                 memcmp(&got->results, &wanted->results, sizeof(got->results)) ? "others"
                                                                               : "the same");
}

static weft_context *new_context(void)
{
    weft_context *ctx;
    assert_ok(weft_context_create(&ctx, o.cl, o.device, WEFT_CONTEXT(.cache_dir = "")));
    return ctx;
}

static void ask_anew(answer *to, const remembered_case *of, const given *by)
{
    weft_context *ctx = new_context();
    ask(to, of, ctx, by);
    weft_context_destroy(&ctx);
}

// One call more, and what it takes.
static void check_no_work(const remembered_case *of, weft_context *ctx, const given *by,
                          const char *name)
{
    const weft_context_stats before = weft_context_get_stats(ctx);
    const int found = n_found;
    countdown = INT_MAX;
    assert_ok(of->call(ctx, by));
    const int n_allocated = INT_MAX - countdown;
    countdown = 0;
    const weft_context_stats after = weft_context_get_stats(ctx);
    if (n_found != found + 1 || n_allocated > 0 || after.programs_built > before.programs_built ||
        after.programs_loaded > before.programs_loaded)
        fail_msg("%s, %s: a later call is %s, allocates %d times and builds %" PRIu64 " programs",
                 of->name, name, n_found > found ? "known" : "not known", n_allocated,
                 after.programs_built - before.programs_built);
}

// The answer is the same, and nothing is planned for it. What is refused is not remembered.
static void check_again(const remembered_case *of, weft_context *ctx, const given *by,
                        const answer *wanted, const char *name)
{
    answer got;
    ask(&got, of, ctx, by);
    check_answer(&got, wanted, of->name, name);
    if (wanted->status == WEFT_OK)
        check_no_work(of, ctx, by, name);
}

static void test_calls_that_differ_in_one_thing(void **state)
{
    const remembered_case *of = *state;
    const given plain = {0};
    answer first, wanted, got;
    weft_context *ctx = new_context();
    ask(&first, of, ctx, &plain);
    check_status(&first, of, &plain, "the first call");
    check_again(of, ctx, &plain, &first, "again");
    for (const change *c = of->changes; c->name; ++c) {
        ask_anew(&wanted, of, &c->by);
        check_status(&wanted, of, &c->by, c->name);
        if (are_equal(&wanted, &first))
            fail_msg("%s, %s: nothing has changed", of->name, c->name);
        ask(&got, of, ctx, &c->by);
        check_answer(&got, &wanted, of->name, c->name);
        check_again(of, ctx, &c->by, &wanted, c->name);
    }
    check_again(of, ctx, &plain, &first, "after all others");
    weft_context_destroy(&ctx);
}

// ---- cases

// Where a change alone would change an operand, too, the row before it has what else it needs. A
// number that is refused comes after a call that is remembered and differs in that alone. So does a
// factor of 1 after one of 0, with which nothing is read.
static const remembered_case cases[] = {
    {"softmax",
     softmax,
     {{"axis", {.axis = 1}},
      {"scale", {.number = 1}},
      {"another scale", {.number = 2}},
      {"an infinite scale", {.number = INFINITY, .wanted = WEFT_BAD_ARGUMENT}},
      {"tiling", {.tiling = IN_PARTS}},
      {"rows", {.fewer_rows = 1}},
      {"strides", {.is_transposed = true}},
      {"offset", {.offset = 1}},
      {"data type", {.dtype = WEFT_BF16}},
      {"no buffer", {.lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"log_softmax",
     log_softmax,
     {{"axis", {.axis = 1}}, {"scale", {.number = 1}}, {"tiling", {.tiling = IN_PARTS}}}},
    {"softmax_backward",
     softmax_backward,
     {{"axis", {.axis = 1}}, {"scale", {.number = 1}}, {"tiling", {.tiling = IN_PARTS}}}},
    {"log_softmax_backward",
     log_softmax_backward,
     {{"axis", {.axis = 1}}, {"scale", {.number = 1}}, {"tiling", {.tiling = IN_PARTS}}}},
    {"layer_norm and rms_norm",
     norm,
     {{"which", {.is_rms = true}},
      {"weight", {.lacks_weight = true}},
      {"bias", {.lacks_bias = true}},
      {"weight and bias", {.lacks_weight = true, .lacks_bias = true}},
      {"axes", {.lacks_weight = true, .lacks_bias = true, .more_axes = 1}},
      {"epsilon", {.number = 1}},
      {"a negative epsilon", {.number = -1, .wanted = WEFT_BAD_ARGUMENT}},
      {"tiling", {.tiling = IN_PARTS}}}},
    {"layer_norm_backward and rms_norm_backward",
     norm_backward,
     {{"which", {.is_rms = true}},
      {"weight", {.lacks_weight = true}},
      {"dW", {.lacks_dw = true}},
      {"all", {.lacks_weight = true, .lacks_dw = true, .lacks_db = true}},
      {"axes", {.lacks_weight = true, .lacks_dw = true, .lacks_db = true, .more_axes = 1}},
      {"epsilon", {.number = 1}},
      {"a negative epsilon", {.number = -1, .wanted = WEFT_BAD_ARGUMENT}},
      {"tiling", {.tiling = IN_PARTS}},
      {"scaling_tiling", {.scaling_tiling = NO_TILING, .wanted = WEFT_BAD_ARGUMENT}}}},
    {"reduce",
     reduce,
     {{"op", {.op = WEFT_MAX}},
      {"axis", {.axis = 1}},
      {"all axes", {.more_axes = 1}},
      {"correction", {.number = 1}},
      {"too large a correction", {.number = 0x1p62 * 1.5, .wanted = WEFT_BAD_ARGUMENT}},
      {"tiling", {.tiling = IN_PARTS}},
      {"no buffer", {.lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"sparse_softmax",
     sparse_softmax,
     {{"scale", {.number = 1}},
      {"an infinite scale", {.number = INFINITY, .wanted = WEFT_BAD_ARGUMENT}},
      {"tiling", {.tiling = IN_ROW_CHUNKS}},
      {"no buffer", {.lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"sparse_softmax_backward",
     sparse_softmax_backward,
     {{"scale", {.number = 1}}, {"tiling", {.tiling = IN_ROW_CHUNKS}}}},
    {"spgemm_count", spgemm_count, {{"tiling", {.tiling = LONG_ROWS}}}},
    {"spgemm",
     spgemm,
     {{"entries of C", {.lacks_entries = true}},
      {"tiling", {.tiling = LONG_ROWS}},
      {"no buffer", {.lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"spgemm_dense",
     spgemm_dense,
     {{"beta", {.beta = 3}},
      {"beta that changes nothing", {.beta = 1}},
      {"another beta", {.beta = 2}},
      {"alpha", {.number = 1}},
      {"alpha and beta", {.number = 2, .beta = 1}},
      {"tiling", {.tiling = LONG_ROWS, .number = 1}},
      {"no buffer", {.lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"sddmm",
     sddmm,
     {{"alpha", {.number = 1}},
      {"no alpha", {.number = -1}},
      {"no alpha, by tiles", {.number = -1, .tiling = BY_TILES}},
      {"tiling", {.tiling = BY_TILES}},
      {"an indicator", {.is_indicator = true}},
      {"strides", {.is_transposed = true}},
      {"offset", {.offset = 1}},
      {"no buffer", {.lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"sddmm_sparse",
     sddmm_sparse,
     {{"alpha", {.number = 1}},
      {"no alpha", {.number = -1}},
      {"tiling", {.tiling = NO_ITEMS, .wanted = WEFT_BAD_ARGUMENT}},
      {"an indicator", {.is_indicator = true}},
      {"a dense factor", {.is_dense = true}}}},
    {"spmm",
     spmm,
     {{"beta", {.beta = 1}},
      {"a factor", {.number = 1}},
      {"means", {.number = 1, .reduction = WEFT_SPMM_MEAN}},
      {"max_min", {.number = 1, .reduction = WEFT_SPMM_MAX}},
      {"arguments", {.number = 1, .reduction = WEFT_SPMM_MAX, .has_arguments = true}},
      {"activation", {.number = 1, .activation = WEFT_ACTIVATION_RELU}},
      {"no bias", {.number = 1, .lacks_bias = true}},
      {"tiling", {.number = 1, .tiling = BY_ROWS}},
      {"strides", {.number = 1, .is_transposed = true}},
      {"offset", {.number = 1, .offset = 1}},
      {"no buffer", {.number = 1, .lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"spmm_dcsr",
     spmm_dcsr,
     {{"beta", {.beta = 1}},
      {"A^T", {.transposes_a = true, .wanted = WEFT_BAD_ARGUMENT}},
      {"a factor", {.number = 1}},
      {"means", {.number = 1, .reduction = WEFT_SPMM_MEAN}},
      {"activation", {.number = 1, .activation = WEFT_ACTIVATION_RELU}}}},
    {"sparse_linear",
     sparse_linear,
     {{"no bias", {.lacks_bias = true}},
      {"activation", {.activation = WEFT_ACTIVATION_RELU}},
      {"offset", {.offset = 1}},
      {"no buffer", {.lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"sparse_linear_dw",
     sparse_linear_dw,
     {{"beta", {.beta = 1}},
      {"offset", {.offset = 1}},
      {"no buffer", {.lacks_buffer = true, .wanted = WEFT_BAD_BUFFER}}}},
    {"sparse_attention",
     sparse_attention,
     {{"scale", {.number = 1}},
      {"no scale", {.number = -1}},
      {"an infinite scale", {.number = INFINITY, .wanted = WEFT_BAD_ARGUMENT}},
      {"tiling", {.tiling = IN_SHORT_ROWS}},
      {"no scale, in three steps", {.number = -1, .tiling = IN_THREE_STEPS}},
      {"three steps", {.tiling = IN_THREE_STEPS}},
      {"strides", {.is_transposed = true}},
      {"offset", {.offset = 1}}}},
};

enum { CASES = sizeof(cases) / sizeof(cases[0]) };

int main(void)
{
    need_device();
    struct CMUnitTest tests[CASES] = {{0}};
    for (size_t i = 0; i < CASES; i++)
        tests[i] = (struct CMUnitTest){.name = cases[i].name,
                                       .test_func = test_calls_that_differ_in_one_thing,
                                       .setup_func = restore_memory,
                                       .initial_state = (void *)(uintptr_t)&cases[i]};
    operation_operands_create(&o);
    const int failed = cmocka_run_group_tests_name("remember", tests, NULL, NULL);
    operation_operands_destroy(&o);
    return failed;
}
