// SPDX-License-Identifier: Apache-2.0
// .npy files: what is read, what is refused, and that damage is neither believed nor fatal.
#include <math.h>

#include "npy.h"
#include "scalar.h"
#include "scratch_file.h"

// A file of version 1.0 with this header and so many bytes of elements, 0, 1, 2 and so on.
static const char *put_npy(const char *header, size_t element_bytes)
{
    unsigned char bytes[2048] = "\x93NUMPY\x01\x00";
    const size_t length = strlen(header);
    assert_true(10 + length + element_bytes <= sizeof(bytes));
    bytes[8] = (unsigned char)(length & 0xff);
    bytes[9] = (unsigned char)(length >> 8);
    memcpy(bytes + 10, header, length);
    for (size_t i = 0; i < element_bytes; i++)
        bytes[10 + length + i] = (unsigned char)i;
    return put("header.npy", bytes, 10 + length + element_bytes);
}

static void npy_comes_back_as_written(void **state)
{
    static const weft_dtype dtypes[] = {WEFT_F16, WEFT_BF16, WEFT_F32, WEFT_F64, WEFT_I16,
                                        WEFT_I32, WEFT_I64,  WEFT_U8,  WEFT_I8};
    static const int64_t shape[] = {2, 1, 3, 1, 2, 1, 1, 2};
    unsigned char data[24 * 8];
    complaint why;
    (void)state;
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)(7 * i + 1);
    for (size_t t = 0; t < sizeof(dtypes) / sizeof(dtypes[0]); t++)
        for (int ndim = 0; ndim <= 8; ndim++) {
            const char *path = path_of("round.npy");
            npy_array array;
            int64_t count = 1;
            for (int d = 0; d < ndim; d++)
                count *= shape[d];
            assert_true(npy_write(path, dtypes[t], ndim, shape, data, &why));
            const weft_dtype asked = dtypes[t] == WEFT_BF16 ? WEFT_BF16 : WEFT_DEFAULT;
            if (!npy_read(&array, path, asked, &why))
                fail_msg("%s", why.text);
            assert_int_equal(array.dtype, dtypes[t]);
            assert_int_equal(array.ndim, ndim);
            assert_int_equal(array.count, count);
            assert_memory_equal(array.shape, shape, (size_t)ndim * sizeof(shape[0]));
            assert_memory_equal(array.data, data, (size_t)count * weft_dtype_size(dtypes[t]));
            npy_free(&array);
        }
}

static void npy_is_written_as_numpy_does(void **state)
{
    static const int64_t shape[] = {2, 3};
    static const float data[6] = {0};
    static const char head[] = "\x93NUMPY\x01\x00v\x00"
                               "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
    const char *path = path_of("numpy.npy");
    unsigned char bytes[256];
    complaint why;
    (void)state;
    assert_true(npy_write(path, WEFT_F32, 2, shape, data, &why));
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    assert_int_equal(fread(bytes, 1, sizeof(bytes), stream), 128 + sizeof(data));
    fclose(stream);
    assert_memory_equal(bytes, head, sizeof(head) - 1);
    for (size_t i = sizeof(head) - 1; i < 127; i++)
        assert_int_equal(bytes[i], ' ');
    assert_int_equal(bytes[127], '\n');
}

static void npy_reads_every_header_that_is_sound(void **state)
{
    static const char *const headers[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
        "{\"shape\":(2,3),\"descr\":\"<f4\",\"fortran_order\":False}",
        "  { 'fortran_order' : False , 'shape' : ( 2L , 3L , ) , 'descr' : '<f4' }  \n",
    };
    complaint why;
    (void)state;
    for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
        npy_array array;
        if (!npy_read(&array, put_npy(headers[i], 24), WEFT_DEFAULT, &why))
            fail_msg("%s: %s", headers[i], why.text);
        assert_int_equal(array.ndim, 2);
        assert_int_equal(array.shape[0], 2);
        assert_int_equal(array.shape[1], 3);
        npy_free(&array);
    }
}

static void npy_reads_versions_2_and_3(void **state)
{
    static const char header[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,)}";
    unsigned char bytes[256] = "\x93NUMPY";
    complaint why;
    (void)state;
    for (int version = 2; version <= 3; version++) {
        npy_array array;
        bytes[6] = (unsigned char)version;
        bytes[8] = sizeof(header) - 1;
        memcpy(bytes + 12, header, sizeof(header) - 1);
        memcpy(bytes + 11 + sizeof(header), "abc", 3);
        const char *path = put("version.npy", bytes, 14 + sizeof(header));
        assert_true(npy_read(&array, path, WEFT_DEFAULT, &why));
        assert_int_equal(array.dtype, WEFT_U8);
        assert_memory_equal(array.data, "abc", 3);
        npy_free(&array);
    }
}

static void npy_refuses_what_it_cannot_read(void **state)
{
    static const struct {
        const char *header;
        size_t element_bytes;
        const char *complaint;
    } cases[] = {
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", 8, "big-endian ('>f4')"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}", 8, "Fortran order"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", 8, "type '<c8'"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (4,)}", 8, "bf16"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", 8, "'descr'"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}", 8, "'fortran_order'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 2}", 8, "no tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", 8, "an extent"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2", 8, "does not end"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)", 8, "does not end"},
        {"{'descr': '<f4', 'fortran_order': False}", 8, "missing"},
        {"{'descr': '<f4', 'descr': '<f4', 'shape': (2,)}", 8, "repeated key"},
        {"{'colour': 'red'}", 8, "unknown"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} x", 8, "follows"},
        {"{'descr': '<f4", 0, "'descr'"},
        {"", 8, "no dictionary"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", 8,
         "needs 12 bytes of elements (3 of 4), the file holds 8"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 8, "the file holds 8"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}", 8, "the file holds 8"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", 4,
         "more than 8 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}", 8, "4000000000000"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 0,
         "more elements than any file"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,)}", 0,
         "more elements than any file"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}", 0,
         "an extent"},
    };
    complaint why;
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        npy_array array;
        const char *path = put_npy(cases[i].header, cases[i].element_bytes);
        assert_false(npy_read(&array, path, WEFT_DEFAULT, &why));
        assert_null(array.data);
        expect_complaint(&why, "header.npy: ");
        expect_complaint(&why, cases[i].complaint);
    }
}

static void npy_converts(void **state)
{
    const double data[] = {1 + 0x1p-11 + 0x1p-40, -2.5, 1e6, NAN};
    const int64_t shape[] = {4};
    npy_array array;
    complaint why;
    (void)state;
    const char *path = path_of("convert.npy");
    assert_true(npy_write(path, WEFT_F64, 1, shape, data, &why));
    assert_true(npy_read(&array, path, WEFT_F16, &why));
    // Rounded by way of f32, the first would be a tie and go down to 1.
    assert_true(scalar_get(WEFT_F16, array.data, 0) == 1 + 0x1p-10);
    assert_true(scalar_get(WEFT_F16, array.data, 1) == -2.5);
    assert_true(scalar_get(WEFT_F16, array.data, 2) == INFINITY);
    assert_true(isnan(scalar_get(WEFT_F16, array.data, 3)));
    npy_free(&array);
    assert_false(npy_read(&array, path, WEFT_I32, &why));
    expect_complaint(&why, "holds f64, but i32 is needed");
    const int8_t narrow[] = {-128, -1, 0, 127};
    path = path_of("narrow.npy");
    assert_true(npy_write(path, WEFT_I8, 1, shape, narrow, &why));
    assert_true(npy_read(&array, path, WEFT_F32, &why));
    for (int i = 0; i < 4; i++)
        assert_true(scalar_get(WEFT_F32, array.data, i) == narrow[i]);
    npy_free(&array);
}

static void npy_survives_damage(void **state)
{
    const int64_t shape[] = {2, 3};
    const float data[6] = {1, 2, 3, 4, 5, 6};
    unsigned char whole[152], bytes[152];
    npy_array array;
    complaint why;
    (void)state;
    assert_true(npy_write(path_of("whole.npy"), WEFT_F32, 2, shape, data, &why));
    FILE *stream = fopen(path_of("whole.npy"), "rb");
    assert_non_null(stream);
    assert_int_equal(fread(whole, 1, sizeof(whole), stream), sizeof(whole));
    fclose(stream);
    for (size_t size = 0; size < sizeof(whole); size++) {
        assert_false(npy_read(&array, put("cut.npy", whole, size), WEFT_DEFAULT, &why));
        expect_complaint(&why, "cut.npy: ");
    }
    for (size_t at = 0; at < 128; at++)
        for (int flip = 1; flip < 256; flip *= 2) {
            memcpy(bytes, whole, sizeof(bytes));
            bytes[at] ^= (unsigned char)flip;
            why.text[0] = '\0';
            if (npy_read(&array, put("flip.npy", bytes, sizeof(bytes)), WEFT_DEFAULT, &why))
                npy_free(&array);
            else
                expect_complaint(&why, "flip.npy: ");
        }
}

static void npy_names_what_is_no_file(void **state)
{
    npy_array array;
    complaint why;
    (void)state;
    assert_false(npy_read(&array, path_of("absent.npy"), WEFT_F32, &why));
    expect_complaint(&why, "absent.npy: No such file");
    assert_false(npy_read(&array, path_of("."), WEFT_F32, &why));
    expect_complaint(&why, "Is a directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npy_comes_back_as_written),
        cmocka_unit_test(npy_is_written_as_numpy_does),
        cmocka_unit_test(npy_reads_every_header_that_is_sound),
        cmocka_unit_test(npy_reads_versions_2_and_3),
        cmocka_unit_test(npy_refuses_what_it_cannot_read),
        cmocka_unit_test(npy_converts),
        cmocka_unit_test(npy_survives_damage),
        cmocka_unit_test(npy_names_what_is_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
