// SPDX-License-Identifier: Apache-2.0
// .npy files: what is read, what is refused, and that damage is neither believed nor fatal.
#include <math.h>

#include "npy.h"
#include "scalar.h"
#include "scratch_file.h"

// A file with this header and so many bytes of elements, 0, 1, 2 and so on.
static const char *put_npy(const char *header, size_t element_bytes)
{
    unsigned char elements[256];
    assert_true(element_bytes <= sizeof(elements));
    for (size_t i = 0; i < element_bytes; i++)
        elements[i] = (unsigned char)i;
    return put_npy_of("header.npy", header, elements, element_bytes);
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
        {"{'descr': 'f4', 'fortran_order': False, 'shape': (2,)}", 8, "type 'f4'"},
        {"{'descr': '', 'fortran_order': False, 'shape': (2,)}", 8, "type ''"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", 8, "type '<c8'"},
        {"{'descr': '<u2', 'fortran_order': False, 'shape': (4,)}", 8, "bf16 or integers"},
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

// ---- other orders and types

#define ARRAY(descr, order, shape)                                                                 \
    "{'descr': '" descr "', 'fortran_order': " order ", 'shape': (" shape ")}"

static void expect_elements(const char *path, weft_dtype asked, weft_dtype dtype, int n,
                            const double *want)
{
    npy_array array;
    complaint why;
    if (!npy_read(&array, path, asked, &why))
        fail_msg("%s", why.text);
    assert_int_equal(array.dtype, dtype);
    assert_int_equal(array.count, n);
    for (int i = 0; i < n; i++)
        if (scalar_get(dtype, array.data, i) != want[i])
            fail_msg("element %d is %g, not %g", i, scalar_get(dtype, array.data, i), want[i]);
    npy_free(&array);
}

static void npy_reads_every_order_and_type(void **state)
{
    static const struct {
        const char *header, *bytes;
        size_t n_bytes;
        weft_dtype asked, dtype;
        int n;
        double want[6];
    } cases[] = {
        {ARRAY(">i2", "False", "2,"), "\xff\xfe\1\2", 4, WEFT_DEFAULT, WEFT_I16, 2, {-2, 258}},
        {ARRAY(">f4", "False", "1,"), "\xc0\x20\0\0", 4, WEFT_DEFAULT, WEFT_F32, 1, {-2.5}},
        {ARRAY(">f8", "False", "1,"), "\x3f\xf8\0\0\0\0\0", 8, WEFT_F32, WEFT_F32, 1, {1.5}},
        {ARRAY("|b1", "False", "3,"), "\0\1\2", 3, WEFT_DEFAULT, WEFT_U8, 3, {0, 1, 1}},
        {ARRAY("<u2", "False", "2,"), "\1\0\xff\xff", 4, WEFT_F32, WEFT_F32, 2, {1, 65535}},
        {ARRAY(">u2", "False", "1,"), "\x3f\x80", 2, WEFT_BF16, WEFT_BF16, 1, {1}},
        {ARRAY("<u4", "False", "1,"),
         "\xff\xff\xff\xff",
         4,
         WEFT_DEFAULT,
         WEFT_I64,
         1,
         {4294967295.0}},
        {ARRAY(">u8", "False", "1,"),
         "\0\0\0\1\0\0\0\2",
         8,
         WEFT_DEFAULT,
         WEFT_I64,
         1,
         {4294967298.0}},
        {ARRAY("|i1", "False", "2,"), "\xff\2", 2, WEFT_I32, WEFT_I32, 2, {-1, 2}},
        {ARRAY("<i2", "False", "1,"), "\xfe\xff", 2, WEFT_I64, WEFT_I64, 1, {-2}},
        {ARRAY("|u1", "True", "2, 3"),
         "\1\2\3\4\5\6",
         6,
         WEFT_DEFAULT,
         WEFT_U8,
         6,
         {1, 3, 5, 2, 4, 6}},
        {ARRAY("|u1", "True", "1, 3, 2"),
         "\1\2\3\4\5\6",
         6,
         WEFT_F16,
         WEFT_F16,
         6,
         {1, 4, 2, 5, 3, 6}},
        {ARRAY(">u2", "True", "2, 2"), "\0\1\0\2\0\3\0\4", 8, WEFT_F64, WEFT_F64, 4, {1, 3, 2, 4}},
        {ARRAY("<f4", "True", "0, 3"), "", 0, WEFT_DEFAULT, WEFT_F32, 0, {0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_elements(put_npy_of("order.npy", cases[i].header, cases[i].bytes, cases[i].n_bytes),
                        cases[i].asked, cases[i].dtype, cases[i].n, cases[i].want);
}

static void npy_refuses_what_does_not_fit(void **state)
{
    static const char sign[] = "\0\0\0\0\0\0\0\x80";
    const char *header = ARRAY("<u8", "False", "1,");
    npy_array array;
    complaint why;
    (void)state;
    assert_false(npy_read(&array, put_npy_of("sign.npy", header, sign, 8), WEFT_F32, &why));
    expect_complaint(&why, "sign.npy: element 0 is 9223372036854775808, which is beyond i64");
    assert_false(npy_read(&array, put_npy_of("sign.npy", header, sign, 8), WEFT_I32, &why));
    input_stream in;
    const char *path = put_npy_of("most.npy", ARRAY("|u1", "False", "4,"), "abcd", 4);
    for (uint64_t limit = 15; limit <= 16; limit++) {
        assert_true(input_open(&in, path, &why));
        assert_int_equal(npy_take(&array, &in, &(npy_params){WEFT_F32, false, limit}, &why),
                         limit == 16);
        input_close(&in);
        npy_free(&array);
    }
    expect_complaint(&why, "most.npy: is larger than the device's largest buffer: 16 bytes as f32");
}

// ---- what is packed

typedef struct packed {
    unsigned char bytes[1 << 16];
    size_t size;
} packed;

// By gzip (31) or bare (-15), behind what is there.
static void pack(packed *out, int k_block_bits, const void *bytes, size_t size)
{
    z_stream z = {.next_in = (unsigned char *)(uintptr_t)bytes,
                  .avail_in = (uInt)size,
                  .next_out = out->bytes + out->size,
                  .avail_out = (uInt)(sizeof(out->bytes) - out->size)};
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, k_block_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out->size = (size_t)(z.next_out - out->bytes);
    deflateEnd(&z);
}

static void add(packed *out, const void *bytes, size_t size)
{
    assert_true(out->size + size <= sizeof(out->bytes));
    memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

static void add_number(packed *out, uint64_t value, int n_bytes)
{
    for (int i = 0; i < n_bytes; i++, value >>= 8)
        add(out, &(unsigned char){(unsigned char)value}, 1);
}

// What the local header and the directory both say of a member. With `wide` sizes stand in an extra
// field, as in archives beyond 4 GiB.
static void add_member_words(packed *out, bool is_deflated, bool wide, const char *name,
                             const void *bytes, size_t size, size_t n_packed)
{
    add_number(out, 0, 2);
    add_number(out, is_deflated ? 8 : 0, 2);
    add_number(out, 0, 4);
    add_number(out, crc32_z(0, bytes, size), 4);
    add_number(out, wide ? UINT32_MAX : n_packed, 4);
    add_number(out, wide ? UINT32_MAX : size, 4);
    add_number(out, strlen(name), 2);
    add_number(out, wide ? 20 : 0, 2);
}

static void add_name(packed *out, const char *name, bool wide, size_t size, size_t n_packed)
{
    add(out, name, strlen(name));
    if (!wide)
        return;
    add_number(out, 1, 2);
    add_number(out, 16, 2);
    add_number(out, size, 8);
    add_number(out, n_packed, 8);
}

typedef struct member {
    const char *name;
    const void *bytes;
    size_t size;
    bool is_deflated, wide;
} member;

// An archive of a few members.
static void make_archive(packed *out, const member *members, int n)
{
    static packed body;
    static packed directory;
    directory.size = 0;
    for (int i = 0; i < n; i++) {
        const member *m = &members[i];
        const size_t at = out->size;
        body.size = 0;
        if (m->is_deflated)
            pack(&body, -15, m->bytes, m->size);
        else
            add(&body, m->bytes, m->size);
        add(out, "PK\3\4\x14", 6);
        add_member_words(out, m->is_deflated, m->wide, m->name, m->bytes, m->size, body.size);
        add_name(out, m->name, m->wide, m->size, body.size);
        add(out, body.bytes, body.size);
        add(&directory, "PK\1\2\x14\0\x14", 8);
        add_member_words(&directory, m->is_deflated, m->wide, m->name, m->bytes, m->size,
                         body.size);
        add_number(&directory, 0, 10);
        add_number(&directory, at, 4);
        add_name(&directory, m->name, m->wide, m->size, body.size);
    }
    const size_t at = out->size;
    add(out, directory.bytes, directory.size);
    add(out, "PK\5\6\0\0\0", 8);
    add_number(out, (uint64_t)n, 2);
    add_number(out, (uint64_t)n, 2);
    add_number(out, directory.size, 4);
    add_number(out, at, 4);
    add_number(out, 0, 2);
}

static size_t slurp_npy(char *bytes, size_t size, const char *header, const char *elements,
                        size_t n)
{
    FILE *stream = fopen(put_npy_of("plain.npy", header, elements, n), "rb");
    assert_non_null(stream);
    const size_t length = fread(bytes, 1, size, stream);
    fclose(stream);
    return length;
}

static const double abc[] = {'a', 'b', 'c', 'd', 'e', 'f'};

// That array.
static size_t slurp_abc(char *bytes, size_t size)
{
    return slurp_npy(bytes, size, ARRAY("|u1", "False", "2, 3"), "abcdef", 6);
}

static void npy_unpacks_gzip(void **state)
{
    static packed file;
    char bytes[256];
    npy_array array;
    complaint why;
    (void)state;
    const size_t size = slurp_abc(bytes, sizeof(bytes));
    pack(&file, 31, bytes, 50); // as two files of gzip, one behind the other
    pack(&file, 31, bytes + 50, size - 50);
    expect_elements(put("packed.npy.gz", file.bytes, file.size), WEFT_DEFAULT, WEFT_U8, 6, abc);
    expect_elements(put("packed", file.bytes, file.size), WEFT_DEFAULT, WEFT_U8, 6, abc);
    for (size_t cut = 0; cut < file.size; cut++) {
        assert_false(npy_read(&array, put("cut.gz", file.bytes, cut), WEFT_DEFAULT, &why));
        expect_complaint(&why, "cut.gz: ");
    }
    file.bytes[file.size - 6] ^= 1; // of the checksum
    assert_false(npy_read(&array, put("bad.gz", file.bytes, file.size), WEFT_DEFAULT, &why));
    expect_complaint(&why, "bad.gz: its compressed data is damaged: incorrect data check");
}

static void npy_unpacks_members_of_archives(void **state)
{
    static packed file, one;
    char bytes[256], path[1100];
    npy_array array;
    complaint why;
    (void)state;
    const size_t size = slurp_abc(bytes, sizeof(bytes));
    const member members[] = {
        {"none.npy", "", 0, false, false},
        {"stored.npy", bytes, size, false, false},
        {"deflated.npy", bytes, size, true, false},
        {"wide.npy", bytes, size, true, true},
    };
    make_archive(&file, members, 4);
    put("some.npz", file.bytes, file.size);
    for (int i = 1; i < 4; i++) {
        snprintf(path, sizeof(path), "%s:%s", path_of("some.npz"), members[i].name);
        expect_elements(path, WEFT_DEFAULT, WEFT_U8, 6, abc);
        path[strlen(path) - 4] = '\0'; // .npy
        expect_elements(path, WEFT_DEFAULT, WEFT_U8, 6, abc);
    }
    assert_false(npy_read(&array, path_of("some.npz"), WEFT_DEFAULT, &why));
    expect_complaint(&why, "some.npz: holds the arrays none, stored, deflated, wide; name one");
    assert_false(npy_read(&array, path_of("some.npz:other"), WEFT_DEFAULT, &why));
    expect_complaint(&why, "some.npz:other: holds the arrays none, stored");
    assert_false(npy_read(&array, path_of("some.npz:none"), WEFT_DEFAULT, &why));
    assert_false(npy_read(&array, path_of("absent.npz:a"), WEFT_DEFAULT, &why));
    expect_complaint(&why, "absent.npz:a: No such file");
    make_archive(&one, &members[2], 1);
    expect_elements(put("one.npz", one.bytes, one.size), WEFT_DEFAULT, WEFT_U8, 6, abc);
}

// No byte of an archive can lead beyond it, and the checksum knows its elements.
static void npy_survives_damaged_archives(void **state)
{
    static packed file;
    char bytes[256];
    npy_array array;
    complaint why;
    (void)state;
    const size_t size = slurp_abc(bytes, sizeof(bytes));
    make_archive(&file, &(member){"a.npy", bytes, size, true, true}, 1);
    expect_elements(put("whole.npz", file.bytes, file.size), WEFT_DEFAULT, WEFT_U8, 6, abc);
    for (size_t cut = 0; cut < file.size; cut++) {
        assert_false(npy_read(&array, put("cut.npz", file.bytes, cut), WEFT_DEFAULT, &why));
        expect_complaint(&why, "cut.npz: ");
    }
    for (size_t at = 0; at < file.size; at++)
        for (int flip = 1; flip < 256; flip *= 2) {
            file.bytes[at] ^= (unsigned char)flip;
            if (npy_read(&array, put("flip.npz", file.bytes, file.size), WEFT_DEFAULT, &why)) {
                assert_memory_equal(array.data, "abcdef", 6);
                npy_free(&array);
            } else {
                expect_complaint(&why, "flip.npz: ");
            }
            file.bytes[at] ^= (unsigned char)flip;
        }
}

// 16 MiB of zeros in 16 KiB: as many are read as the shape wants, and memory grows with them.
static void npy_is_no_bomb(void **state)
{
    static packed file;
    static char bytes[1 << 24];
    npy_array array;
    complaint why;
    (void)state;
    slurp_npy(bytes, sizeof(bytes), ARRAY("|u1", "False", "2, 3"), "", 0);
    pack(&file, 31, bytes, sizeof(bytes));
    assert_false(npy_read(&array, put("bomb.gz", file.bytes, file.size), WEFT_DEFAULT, &why));
    expect_complaint(&why, "needs 6 bytes of elements (6 of 1), the file holds more than 6");
    file.size = 0;
    slurp_npy(bytes, sizeof(bytes), ARRAY("<f8", "False", "100000000000,"), "", 0);
    pack(&file, 31, bytes, sizeof(bytes));
    assert_false(npy_read(&array, put("bomb.gz", file.bytes, file.size), WEFT_DEFAULT, &why));
    expect_complaint(&why, "needs 800000000000 bytes of elements (100000000000 of 8), the file "
                           "holds 167");
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
        cmocka_unit_test(npy_reads_every_order_and_type),
        cmocka_unit_test(npy_refuses_what_does_not_fit),
        cmocka_unit_test(npy_unpacks_gzip),
        cmocka_unit_test(npy_unpacks_members_of_archives),
        cmocka_unit_test(npy_survives_damaged_archives),
        cmocka_unit_test(npy_is_no_bomb),
        cmocka_unit_test(npy_converts),
        cmocka_unit_test(npy_survives_damage),
        cmocka_unit_test(npy_names_what_is_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
