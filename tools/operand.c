// SPDX-License-Identifier: Apache-2.0
// Reading operands: chooses a file's reader, and checks the kind of its contents.
#include "operand.h"

#include <stdint.h>

#include <weft/csr_file.h>

#include "file.h"
#include "mtx.h"
#include "smtx.h"
#include "sparse.h"

static file_format find_format(const input_stream *in, const operand_params *params)
{
    const char *bytes;
    const size_t size = input_peek(in, &bytes);
    file_format format = format_of_name(in->path);
    if (format == FORMAT_UNKNOWN)
        format = params->format;
    return format != FORMAT_UNKNOWN ? format : format_of_content(bytes, size);
}

static bool parse_text(operand *out, const char *path, const loaded_file *file, file_format format,
                       const operand_params *params, complaint *why)
{
    const weft_dtype dtype = params->dtype != WEFT_DEFAULT ? params->dtype : WEFT_F64;
    const npy_params how = {.dtype = params->dtype, .max_bytes = params->max_bytes};
    out->is_sparse = format == FORMAT_SMTX || !mtx_holds_array(file);
    if (!out->is_sparse)
        return mtx_parse_array(&out->dense, path, file, &how, why);
    return format == FORMAT_MTX ? mtx_parse(&out->sparse, path, file, WEFT_CSR(.dtype = dtype), why)
                                : smtx_parse(&out->sparse, path, file, dtype, params->seed, why);
}

// A copy of the matrix in the bytes, whose contents are checked.
static bool parse_csr(operand *out, const char *path, const loaded_file *file,
                      const operand_params *params, complaint *why)
{
    weft_csr_host view;
    out->is_sparse = true;
    return ((weft_csr_file_view(&view, file->bytes, file->size) == WEFT_OK &&
             weft_csr_host_check(&view, WEFT_CSR_SOUND) == WEFT_OK &&
             weft_csr_host_rows(&out->sparse, &view, 0, view.n_rows) == WEFT_OK) ||
            complain(why, "%s: %s", path, weft_last_error())) &&
           sparse_convert(&out->sparse, params->dtype != WEFT_DEFAULT ? params->dtype : WEFT_F64,
                          path, why);
}

static bool take_whole(operand *out, input_stream *in, file_format format,
                       const operand_params *params, complaint *why)
{
    loaded_file file;
    if (!file_load_rest(&file, in, why))
        return false;
    const bool done = format == FORMAT_CSR ? parse_csr(out, in->path, &file, params, why)
                                           : parse_text(out, in->path, &file, format, params, why);
    file_free(&file);
    return done;
}

static bool take(operand *out, input_stream *in, const operand_params *params, complaint *why)
{
    const npy_params how = {params->dtype, params->u2_is_bf16, params->max_bytes};
    const file_format format = find_format(in, params);
    switch (format) {
    case FORMAT_NPY:
        return npy_take(&out->dense, in, &how, why);
    case FORMAT_MTX:
    case FORMAT_SMTX:
    case FORMAT_CSR:
        return take_whole(out, in, format, params, why);
    case FORMAT_UNKNOWN:
        break;
    }
    return complain(why, "%s: is none of .npy, .mtx, .smtx and .csr by name or content", in->path);
}

bool operand_read(operand *out, const char *path, const operand_params *params, complaint *why)
{
    *out = (operand){.is_sparse = false};
    input_stream in;
    const bool done = input_open(&in, path, why) && take(out, &in, params, why);
    input_close(&in);
    return done;
}

void operand_free(operand *any)
{
    npy_free(&any->dense);
    weft_csr_host_destroy(&any->sparse);
}

bool operand_read_dense(npy_array *out, const char *path, const operand_params *params,
                        complaint *why)
{
    operand any;
    bool done = operand_read(&any, path, params, why);
    if (done && any.is_sparse)
        done = complain(why, "%s: holds a sparse matrix, but a dense array is needed", path);
    if (done && any.dense.is_untyped && !params->keeps_untyped)
        done = npy_convert(&any.dense, WEFT_F32, path, why);
    *out = (npy_array){0};
    if (done)
        *out = any.dense;
    else
        operand_free(&any);
    return done;
}

bool operand_read_sparse(weft_csr_host *out, const char *path, const operand_params *params,
                         complaint *why)
{
    operand any;
    bool done = operand_read(&any, path, params, why);
    if (done && !any.is_sparse)
        done = complain(why, "%s: holds a dense array, but a sparse matrix is needed", path);
    *out = (weft_csr_host){0};
    if (done)
        *out = any.sparse;
    else
        operand_free(&any);
    return done;
}
