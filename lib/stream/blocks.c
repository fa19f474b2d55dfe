// SPDX-License-Identifier: Apache-2.0
// Cuts a product into row blocks and column blocks.
#include "stream/blocks.h"

#include <inttypes.h>

#include "base/arithmetic.h"
#include "base/dtype.h"
#include "base/element.h"
#include "base/fail.h"

enum {
    PLACE = 256,           // bytes: arrays of a slot begin at multiples
    NEIGHBOURS = 16,       // entries before and behind a block's, which kernels may read
    ENOUGH_ROW_BLOCKS = 8, // so that transfers and kernels overlap
    LEAST_BYTES = 1 << 20, // of a row block, before it is smaller for that
    SLOT_PART = 16,        // of the device's memory is left for each of two row blocks, if possible
};

// ---- bytes, at most UINT64_MAX

// The next place behind n elements of an array that begins at one.
static uint64_t behind(uint64_t at, int64_t n, int64_t size)
{
    const uint64_t end =
        add_most_u64(add_most_u64(at, mul_most_u64((uint64_t)n, (uint64_t)size)), PLACE - 1);
    return end == UINT64_MAX ? end : end / PLACE * PLACE;
}

static uint64_t matrix_bytes(int64_t n_rows, int64_t columns, int64_t size)
{
    return behind(0, 1,
                  clamped_i64(mul_most_u64(mul_most_u64((uint64_t)n_rows, (uint64_t)columns),
                                           (uint64_t)size)));
}

// ---- row blocks

static int64_t offset_of(const weft_blocks_problem *problem, int64_t row)
{
    return integer_at(problem->A->offsets, problem->A->offset_dtype, row);
}

// Of one row.
static int64_t row_chunks_of(const weft_blocks_problem *problem, int64_t row)
{
    const int64_t length = problem->row_chunk;
    const int64_t start = offset_of(problem, row), stop = offset_of(problem, row + 1);
    if (length == 0 || stop - start <= 2 * length)
        return 0;
    return ceil_div(stop, length) - ceil_div(start, length);
}

// Finds places and bytes; rows and the number of row chunks are set.
static void lay_out(weft_row_block *block, const weft_blocks_problem *problem, int64_t columns)
{
    const weft_csr_host *A = problem->A;
    const int64_t n_rows = block->last - block->first;
    block->first_entry = block->last_entry = 0;
    if (problem->reads_entries) {
        const int64_t start = offset_of(problem, block->first);
        const int64_t stop = offset_of(problem, block->last);
        block->first_entry = max_i64(start / NEIGHBOURS * NEIGHBOURS - NEIGHBOURS, 0);
        block->last_entry = stop + min_i64(A->nnz - stop, NEIGHBOURS);
    }
    const int64_t n_entries = block->last_entry - block->first_entry;
    block->offsets_at = behind(0, block->n_row_chunks, sizeof(int64_t));
    block->indices_at =
        behind(block->offsets_at, n_rows + 1, (int64_t)weft_dtype_size(A->offset_dtype));
    block->values_at =
        behind(block->indices_at, n_entries, (int64_t)weft_dtype_size(A->index_dtype));
    block->bias_at = behind(block->values_at, n_entries, (int64_t)weft_dtype_size(A->dtype));
    block->a_bytes = behind(block->bias_at, n_rows, problem->bias_bytes);
    block->c_bytes = matrix_bytes(n_rows, columns, problem->c_bytes);
    block->workspace_bytes = matrix_bytes(block->n_row_chunks, columns, problem->sum_bytes);
}

static uint64_t bytes_of(const weft_row_block *block)
{
    return add_most_u64(add_most_u64(block->a_bytes, block->c_bytes), block->workspace_bytes);
}

static bool has_room(const weft_row_block *block, const weft_blocks *blocks)
{
    return block->a_bytes <= blocks->a_room && block->c_bytes <= blocks->c_room &&
           block->workspace_bytes <= blocks->workspace_room;
}

weft_row_block weft_row_block_from(const weft_blocks_problem *problem, const weft_blocks *blocks,
                                   int64_t first)
{
    const int64_t columns = blocks->widest;
    weft_row_block block = {.first = first, .last = first + 1};
    block.n_row_chunks = row_chunks_of(problem, first);
    lay_out(&block, problem, columns);
    while (block.last < problem->A->n_rows) {
        weft_row_block longer = block;
        longer.n_row_chunks += row_chunks_of(problem, longer.last++);
        lay_out(&longer, problem, columns);
        if (!has_room(&longer, blocks))
            break;
        block = longer;
    }
    return block;
}

void weft_row_block_chunks(const weft_blocks_problem *problem, const weft_row_block *block,
                           int64_t *numbers)
{
    int64_t n = 0;
    for (int64_t row = block->first; row < block->last; row++) {
        const int64_t first = ceil_div(offset_of(problem, row), max_i64(problem->row_chunk, 1));
        for (int64_t i = 0, count = row_chunks_of(problem, row); i < count; i++)
            numbers[n++] = first + i;
    }
}

int64_t weft_longest_row(const weft_csr_host *A)
{
    int64_t longest = 0, most = -1;
    for (int64_t row = 0, start = 0, stop; row < A->n_rows; row++, start = stop) {
        stop = integer_at(A->offsets, A->offset_dtype, row + 1);
        if (stop - start > most) {
            most = stop - start;
            longest = row;
        }
    }
    return longest;
}

// No row takes more than this block: by its place in A a row has more neighbours and, of the same
// length, one more row chunk.
static weft_row_block largest_row(const weft_blocks_problem *problem, int64_t columns)
{
    const int64_t row = problem->longest_row, n = row_chunks_of(problem, row);
    const size_t entry =
        weft_dtype_size(problem->A->index_dtype) + weft_dtype_size(problem->A->dtype);
    weft_row_block block = {.first = row, .last = row + 1, .n_row_chunks = n + (n > 0)};
    lay_out(&block, problem, columns);
    block.a_bytes = add_most_u64(behind(block.a_bytes, 3 * NEIGHBOURS, (int64_t)entry), 2 * PLACE);
    return block;
}

// ---- column blocks

static uint64_t b_bytes_of(const weft_blocks_problem *problem, int64_t columns)
{
    const uint64_t elements = mul_most_u64((uint64_t)problem->A->n_cols, (uint64_t)columns);
    return problem->reads_entries ? mul_most_u64(elements, (uint64_t)problem->b_bytes) : 0;
}

// The last column block also has what would be less than a vector.
static int64_t widest_of(const weft_blocks_problem *problem, int64_t columns)
{
    if (columns >= problem->n)
        return problem->n;
    const int64_t rest = problem->n % columns;
    return rest < problem->vector_width ? columns + rest : columns;
}

// What is left for each of two row blocks beside a column block of B; 0: it does not fit. At least
// the largest row, which is the same row for any number of columns.
static uint64_t room_beside(const weft_blocks_problem *problem, int64_t columns, uint64_t least)
{
    const int64_t widest = widest_of(problem, columns);
    const uint64_t b = b_bytes_of(problem, widest);
    const weft_row_block row = largest_row(problem, widest);
    const uint64_t row_bytes = bytes_of(&row);
    if (b > problem->most_bytes || b >= problem->device_bytes)
        return 0;
    const uint64_t room = (problem->device_bytes - b) / 2;
    const uint64_t largest = max_u64(max_u64(row.a_bytes, row.c_bytes), row.workspace_bytes);
    const bool fits = room >= max_u64(least, row_bytes) && largest <= problem->most_bytes;
    return fits ? room : 0;
}

// The most columns, a multiple of `step`, beside which there is so much room; 0: there is none.
static int64_t most_columns(const weft_blocks_problem *problem, int64_t step, uint64_t least)
{
    if (room_beside(problem, problem->n, least) > 0)
        return problem->n;
    int64_t fits = 0, too_many = ceil_div(problem->n, step); // by steps
    while (too_many - fits > 1) {
        const int64_t middle = fits + (too_many - fits) / 2;
        if (room_beside(problem, middle * step, least) > 0)
            fits = middle;
        else
            too_many = middle;
    }
    return fits * step;
}

static weft_status no_room(const weft_blocks_problem *problem, const char *what)
{
    const int64_t columns = min_i64(problem->vector_width, problem->n);
    const int64_t widest = widest_of(problem, columns);
    const weft_row_block row = largest_row(problem, widest);
    const uint64_t bytes = bytes_of(&row), b = b_bytes_of(problem, widest);
    return fail(WEFT_NO_MEMORY,
                "%s: %" PRId64 " columns of B are %" PRIu64 " bytes, and row %" PRId64
                " of A and C takes %" PRIu64 ", twice: %" PRIu64 " are needed, %" PRIu64
                " are allowed, and %" PRIu64 " for one buffer",
                what, widest, b, row.first, bytes, add_most_u64(b, mul_most_u64(2, bytes)),
                problem->device_bytes, problem->most_bytes);
}

static weft_status choose_columns(weft_blocks *out, const weft_blocks_problem *problem,
                                  const char *what)
{
    const uint64_t usual = problem->device_bytes / SLOT_PART;
    out->columns = most_columns(problem, problem->tile_columns, usual);
    if (out->columns == 0)
        out->columns = most_columns(problem, problem->tile_columns, 0);
    if (out->columns == 0)
        out->columns = most_columns(problem, problem->vector_width, 0);
    if (out->columns == 0)
        return no_room(problem, what);
    out->widest = widest_of(problem, out->columns);
    out->b_bytes = b_bytes_of(problem, out->widest);
    return WEFT_OK;
}

int64_t weft_blocks_columns(const weft_blocks_problem *problem, const weft_blocks *blocks,
                            int64_t first)
{
    const int64_t rest = problem->n - first;
    return rest - blocks->columns < problem->vector_width ? rest : blocks->columns;
}

// ---- all

// Enough row blocks, unless they are small. Beside the largest row each buffer has a share of the
// room, as all of A and C have them.
static void choose_room(weft_blocks *out, const weft_blocks_problem *problem)
{
    weft_row_block all = {.last = problem->A->n_rows};
    for (int64_t row = 0; row < all.last; row++)
        all.n_row_chunks += row_chunks_of(problem, row);
    lay_out(&all, problem, out->widest);
    const weft_row_block row = largest_row(problem, out->widest);
    const uint64_t part = bytes_of(&all) / ENOUGH_ROW_BLOCKS;
    const uint64_t wanted = max_u64(max_u64(part, LEAST_BYTES), bytes_of(&row));
    const uint64_t room = min_u64(room_beside(problem, out->columns, 0), wanted);
    const double spare = (double)(room - bytes_of(&row)) / (double)bytes_of(&all);
    const uint64_t a = row.a_bytes + (uint64_t)(spare * (double)all.a_bytes);
    const uint64_t c = row.c_bytes + (uint64_t)(spare * (double)all.c_bytes);
    out->a_room = min_u64(a, problem->most_bytes);
    out->c_room = min_u64(c, problem->most_bytes);
    out->workspace_room = min_u64(room > a + c ? room - a - c : 0, problem->most_bytes);
    out->workspace_room = max_u64(out->workspace_room, row.workspace_bytes);
}

weft_status weft_blocks_for(weft_blocks *out, const weft_blocks_problem *problem, const char *what)
{
    *out = (weft_blocks){0};
    TRY(choose_columns(out, problem, what));
    choose_room(out, problem);
    out->n_column_blocks = 0;
    for (int64_t j = 0; j < problem->n; j += weft_blocks_columns(problem, out, j))
        out->n_column_blocks++;
    weft_row_block block;
    for (int64_t row = 0; row < problem->A->n_rows; row = block.last) {
        block = weft_row_block_from(problem, out, row);
        out->n_row_blocks++;
        out->a_bytes = max_u64(out->a_bytes, block.a_bytes);
        out->c_bytes = max_u64(out->c_bytes, block.c_bytes);
        out->workspace_bytes = max_u64(out->workspace_bytes, block.workspace_bytes);
        out->most_row_chunks = max_i64(out->most_row_chunks, block.n_row_chunks);
    }
    return WEFT_OK;
}

uint64_t weft_blocks_bytes(const weft_blocks *blocks)
{
    return add_most_u64(blocks->b_bytes,
                        mul_most_u64(2, add_most_u64(add_most_u64(blocks->a_bytes, blocks->c_bytes),
                                                     blocks->workspace_bytes)));
}
