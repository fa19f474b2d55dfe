// SPDX-License-Identifier: Apache-2.0
// .npz archives: whatever the bytes, an array of one is refused with a sentence, or comes with its
// elements.
#include "memory_file.h"
#include "npy.h"

// The file in memory by a name that archives have, and a member's or none behind it.
static const char *archive(const uint8_t *bytes, size_t size, const char *member)
{
    static char name[1024], path[1100];
    const char *folder = getenv("WEFT_TEST_DIR");
    const char *memory = memory_file(bytes, size);
    if (name[0] == '\0') {
        snprintf(name, sizeof(name), "%s/fuzz-%ld.npz", folder != NULL ? folder : "/tmp",
                 (long)getpid());
        unlink(name);
        HOLDS(symlink(memory, name) == 0, "%s cannot be made\n", name);
    }
    snprintf(path, sizeof(path), "%s%s", name, member);
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const char *const members[] = {"", ":a"};
    for (int i = 0; i < 2; i++) {
        complaint why = {.text = ""};
        npy_array array;
        if (npy_read(&array, archive(bytes, size, members[i]), WEFT_F64, &why))
            HOLDS(array.data != NULL && array.count >= 0, "no elements\n");
        else
            HOLDS(why.text[0] != '\0' && array.data == NULL, "refused without a word\n");
        npy_free(&array);
    }
    return 0;
}
