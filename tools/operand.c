// SPDX-License-Identifier: Apache-2.0
// Reading operands: which reader takes a file, and whether it gives what is wanted.
#include "operand.h"

#include "file.h"
#include "mtx.h"
#include "smtx.h"

static file_format find_format(const char *path, const operand_params *params,
                               const loaded_file *file)
{
    file_format format = format_of_name(path);
    if (format == FORMAT_UNKNOWN)
        format = params->format;
    return format != FORMAT_UNKNOWN ? format : format_of_content(file->bytes, file->size);
}

static bool parse(operand *out, const char *path, const operand_params *params, loaded_file *file,
                  complaint *why)
{
    const file_format format = find_format(path, params, file);
    const weft_dtype of_text = params->dtype != WEFT_DEFAULT ? params->dtype : WEFT_F64;
    out->is_sparse = format == FORMAT_MTX || format == FORMAT_SMTX;
    switch (format) {
    case FORMAT_NPY:
        return npy_parse(&out->dense, path, file, &(npy_params){params->dtype, params->u2_is_bf16},
                         why);
    case FORMAT_MTX:
        return mtx_parse(&out->sparse, path, file, WEFT_CSR(.dtype = of_text), why);
    case FORMAT_SMTX:
        return smtx_parse(&out->sparse, path, file, of_text, params->seed, why);
    case FORMAT_UNKNOWN:
        break;
    }
    return complain(why, "%s: is neither .npy nor .mtx nor .smtx by its name or its content", path);
}

bool operand_read(operand *out, const char *path, const operand_params *params, complaint *why)
{
    *out = (operand){.is_sparse = false};
    loaded_file file;
    if (!file_load(&file, path, why))
        return false;
    const bool done = parse(out, path, params, &file, why);
    file_free(&file);
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
        done = complain(why, "%s: holds a sparse matrix, a dense array is needed", path);
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
        done = complain(why, "%s: holds a dense array, a sparse matrix is needed", path);
    *out = (weft_csr_host){0};
    if (done)
        *out = any.sparse;
    else
        operand_free(&any);
    return done;
}
