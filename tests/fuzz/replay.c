// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over files, where there is no libFuzzer: `replay FILE ...`.
#include "target.h"

static void run_file(const char *path)
{
    static uint8_t buffer[1 << 20];
    FILE *stream = fopen(path, "rb");
    HOLDS(stream, "%s cannot be opened\n", path);
    const size_t size = fread(buffer, 1, sizeof(buffer), stream);
    HOLDS(feof(stream), "%s is too large\n", path);
    fclose(stream);
    uint8_t *bytes = malloc(size + !size); // of its own: a checker sees overruns
    HOLDS(bytes, "no memory\n");
    for (size_t i = 0; i < size; i++)
        bytes[i] = buffer[i];
    LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        run_file(argv[i]);
    printf("%d files\n", argc - 1);
    return 0;
}
