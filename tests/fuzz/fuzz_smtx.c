// SPDX-License-Identifier: Apache-2.0
// .smtx files: whatever the bytes, they are refused with a sentence or are a sound matrix.
#include "memory_file.h"
#include "smtx.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    complaint why = {.text = ""};
    weft_csr_host csr;
    if (smtx_read(&csr, memory_file(bytes, size), WEFT_BF16, 1, &why))
        HOLDS(weft_csr_host_check(&csr, WEFT_CSR_SOUND) == WEFT_OK, "%s\n", weft_last_error());
    else
        HOLDS(why.text[0] != '\0' && csr.offsets == NULL, "refused without a word\n");
    weft_csr_host_destroy(&csr);
    return 0;
}
