// SPDX-License-Identifier: Apache-2.0
// Matrices out of files for tests.
#include "matrix_files.h"

#include <dirent.h>

#include "operand.h"
#include "runtime.h"

static int64_t most_entries(void)
{
    return !getenv("WEFT_TEST_REDUCED") ? INT64_MAX : is_on("oclgrind") ? 5000 : 20000;
}

// Whether there was a matrix that is small enough.
static bool run_file(const char *path, void (*run)(const weft_csr_host *host))
{
    weft_csr_host host;
    complaint why;
    if (!format_is_sparse(path))
        return false;
    if (!operand_read_sparse(&host, path, OPERAND(.dtype = WEFT_F32, .seed = 3), &why))
        fail_msg("%s", why.text);
    const bool is_wanted = host.nnz <= most_entries();
    if (is_wanted)
        run(&host);
    weft_csr_host_destroy(&host);
    return is_wanted;
}

void each_matrix_file(void (*run)(const weft_csr_host *host))
{
    const char *folder = getenv("WEFT_TEST_MATRICES");
    DIR *dir = folder ? opendir(folder) : NULL;
    int n_files = 0;
    if (!dir) {
        skip();
        return;
    }
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[1024];
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        n_files += run_file(path, run);
    }
    closedir(dir);
    if (n_files == 0)
        skip();
}
