// SPDX-License-Identifier: Apache-2.0
// Dense arrays in files: NumPy's .npy, versions 1.0 to 3.0.
#ifndef WEFT_TOOLS_NPY_H
#define WEFT_TOOLS_NPY_H

#include <weft/tensor.h>

#include "complaint.h"
#include "input.h"

typedef struct npy_array {
    weft_dtype dtype;
    bool is_untyped; // the file is text, which has no types: f64
    int ndim;        // 0 to 8
    int64_t shape[WEFT_MAX_NDIM];
    int64_t count; // elements
    void *data;    // malloc'd, also where count is 0
} npy_array;

// Options of reading.
typedef struct npy_params {
    weft_dtype dtype;   // WEFT_DEFAULT leaves the type as it is
    bool u2_is_bf16;    // then 'u2' is bf16, too
    uint64_t max_bytes; // larger arrays are refused before they are read; 0: any
} npy_params;

// Reads f2, f4, f8, i1, i2, i4, i8, u1 and b1, which is u8 of 0 and 1, as they are, and u2, u4 and
// u8 as i32 and i64: in either byte order, and in Fortran's order, which becomes C's. Converts to
// the requested type: any of them to a floating-point type, integers to wider ones.
// NumPy has no bf16: 'u2' is bits of bf16 if that is requested or u2_is_bf16. If another type is
// requested it is integers; if none is, it is refused.
// `path` may be of a file packed by gzip, or of an array in an archive, "FILE.npz:NAME".
bool npy_read(npy_array *out, const char *path, weft_dtype dtype, complaint *why);

// The same for an open file, to its end.
bool npy_take(npy_array *out, input_stream *in, const npy_params *params, complaint *why);

// Writes version 1.0, as file_save() does; bf16 as '<u2'.
bool npy_write(const char *path, weft_dtype dtype, int ndim, const int64_t *shape, const void *data,
               complaint *why);

// Converts the elements as npy_read() does; `path` is for the complaint.
bool npy_convert(npy_array *array, weft_dtype dtype, const char *path, complaint *why);

// Refuses an array larger than params->max_bytes after conversion.
bool npy_check_limit(const npy_array *array, const char *path, const npy_params *params,
                     complaint *why);

// Extent of the d-th dimension from the end; 1 beyond the first.
int64_t npy_extent_from_end(const npy_array *array, int d);

// Frees the data and zeroes the struct.
void npy_free(npy_array *array);

#endif
