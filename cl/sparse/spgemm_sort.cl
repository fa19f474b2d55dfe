// SPDX-License-Identifier: Apache-2.0
// Rows of C = A B that have few products, for groups of several items: see spgemm.clh. A group
// sorts the products of a batch of rows by column, each item adds up those of some entries, in the
// order of A's entries, and what entry of C each is comes from a scan.
//
//   spgemm_count_sorted  counts entries of each row of C, before spgemm_count
//   spgemm_fill_sorted   writes them, before spgemm_fill
//
// Both say how many of a group's rows they leave to these.
#include "sparse/spgemm.clh"

#include "sparse/spgemm_sort.clh"

#ifndef C_INDEX // of C; its offsets are NUMBER
#define C_INDEX int
#endif

#define SORT SORT_PARAMETERS(DECLARE, COMMA)
#define KEPT KEYS_PARAMETERS(DECLARE, COMMA)

#define GET_BATCH_GROUP(a, b, heads)                                                               \
    local NUMBER nodes[2 * ITEMS];                                                                 \
    local batch_memory x;                                                                          \
    const batch_group group = {item, nodes, &x, keys, a, b, heads}

kernel GROUP void spgemm_count_sorted(SORT, FACTORS, LEFT(OUT), OFFSETS(SOLE_OUT), KEPT)
{
    ROWS_OF_GROUP(rows, n_rows);
    GET_FACTORS;
    GET_SHAPE(sorted, sort_rows, column_bits);
    GET_BATCH_GROUP(0, 0, 0);
    int n_left = 0;
    for (long row = first_row; row < last_row;) {
        int n;
        const int n_batch = begin_batch(&f, row, last_row, &shape, &n, group);
        gather_batch(&f, row, n_batch, &shape, false, group);
        sort_batch(n, group);
        find_entries(n, &shape, false, group);
        for (int i = item; i < n_batch; i += ITEMS)
            c_offsets[c_offsets_start + row + i] = x.stops[i] - x.firsts[i];
        n_left += n_batch == 0 ? 1 : 0;
        row += max(n_batch, 1);
    }
    if (item == 0)
        left[left_start + get_group_id(0)] = n_left;
}

// The sum of products `first` to stop - 1 of a batch.
INLINE ACC sum_of_keys(int first, int stop, const batch_shape *shape, batch_group group)
{
    ACC sum = -(ACC)0; // so that the first product does not change
#pragma unroll 1       // most columns have one product or two
    for (int i = first; i < stop; ++i) {
        const uint number = group.keys[place_of(i)] & (uint)(shape->most - 1);
        sum = multiply_add(group.a[number], group.b[number], sum);
    }
    return sum;
}

kernel GROUP void spgemm_fill_sorted(SORT, FACTORS, LEFT(OUT), OFFSETS(SOLE_IN), KEPT,
                                     PRODUCTS_PARAMETERS(DECLARE, COMMA),
                                     ENTRIES_PARAMETERS(DECLARE, COMMA))
{
    ROWS_OF_GROUP(rows, n_rows);
    GET_FACTORS;
    GET_SHAPE(sorted, sort_rows, column_bits);
    GET_BATCH_GROUP(a_factors, b_factors, heads);
    int n_left = 0;
    for (long row = first_row; row < last_row;) {
        int n;
        const int n_batch = begin_batch(&f, row, last_row, &shape, &n, group);
        gather_batch(&f, row, n_batch, &shape, true, group);
        sort_batch(n, group);
        const int n_entries = find_entries(n, &shape, true, group);
        for (int i = item; i < n_entries; i += ITEMS) {
            const uint key = keys[place_of(heads[i])];
            const int i_row = row_of_key(key, &shape);
            global const NUMBER *const offset = c_offsets + c_offsets_start + row + i_row;
            const long at = (long)offset[0] + i - x.firsts[i_row];
            const ACC sum = sum_of_keys(heads[i], heads[i + 1], &shape, group);
            if (at >= offset[1])
                continue;
            c_indices[c_indices_start + at] =
                (C_INDEX)(key >> shape.bits & (uint)((1UL << column_bits) - 1));
            store_one(sum, c_values + c_values_start + at);
        }
        n_left += n_batch == 0 ? 1 : 0;
        row += max(n_batch, 1);
    }
    if (item == 0)
        left[left_start + get_group_id(0)] = n_left;
}
