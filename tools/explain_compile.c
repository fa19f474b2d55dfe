// SPDX-License-Identifier: Apache-2.0
// weft explain --compile: a Python program reads the assembly; here it is found and asked.
#include "explain_compile.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// As in `weft explain --json`, with the device code of each launch and the sizes that costs of a
// kernel are counted by.
static json_t *request_of(const explanation *answer, const char *op)
{
    json_t *request = explain_json(answer, op), *launch;
    size_t i;
    json_array_foreach(json_object_get(request, "launches"), i, launch)
    {
        json_object_set_new(launch, "text", json_string(answer->record->launches[i].source_text));
    }
    json_object_set_new(request, "weighted", json_real(answer->weighted));
    json_object_set_new(request, "elements", json_real(answer->elements));
    json_object_set_new(request, "entries", json_real(answer->entries));
    return request;
}

static bool has_program(const char *folder)
{
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof(path), "%s/__main__.py", folder);
    return length > 0 && length < (int)sizeof(path) && access(path, R_OK) == 0;
}

// Below the folder of this program: of the build, or as it is installed.
static bool find_beside(char *out, size_t size)
{
    static const char *const places[] = {"assembly", WEFT_TO_ASSEMBLY};
    char own[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    if (length <= 0)
        return false;
    own[length] = '\0';
    char *slash = strrchr(own, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const bool is_whole = places[i][0] == '/';
        const int n =
            snprintf(out, size, "%s%s%s", is_whole ? "" : own, is_whole ? "" : "/", places[i]);
        if (n > 0 && n < (int)size && has_program(out))
            return true;
    }
    return false;
}

static bool find_folder(char *out, size_t size, complaint *why)
{
    const char *given = getenv("WEFT_ASSEMBLY_DIR");
    if (given == NULL || *given == '\0')
        return find_beside(out, size) ||
               complain(why, "the folder share/weft/assembly, which is installed with "
                             "the program, is not there; WEFT_ASSEMBLY_DIR may name it");
    const int n = snprintf(out, size, "%s", given);
    return (n < (int)size && has_program(given)) ||
           complain(why, "WEFT_ASSEMBLY_DIR is '%s', which has no __main__.py", given);
}

// Between two files; messages go where those of this program go.
static bool run_python(const char *folder, FILE *in, FILE *out, complaint *why)
{
    char python[] = "python3", no_cache[] = "-B", place[PATH_MAX];
    char *words[] = {python, no_cache, place, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0;
    snprintf(place, sizeof(place), "%s", folder);
    if (posix_spawn_file_actions_init(&actions) != 0)
        return complain(why, "no memory to start python3");
    posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
    const int code = posix_spawnp(&child, python, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (code == ENOENT)
        return complain(why, "there is no python3: install Python 3.10 or later "
                             "(Debian: python3)");
    if (code != 0)
        return complain(why, "python3 cannot be started: %s", strerror(code));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return complain(why, "python3 was lost: %s", strerror(errno));
    return (WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
           complain(why, "python3 %s failed", folder);
}

static json_t *ask(const json_t *request, const char *folder, FILE *in, FILE *out, complaint *why)
{
    json_error_t error;
    if (json_dumpf(request, in, JSON_COMPACT) != 0 || fflush(in) != 0) {
        complaint_keep(why, "the question cannot be written: %s", strerror(errno));
        return NULL;
    }
    rewind(in);
    if (!run_python(folder, in, out, why))
        return NULL;
    rewind(out);
    json_t *answer = json_loadf(out, 0, &error);
    if (answer == NULL)
        complaint_keep(why, "python3 %s gave no answer: %s", folder, error.text);
    return answer;
}

json_t *explain_compile(const explanation *answer, const char *op, complaint *why)
{
    char folder[PATH_MAX];
    if (!find_folder(folder, sizeof(folder), why))
        return NULL;
    json_t *request = request_of(answer, op), *out = NULL;
    FILE *files[2] = {tmpfile(), tmpfile()};
    command_compiles();
    if (files[0] == NULL || files[1] == NULL)
        complaint_keep(why, "no temporary file: %s", strerror(errno));
    else
        out = ask(request, folder, files[0], files[1], why);
    command_has_compiled();
    for (int i = 0; i < 2; i++)
        if (files[i] != NULL)
            fclose(files[i]);
    json_decref(request);
    return out;
}
