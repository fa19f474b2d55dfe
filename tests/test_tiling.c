// SPDX-License-Identifier: Apache-2.0
// Tilings as text: what each operation's table prints it reads again, and what no table reads is
// refused with its place.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "axis/axis_plan.h"
#include "convert/csr_dense_plan.h"
#include "convert/csr_transpose_plan.h"
#include "dense/matmul_tiling.h"
#include "elementwise/elementwise_plan.h"
#include "expect.h"
#include "random.h"
#include "sparse/sddmm_plan.h"
#include "sparse/sddmm_sparse_plan.h"
#include "sparse/sparse_attention_plan.h"
#include "sparse/sparse_softmax_plan.h"
#include "sparse/spgemm_plan.h"
#include "sparse/spmm_tiling.h"
#include "tiling_text.h"

static const struct {
    const char *name;
    const weft_tiling_table *table;
    size_t size;
} operations[] = {
#define OPERATION(op)                                                                              \
    {                                                                                              \
#op, &weft_##op##_tiling_table, sizeof(weft_##op##_tiling)                                 \
    }
    OPERATION(axis),         OPERATION(csr_dense),      OPERATION(csr_transpose),
    OPERATION(elementwise),  OPERATION(matmul),         OPERATION(sddmm),
    OPERATION(sddmm_sparse), OPERATION(sparse_softmax), OPERATION(sparse_attention),
    OPERATION(spgemm),       OPERATION(spmm),
};

enum { N_OPERATIONS = sizeof(operations) / sizeof(operations[0]), MOST_BYTES = 256 };

// A tiling of any operation.
typedef union {
    int64_t aligned;
    unsigned char bytes[MOST_BYTES];
} any_tiling;

static size_t bytes_of(const weft_tiling_field *field)
{
    return field->kind == WEFT_TILING_FLAG    ? sizeof(bool)
           : field->kind == WEFT_TILING_INT64 ? sizeof(int64_t)
                                              : sizeof(int);
}

static void fill_in(any_tiling *tiling, const weft_tiling_field *field, random_state *random)
{
    static const int64_t wide[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_C(1) << 40, 10, -4096};
    static const int narrow[] = {0, 1, -1, INT_MAX, INT_MIN, 1 << 20, 10, -4096};
    const int64_t pick = random_below(random, 8);
    const bool flag = pick % 2;
    const int word = (int)pick % (field->n_words > 0 ? field->n_words : 1);
    const void *from = field->kind == WEFT_TILING_FLAG    ? (const void *)&flag
                       : field->kind == WEFT_TILING_INT64 ? (const void *)&wide[pick]
                       : field->kind == WEFT_TILING_WORD  ? (const void *)&word
                                                          : (const void *)&narrow[pick];
    memcpy(tiling->bytes + field->offset, from, bytes_of(field));
}

static void check_same(const weft_tiling_table *table, const any_tiling *got,
                       const any_tiling *want, const char *text)
{
    for (int i = 0; i < table->n_fields; i++) {
        const weft_tiling_field *field = &table->fields[i];
        if (memcmp(got->bytes + field->offset, want->bytes + field->offset, bytes_of(field)) != 0)
            fail_msg("%s is not what it was: \"%s\"", field->name, text);
    }
}

static void check_round_trip(const weft_tiling_table *table, const any_tiling *tiling)
{
    char text[TILING_TEXT_SIZE], again[TILING_TEXT_SIZE], little[8];
    any_tiling got;
    bool is_forced = false;
    memset(&got, 1, sizeof(got)); // what is left out is written, too
    const int length = weft_tiling_print(table, tiling, text, sizeof(text));
    assert_int_equal(length, strlen(text));
    assert_int_equal(weft_tiling_print(table, tiling, little, sizeof(little)), length);
    assert_int_equal(strncmp(little, text, sizeof(little) - 1), 0);
    assert_int_equal(weft_tiling_print(table, tiling, NULL, 0), length);
    expect(weft_tiling_read(&is_forced, &got, table, "op: tiling", text), WEFT_OK, NULL);
    assert_true(is_forced);
    check_same(table, &got, tiling, text);
    weft_tiling_print(table, &got, again, sizeof(again));
    assert_string_equal(text, again);
}

static void test_every_table_reads_what_it_prints(void **state)
{
    (void)state;
    random_state random = {1};
    for (int i = 0; i < N_OPERATIONS; i++) {
        const weft_tiling_table *table = operations[i].table;
        assert_in_range(operations[i].size, 1, MOST_BYTES);
        for (int j = 0; j < 2000; j++) {
            any_tiling tiling = {0};
            for (int k = 0; k < table->n_fields; k++)
                fill_in(&tiling, &table->fields[k], &random);
            check_round_trip(table, &tiling);
        }
    }
}

static size_t rounded_up(size_t value, size_t step)
{
    return (value + step - 1) / step * step;
}

// No two fields of one name, and each where the one before ends: none of the struct is left out.
static void test_tables_have_all_of_the_struct(void **state)
{
    (void)state;
    for (int i = 0; i < N_OPERATIONS; i++) {
        const weft_tiling_table *table = operations[i].table;
        size_t end = 0, widest = 1;
        assert_in_range(table->n_fields, 1, WEFT_TILING_MOST_FIELDS);
        for (int j = 0; j < table->n_fields; j++) {
            const weft_tiling_field *field = &table->fields[j];
            const size_t bytes = bytes_of(field);
            if (field->offset != rounded_up(end, bytes))
                fail_msg("%s: before %s", operations[i].name, field->name);
            for (int k = 0; k < j; k++)
                assert_string_not_equal(table->fields[k].name, field->name);
            end = field->offset + bytes;
            widest = bytes > widest ? bytes : widest;
        }
        assert_int_equal(rounded_up(end, widest), operations[i].size);
    }
}

static void test_print(void **state)
{
    (void)state;
    static const weft_spmm_tiling spmm = {.vector_width = 8,
                                          .vectors = 2,
                                          .lanes = 16,
                                          .rows_per_group = 4,
                                          .row_chunk = 4096,
                                          .aligned = true},
                                  nothing = {0};
    static const weft_matmul_tiling dots = {.method = WEFT_MATMUL_DOTS,
                                            .transposed = true,
                                            .vector_width = 2},
                                    blocks = {.chunk = -5},
                                    none = {.method = (weft_matmul_method)7};
    assert_string_equal(
        TILING_TEXT(spmm, &spmm),
        "vector_width 8, vectors 2, lanes 16, rows_per_group 4, row_chunk 4096, aligned");
    assert_string_equal(TILING_TEXT(spmm, &nothing), "");
    assert_string_equal(TILING_TEXT(matmul, &dots), "method dots, transposed, vector_width 2");
    assert_string_equal(TILING_TEXT(matmul, &blocks), "method blocks, chunk -5");
    assert_string_equal(TILING_TEXT(matmul, &none), "method 7");
    assert_null(TILING_TEXT(matmul, (const weft_matmul_tiling *)NULL));
}

static void test_order_and_spaces_are_free(void **state)
{
    (void)state;
    static const char *const texts[] = {"method rows, transposed, vector_width 8, chunk 40",
                                        "chunk 40,vector_width 8,transposed,method rows",
                                        " vector_width\t8 ,\n transposed , chunk  40,method rows ",
                                        "vector_width 008, method rows, chunk 40, transposed"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        weft_matmul_tiling t;
        bool is_forced = false;
        memset(&t, 1, sizeof(t));
        expect(weft_tiling_read(&is_forced, &t, &weft_matmul_tiling_table, "", texts[i]), WEFT_OK,
               NULL);
        assert_string_equal(TILING_TEXT(matmul, &t),
                            "method rows, transposed, vector_width 8, chunk 40");
    }
}

static void test_nothing_is_forced_by_null_and_zeros_by_an_empty_text(void **state)
{
    (void)state;
    weft_axis_tiling t = {.vector_width = 7, .cache = true};
    bool is_forced = true;
    expect(weft_tiling_read(&is_forced, &t, &weft_axis_tiling_table, "", NULL), WEFT_OK, NULL);
    assert_false(is_forced);
    assert_int_equal(t.vector_width, 7);
    expect(weft_tiling_read(&is_forced, &t, &weft_axis_tiling_table, "", " "), WEFT_OK, NULL);
    assert_true(is_forced);
    assert_true(t.vector_width == 0 && !t.cache);
}

// ---- what is refused

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"vector_width 8, vector 2", "there is no field 'vector', at character 17"},
        {"Fold 8", "there is no field 'Fold', at character 1"},
        {"fol 8", "there is no field 'fol', at character 1"},
        {"vector_widths 8", "there is no field 'vector_widths', at character 1"},
        {"vector_width=8", "there is no field 'vector_width=8', at character 1"},
        {"vector_width 8; transposed",
         "'vector_width' is '8;': a whole number is wanted, at character 14"},
        {"vector_width 8,", "the name of a field is wanted, at character 16"},
        {", vector_width 8", "the name of a field is wanted, at character 1"},
        {"vector_width 8,, transposed", "the name of a field is wanted, at character 16"},
        {"vector_width", "the number of 'vector_width' is missing, at character 13"},
        {"vector_width , transposed", "the number of 'vector_width' is missing, at character 14"},
        {"vector_width eight",
         "'vector_width' is 'eight': a whole number is wanted, at character 14"},
        {"vector_width 8.5", "'vector_width' is '8.5': a whole number is wanted, at character 14"},
        {"vector_width 0x8", "'vector_width' is '0x8': a whole number is wanted, at character 14"},
        {"vector_width +8", "'vector_width' is '+8': a whole number is wanted, at character 14"},
        {"vector_width -", "'vector_width' is '-': a whole number is wanted, at character 14"},
        {"vector_width --8", "'vector_width' is '--8': a whole number is wanted, at character 14"},
        {"vector_width 2147483648",
         "'vector_width' is 2147483648: -2147483648 to 2147483647 is wanted, at character 14"},
        {"vector_width -2147483649",
         "'vector_width' is -2147483649: -2147483648 to 2147483647 is wanted, at character 14"},
        {"chunk 9223372036854775808", "'chunk' is 9223372036854775808: -9223372036854775808 to "
                                      "9223372036854775807 is wanted, at character 7"},
        {"chunk -9223372036854775809", "'chunk' is -9223372036854775809: -9223372036854775808 to "
                                       "9223372036854775807 is wanted, at character 7"},
        {"chunk 99999999999999999999999999999999999999999999999999",
         "'chunk' is 9999999999999999999999999999999999999999: -"},
        {"vector_width 8, rows 2, vector_width 8",
         "'vector_width' is there twice, at character 25"},
        {"transposed, transposed", "'transposed' is there twice, at character 13"},
        {"transposed 1", "'transposed' takes no value, but '1' follows, at character 12"},
        {"transposed yes, vector_width 8",
         "'transposed' takes no value, but 'yes' follows, at character 12"},
        {"vector_width 8 vectors 2", "a comma is wanted before 'vectors', at character 16"},
        {"method", "the word of 'method' is missing, at character 7"},
        {"method , vector_width 8", "the word of 'method' is missing, at character 8"},
        {"method block", "there is no method 'block', at character 8"},
        {"method 0", "there is no method '0', at character 8"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        weft_matmul_tiling t;
        bool is_forced;
        char sentence[256];
        snprintf(sentence, sizeof(sentence), "matmul: tiling: %s", cases[i].sentence);
        expect(weft_tiling_read(&is_forced, &t, &weft_matmul_tiling_table, "matmul: tiling",
                                cases[i].text),
               WEFT_BAD_ARGUMENT, sentence);
        if (strncmp(weft_last_error(), sentence, strlen(sentence)) != 0)
            fail_msg("\"%s\"", weft_last_error());
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_table_reads_what_it_prints),
        cmocka_unit_test(test_tables_have_all_of_the_struct),
        cmocka_unit_test(test_print),
        cmocka_unit_test(test_order_and_spaces_are_free),
        cmocka_unit_test(test_nothing_is_forced_by_null_and_zeros_by_an_empty_text),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("tilings as text", tests, NULL, NULL);
}
