// SPDX-License-Identifier: Apache-2.0
// .mtx files: whatever the bytes, they are refused with a sentence or are a sound matrix, or an
// array.
#include "memory_file.h"
#include "mtx.h"
#include "operand.h"

static void check_array(const uint8_t *bytes, size_t size)
{
    complaint why = {.text = ""};
    operand any;
    if (operand_read(&any, memory_file(bytes, size), OPERAND(.format = FORMAT_MTX), &why))
        HOLDS(any.is_sparse || any.dense.count == any.dense.shape[0] * any.dense.shape[1],
              "%lld elements\n", (long long)any.dense.count);
    else
        HOLDS(why.text[0] != '\0' && any.dense.data == NULL, "refused without a word\n");
    operand_free(&any);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const weft_dtype dtypes[] = {WEFT_DEFAULT, WEFT_F16};
    static const weft_dtype indices[] = {WEFT_DEFAULT, WEFT_I16};
    for (int i = 0; i < 2; i++) {
        complaint why = {.text = ""};
        weft_csr_host csr;
        if (mtx_read(&csr, memory_file(bytes, size),
                     WEFT_CSR(.dtype = dtypes[i], .index_dtype = indices[i]), &why))
            HOLDS(weft_csr_host_check(&csr, WEFT_CSR_SORTED | WEFT_CSR_UNIQUE) == WEFT_OK, "%s\n",
                  weft_last_error());
        else
            HOLDS(why.text[0] != '\0' && csr.offsets == NULL, "refused without a word\n");
        weft_csr_host_destroy(&csr);
    }
    check_array(bytes, size);
    return 0;
}
