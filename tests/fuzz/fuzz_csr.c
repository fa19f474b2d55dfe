// SPDX-License-Identifier: Apache-2.0
// Binary CSR files: whatever the bytes, they are refused with a sentence, or are arrays that lie in
// the file, of which sound parts can be copied; and what is written is read back.
#include <string.h>

#include <weft/csr_file.h>

#include "memory_file.h"

static void read_parts(const weft_csr_host *matrix)
{
    const int64_t half = matrix->n_rows / 2;
    weft_csr_host part;
    int64_t starts[4];
    HOLDS(weft_csr_host_split(matrix, 3, NULL, starts) == WEFT_OK, "%s\n", weft_last_error());
    if (weft_csr_host_rows(&part, matrix, half, matrix->n_rows - half) == WEFT_OK &&
        weft_csr_host_check(&part, WEFT_CSR_SOUND) != WEFT_OK)
        HOLDS(weft_csr_host_check(matrix, WEFT_CSR_SOUND) != WEFT_OK, "a part is not sound\n");
    weft_csr_host_destroy(&part);
}

// The matrix has not changed: each array once more.
static void write_again(const char *path, const weft_csr_host *matrix)
{
    char name[1024];
    weft_csr_file *file;
    const char *dir = getenv("WEFT_TEST_DIR");
    snprintf(name, sizeof(name), "%s/fuzz_csr-%ld", dir ? dir : ".", (long)getpid());
    HOLDS(weft_csr_file_write(name, matrix) == WEFT_OK, "%s: %s\n", path, weft_last_error());
    HOLDS(weft_csr_file_open(&file, name) == WEFT_OK, "%s\n", weft_last_error());
    const weft_csr_host *again = weft_csr_file_matrix(file);
    const size_t n = (size_t)matrix->nnz;
    HOLDS(again->n_rows == matrix->n_rows && again->n_cols == matrix->n_cols &&
              again->nnz == matrix->nnz,
          "another size\n");
    HOLDS(memcmp(again->offsets, matrix->offsets,
                 ((size_t)matrix->n_rows + 1) * weft_dtype_size(matrix->offset_dtype)) == 0 &&
              memcmp(again->indices, matrix->indices, n * weft_dtype_size(matrix->index_dtype)) ==
                  0 &&
              memcmp(again->values, matrix->values, n * weft_dtype_size(matrix->dtype)) == 0,
          "another matrix\n");
    weft_csr_file_close(&file);
    unlink(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *path = memory_file(bytes, size);
    weft_csr_file *file;
    if (weft_csr_file_open(&file, path) != WEFT_OK) {
        HOLDS(weft_last_error()[0] != '\0' && file == NULL, "refused without a word\n");
        return 0;
    }
    const weft_csr_host *matrix = weft_csr_file_matrix(file);
    read_parts(matrix);
    if (weft_csr_host_check(matrix, WEFT_CSR_SOUND) == WEFT_OK)
        write_again(path, matrix);
    weft_csr_file_close(&file);
    return 0;
}
