// SPDX-License-Identifier: Apache-2.0
// Made-up matrices: as many entries, and rows as uneven, as was asked for.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "generate.h"

static int32_t row_length(const weft_csr_host *csr, int64_t row)
{
    const int32_t *offsets = csr->offsets;
    return offsets[row + 1] - offsets[row];
}

static void make_layer(weft_csr_host *out, const generate_layer *layer)
{
    complaint why;
    if (!generate_layer_csr(out, layer, &why))
        fail_msg("%s", why.text);
    assert_int_equal(out->nnz, layer->nnz);
    if (weft_csr_host_check(out, WEFT_CSR_SORTED | WEFT_CSR_UNIQUE) != WEFT_OK)
        fail_msg("%s", weft_last_error());
}

static void rows_vary_as_asked(void **state)
{
    (void)state;
    static const double densities[] = {0.5, 0.3, 0.2, 0.1, 0.05, 0.02};
    static const double covs[] = {0, 0.1, 0.5, 0.9, 2};
    for (size_t i = 0; i < sizeof(densities) / sizeof(densities[0]); i++)
        for (size_t j = 0; j < sizeof(covs) / sizeof(covs[0]); j++) {
            generate_layer layer = {.m = 2048, .k = 1024, .cov = covs[j], .seed = 7};
            layer.nnz = (int64_t)((double)(layer.m * layer.k) * densities[i]);
            if (covs[j] >= 0.95 * generate_layer_max_cov(&layer))
                continue;
            weft_csr_host csr;
            make_layer(&csr, &layer);
            const weft_row_stats rows = weft_row_stats_of(csr.offsets, WEFT_I32, csr.n_rows);
            if (fabs(rows.cov - covs[j]) > 0.03 + 0.08 * covs[j])
                fail_msg("density %g: cov %g, not %g", densities[i], rows.cov, covs[j]);
            weft_csr_host_destroy(&csr);
        }
}

static void columns_are_drawn_evenly(void **state)
{
    (void)state;
    const generate_layer layer = {.m = 4000, .k = 100, .nnz = 120000, .cov = 0.5, .seed = 3};
    weft_csr_host csr;
    int64_t counts[100] = {0};
    make_layer(&csr, &layer);
    for (int64_t e = 0; e < csr.nnz; e++)
        counts[((const int32_t *)csr.indices)[e]]++;
    for (int column = 0; column < 100; column++)
        assert_in_range(counts[column], 1200 - 6 * 35, 1200 + 6 * 35); // six standard deviations
    weft_csr_host_destroy(&csr);
}

static void extreme_layers_exist(void **state)
{
    (void)state;
    static const generate_layer layers[] = {
        {.m = 1, .k = 1, .nnz = 0},
        {.m = 1, .k = 1, .nnz = 1},
        {.m = 3, .k = 64, .nnz = 192},
        {.m = 5, .k = 65, .nnz = 324, .seed = 1},
        {.m = 5, .k = 63, .nnz = 1},
        {.m = 2, .k = 128, .nnz = 129, .has_full = true},
        {.m = 1, .k = 70, .nnz = 70, .has_full = true},
        {.m = 9, .k = 130, .nnz = 0, .cov = 2},
    };
    for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
        weft_csr_host csr;
        make_layer(&csr, &layers[i]);
        weft_csr_host_destroy(&csr);
    }
}

static void one_row_is_full(void **state)
{
    (void)state;
    const generate_layer layer = {
        .m = 300, .k = 5000, .nnz = 20000, .cov = 0.1, .has_full = true, .seed = 5};
    weft_csr_host csr;
    make_layer(&csr, &layer);
    for (int64_t row = 0; row < layer.m; row++)
        if (row == layer.m / 2)
            assert_int_equal(row_length(&csr, row), 5000);
        else
            assert_in_range(row_length(&csr, row), 25, 75);
    weft_csr_host_destroy(&csr);
}

static void seeds_decide(void **state)
{
    (void)state;
    generate_layer layer = {.m = 100, .k = 100, .nnz = 2000, .cov = 0.5, .seed = 1};
    weft_csr_host first, again, other;
    make_layer(&first, &layer);
    make_layer(&again, &layer);
    layer.seed = 2;
    make_layer(&other, &layer);
    assert_memory_equal(first.offsets, again.offsets, 101 * sizeof(int32_t));
    assert_memory_equal(first.indices, again.indices, 2000 * sizeof(int32_t));
    assert_memory_equal(first.values, again.values, 2000 * sizeof(float));
    assert_memory_not_equal(first.indices, other.indices, 2000 * sizeof(int32_t));
    assert_memory_not_equal(first.values, other.values, 2000 * sizeof(float));
    weft_csr_host_destroy(&first);
    weft_csr_host_destroy(&again);
    weft_csr_host_destroy(&other);
}

static void impossible_layers_are_refused(void **state)
{
    (void)state;
    static const generate_layer layers[] = {
        {.m = 0, .k = 1, .nnz = 0},
        {.m = 4, .k = 4, .nnz = 17},
        {.m = 4, .k = 4, .nnz = -1},
        {.m = 4, .k = 4, .nnz = 3, .has_full = true},
        {.m = 4, .k = 4, .nnz = 8, .cov = 1}, // at most 1 at density 0.5
        {.m = 4, .k = 4, .nnz = 8, .cov = NAN},
        {.m = 4, .k = 4, .nnz = 8, .cov = -1},
    };
    for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]); i++) {
        weft_csr_host csr;
        complaint why;
        assert_false(generate_layer_csr(&csr, &layers[i], &why));
        assert_null(csr.offsets);
    }
}

static bool has_entry(const weft_csr_host *csr, int64_t row, int64_t column)
{
    const int32_t *offsets = csr->offsets, *indices = csr->indices;
    for (int32_t e = offsets[row]; e < offsets[row + 1]; e++)
        if (indices[e] == column)
            return true;
    return false;
}

static void graphs_are_symmetric_and_scale_free(void **state)
{
    (void)state;
    const generate_graph graph = {.n_nodes = 5000, .degree = 4, .seed = 11};
    weft_csr_host csr;
    complaint why;
    if (!generate_graph_csr(&csr, &graph, &why))
        fail_msg("%s", why.text);
    assert_int_equal(csr.nnz, generate_graph_nnz(&graph));
    assert_int_equal(weft_csr_host_check(&csr, WEFT_CSR_SORTED | WEFT_CSR_UNIQUE), WEFT_OK);
    const int32_t *offsets = csr.offsets, *indices = csr.indices;
    int64_t longest = 0;
    for (int64_t row = 0; row < csr.n_rows; row++) {
        assert_in_range(row_length(&csr, row), 4, 4999);
        if (row_length(&csr, row) > longest)
            longest = row_length(&csr, row);
        for (int32_t e = offsets[row]; e < offsets[row + 1]; e++) {
            assert_int_not_equal(indices[e], row);
            assert_true(has_entry(&csr, indices[e], row));
        }
    }
    // The largest of 5000 draws from d^-3 beginning at 4 is about 4 sqrt(5000) = 283.
    assert_in_range(longest, 100, 1000);
    weft_csr_host_destroy(&csr);
}

static void smallest_graphs_exist(void **state)
{
    (void)state;
    complaint why;
    weft_csr_host csr;
    const generate_graph pair = {.n_nodes = 2, .degree = 1};
    assert_true(generate_graph_csr(&csr, &pair, &why));
    assert_int_equal(csr.nnz, 2);
    weft_csr_host_destroy(&csr);
    const generate_graph complete = {.n_nodes = 5, .degree = 4, .dtype = WEFT_F64};
    assert_true(generate_graph_csr(&csr, &complete, &why));
    assert_int_equal(csr.nnz, 20);
    assert_int_equal(csr.dtype, WEFT_F64);
    weft_csr_host_destroy(&csr);
    const generate_graph impossible = {.n_nodes = 4, .degree = 4};
    assert_false(generate_graph_csr(&csr, &impossible, &why));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_vary_as_asked),
        cmocka_unit_test(columns_are_drawn_evenly),
        cmocka_unit_test(extreme_layers_exist),
        cmocka_unit_test(one_row_is_full),
        cmocka_unit_test(seeds_decide),
        cmocka_unit_test(impossible_layers_are_refused),
        cmocka_unit_test(graphs_are_symmetric_and_scale_free),
        cmocka_unit_test(smallest_graphs_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
