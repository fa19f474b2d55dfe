// SPDX-License-Identifier: Apache-2.0
// Compiled programs on disk: found again, never trusted, bounded, shared by processes.
//
//     WEFT_TEST_PROCESSES   how many processes compile at once; 12 by default, 4 on other devices
//                           than PoCL's and where less is tested
#define _XOPEN_SOURCE 700
#define XXH_INLINE_ALL
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

#include "runtime/cache.h"
#include "runtime/context.h"
#include "runtime/folder.h"

#include "runtime.h"

extern char **environ;

static journal heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
static const char *program_path; // of this test
static char folder[512];         // of the running test's cache; not there yet

static int new_folder(void **state)
{
    static int count;
    (void)state;
    char *here = realpath(test_dir(), NULL);
    assert_non_null(here);
    journal_clear(&heard);
    snprintf(folder, sizeof(folder), "%s/cache-%ld-%d", here, (long)getpid(), count++);
    free(here);
    return 0;
}

// A context that keeps nothing but these tests' own programs in the folder, and tells of nothing
// else: it gets both once it has been made. It trusts the device: what many processes measure at
// once may differ, and their programs with it.
static weft_context *open_with(const char *dir, uint64_t bytes)
{
    weft_context *ctx;
    assert_ok(weft_context_open(&ctx, WEFT_CONTEXT(.cache_dir = "", .trusts_device = true)));
    ctx->log = journal_write;
    ctx->log_user = &heard;
    assert_ok(weft_cache_create(&ctx->cache, ctx, dir, bytes ? bytes : UINT64_C(256) << 20,
                                weft_device_keeps_programs(weft_context_device(ctx))));
    return ctx;
}

// Runs the program of that factor in a context of its own and tells where it came from.
static weft_context_stats run_in(const char *dir, uint64_t bytes, int64_t factor)
{
    weft_kernel *kernel;
    const weft_defines defines = step_defines(factor);
    weft_context *ctx = open_with(dir, bytes);
    assert_ok(weft_kernel_get(ctx, &step_source, &defines, "step_up", &kernel));
    run_step(ctx, kernel, factor, 7);
    assert_ok(weft_kernel_get(ctx, &step_source, &defines, "step_down", &kernel));
    run_step(ctx, kernel, 1, 0);
    const weft_context_stats stats = weft_context_get_stats(ctx);
    assert_int_equal(stats.programs_built + stats.programs_loaded, 1);
    weft_context_destroy(&ctx);
    return stats;
}

static void assert_built(void)
{
    assert_int_equal(run_in(folder, 0, 2).programs_built, 1);
}

static void assert_loaded(void)
{
    assert_int_equal(run_in(folder, 0, 2).programs_loaded, 1);
}

static bool is_visible(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

// How many files the folder has; the path of the last one, where asked for.
static int n_files(const char *dir, char *path, size_t size)
{
    DIR *stream = opendir(dir);
    int n = 0;
    for (const struct dirent *entry; stream && (entry = readdir(stream));) {
        if (!is_visible(entry))
            continue;
        n++;
        if (path)
            snprintf(path, size, "%s/%s", dir, entry->d_name);
    }
    if (stream)
        closedir(stream);
    return n;
}

static weft_blob read_file(const char *path)
{
    struct stat info;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &info), 0);
    weft_blob out = {malloc((size_t)info.st_size + 1), (size_t)info.st_size};
    assert_int_equal(fread(out.data, 1, out.size, file), out.size);
    fclose(file);
    return out;
}

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
}

static void test_found_again_after_a_restart(void **state)
{
    (void)state;
    char path[1024];
    struct stat info;
    assert_built();
    assert_loaded();
    assert_int_equal(run_in(folder, 0, 3).programs_built, 1); // other options
    assert_int_equal(run_in(folder, 0, 3).programs_loaded, 1);
    assert_int_equal(n_files(folder, path, sizeof(path)), 2);
    assert_int_equal(stat(folder, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(heard.n[WEFT_LOG_WARNING], 0);
    assert_int_equal(heard.n[WEFT_LOG_INFO], 4);
}

// With the file spoilt: the result is still right, the file is replaced, and serves again.
static void assert_heals(void)
{
    assert_built();
    assert_loaded();
    assert_int_equal(n_files(folder, NULL, 0), 1);
}

static void test_a_file_cut_short_is_replaced(void **state)
{
    (void)state;
    char path[1024];
    assert_built();
    n_files(folder, path, sizeof(path));
    weft_blob whole = read_file(path);
    const size_t lengths[] = {0, 1, 31, 32, 100, whole.size / 2, whole.size - 16, whole.size - 1};
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        write_file(path, whole.data, lengths[i]);
        assert_heals();
    }
    write_file(path, whole.data, whole.size + 1); // read_file() left room for it
    assert_heals();
    weft_blob_clear(&whole);
}

static void test_a_file_with_a_bit_wrong_is_replaced(void **state)
{
    (void)state;
    char path[1024];
    assert_built();
    n_files(folder, path, sizeof(path));
    weft_blob whole = read_file(path);
    for (size_t i = 0; i < 10; i++) {
        const size_t at = i * (whole.size - 1) / 9;
        whole.data[at] ^= (unsigned char)(1 << i % 8);
        write_file(path, whole.data, whole.size);
        assert_heals();
        whole.data[at] ^= (unsigned char)(1 << i % 8);
    }
    weft_blob_clear(&whole);
}

static void test_foreign_files_are_replaced(void **state)
{
    (void)state;
    static const char text[] = "not a program, but somebody's notes\n";
    char path[1024];
    const weft_blob other_key = {(unsigned char *)text, sizeof(text)};
    weft_blob record;
    assert_built();
    n_files(folder, path, sizeof(path));
    write_file(path, text, sizeof(text));
    assert_heals();

    // Sound, but of another key: as after a collision, or with another driver.
    assert_true(weft_record_encode(&other_key, &other_key, &record));
    write_file(path, record.data, record.size);
    weft_blob_clear(&record);
    assert_heals();

    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0); // cannot be replaced: rebuilt each time, with a warning
    assert_built();
    assert_built();
    assert_int_equal(heard.n[WEFT_LOG_WARNING], 2);
    assert_int_equal(n_files(folder, NULL, 0), 1);
}

// Every cut, every bit: on bytes alone, where that is quick.
static void test_no_damaged_record_is_taken(void **state)
{
    (void)state;
    unsigned char key_bytes[50], binary_bytes[150];
    memset(key_bytes, 'k', sizeof(key_bytes));
    memset(binary_bytes, 'b', sizeof(binary_bytes));
    weft_blob key = {key_bytes, sizeof(key_bytes)}, binary = {binary_bytes, sizeof(binary_bytes)};
    weft_blob record;
    size_t size;
    assert_true(weft_record_encode(&key, &binary, &record));
    const unsigned char *found = weft_record_find(&record, &key, &size);
    assert_non_null(found);
    assert_int_equal(size, sizeof(binary_bytes));
    assert_memory_equal(found, binary_bytes, size);

    for (size_t length = 0; length < record.size; length++) {
        weft_blob cut = {malloc(length + !length), length}; // of its own: a checker sees overruns
        memcpy(cut.data, record.data, length);
        assert_null(weft_record_find(&cut, &key, &size));
        weft_blob_clear(&cut);
    }
    for (size_t bit = 0; bit < 8 * record.size; bit++) {
        record.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_null(weft_record_find(&record, &key, &size));
        record.data[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    key.size--;
    assert_null(weft_record_find(&record, &key, &size));
    key.size++;
    key_bytes[49] = 'x';
    assert_null(weft_record_find(&record, &key, &size));
    weft_blob_clear(&record);
}

// Changes a byte of the head and makes the checksum right again.
static void forge(weft_blob *record, size_t at)
{
    XXH128_canonical_t sum;
    const size_t checked = record->size - sizeof(sum);
    record->data[at] ^= 1;
    XXH128_canonicalFromHash(&sum, XXH3_128bits(record->data, checked));
    memcpy(record->data + checked, &sum, sizeof(sum));
}

static void test_no_other_format_is_taken(void **state)
{
    (void)state;
    unsigned char bytes[20] = {0};
    const weft_blob key = {bytes, sizeof(bytes)}, binary = {bytes, sizeof(bytes)};
    weft_blob record;
    size_t size;
    assert_true(weft_record_encode(&key, &binary, &record));
    for (size_t at = 0; at < 32; at++) { // magic, format, sizes
        forge(&record, at);
        assert_null(weft_record_find(&record, &key, &size));
        forge(&record, at);
        assert_non_null(weft_record_find(&record, &key, &size));
    }
    weft_blob_clear(&record);
}

static void test_names_of_records(void **state)
{
    (void)state;
    unsigned char byte = 'k';
    const weft_blob key = {&byte, 1};
    char name[WEFT_RECORD_NAME_SIZE], other[WEFT_RECORD_NAME_SIZE];
    weft_record_name(&key, name);
    assert_true(weft_record_is_name(name));
    assert_int_equal(strlen(name), 37);
    byte = 'l';
    weft_record_name(&key, other);
    assert_string_not_equal(name, other);
    assert_false(weft_record_is_name(name + 1));
    assert_false(weft_record_is_name("notes.weft"));
    assert_false(weft_record_is_name("0123456789abcdef0123456789abcdeF.weft"));
    assert_false(weft_record_is_name("0123456789abcdef0123456789abcdef.weft2"));
}

static void test_a_binary_that_the_driver_refuses_is_replaced(void **state)
{
    (void)state;
    char path[1024];
    weft_context *ctx;
    weft_blob key, record;
    static const unsigned char nonsense[] = "no binary at all";
    const weft_blob binary = {(unsigned char *)nonsense, sizeof(nonsense)};
    if (!is_on("pocl")) // others may not survive what they are given
        skip();
    assert_built();
    n_files(folder, path, sizeof(path));
    assert_ok(weft_context_open(&ctx, WEFT_CONTEXT(.cache_dir = "")));
    assert_ok(weft_cache_key(ctx, "-cl-std=CL1.2 -D FACTOR=2", step_text, &key));
    assert_true(weft_record_encode(&key, &binary, &record));
    write_file(path, record.data, record.size);
    assert_heals();
    weft_blob_clear(&key);
    weft_blob_clear(&record);
    weft_context_destroy(&ctx);
}

static void test_a_folder_open_to_others_is_not_used(void **state)
{
    (void)state;
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    weft_context *ctx;
    weft_kernel *kernel;
    const weft_defines two = step_defines(2), three = step_defines(3);
    assert_ok(weft_context_open(
        &ctx, WEFT_CONTEXT(.cache_dir = folder, .log = journal_write, .log_user = &heard)));
    assert_ok(weft_kernel_get(ctx, &step_source, &two, "step_up", &kernel));
    assert_ok(weft_kernel_get(ctx, &step_source, &three, "step_up", &kernel));
    weft_context_destroy(&ctx);
    assert_int_equal(n_files(folder, NULL, 0), 0);
    assert_int_equal(heard.n[WEFT_LOG_WARNING], 1);
    assert_non_null(strstr(heard.text, "may be written by others"));

    assert_int_equal(chmod(folder, 0755), 0);
    assert_built();
    assert_loaded();
    char path[1024];
    n_files(folder, path, sizeof(path));
    assert_int_equal(chmod(path, 0622), 0); // nor is a file
    assert_heals();
}

static void test_links_are_not_followed(void **state)
{
    (void)state;
    char real[600], path[1024], target[1024];
    snprintf(real, sizeof(real), "%s-real", folder);
    snprintf(target, sizeof(target), "%s-target", folder);
    assert_int_equal(mkdir(real, 0700), 0);
    assert_int_equal(symlink(real, folder), 0);
    static const char *const ends[] = {"", "/", "///", "/.", "/.//./"};
    enum { N_ENDS = sizeof(ends) / sizeof(ends[0]) };
    for (int i = 0; i < 2 * N_ENDS; i++) {
        snprintf(path, sizeof(path), "%s%s", folder, ends[i % N_ENDS]);
        assert_int_equal(run_in(path, 0, 2).programs_built, 1);
        assert_int_equal(n_files(real, NULL, 0), 0);
    }
    assert_int_equal(heard.n[WEFT_LOG_WARNING], 2 * N_ENDS); // once a context
    assert_non_null(strstr(heard.text, "is a symbolic link, which is not followed"));

    assert_int_equal(unlink(folder), 0);
    assert_built();
    n_files(folder, path, sizeof(path));
    assert_int_equal(rename(path, target), 0);
    assert_int_equal(symlink(target, path), 0);
    weft_blob before = read_file(target);
    assert_heals();
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    assert_true(S_ISREG(info.st_mode));
    weft_blob after = read_file(target);
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.data, after.data, after.size);
    weft_blob_clear(&before);
    weft_blob_clear(&after);
}

static void test_slashes_at_the_end_change_nothing(void **state)
{
    (void)state;
    char path[600];
    assert_built();
    snprintf(path, sizeof(path), "%s//", folder);
    assert_int_equal(run_in(path, 0, 2).programs_loaded, 1);
    const char *const same[] = {"/", "/.", ".", ".."};
    for (int i = 0; i < 4; i++) {
        weft_cache *cache;
        assert_ok(weft_cache_create(&cache, NULL, same[i], 1, false));
        assert_string_equal(weft_cache_folder(cache), same[i]);
        weft_cache_destroy(cache);
    }
}

static void test_a_pipe_in_place_of_a_file_holds_nobody(void **state)
{
    (void)state;
    char path[1024];
    assert_built();
    n_files(folder, path, sizeof(path));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_heals();
}

// A place where nothing can be written, whoever one is.
static void test_without_a_place_to_write_all_works(void **state)
{
    (void)state;
    struct stat info;
    if (stat("/proc/self", &info) != 0)
        skip();
    assert_int_equal(run_in("/proc/self", 0, 2).programs_built, 1);
    assert_int_equal(run_in("/proc/self/weft/cache", 0, 2).programs_built, 1);
    assert_int_equal(heard.n[WEFT_LOG_WARNING], 2);
    assert_non_null(strstr(heard.text, ": /proc/self/weft/cache, named by cache_dir, cannot be "
                                       "made: No such file or directory"));
    assert_int_equal(heard.n[WEFT_LOG_ERROR], 0);

    write_file(folder, "x", 1); // a file where the folder should be
    assert_built();
    assert_int_equal(heard.n[WEFT_LOG_WARNING], 3);
    assert_non_null(strstr(heard.text, "is not a folder that can be opened: Not a directory"));
}

// What the system says when a file grows beyond what the process may write.
static void test_what_is_not_written_has_its_reason(void **state)
{
    (void)state;
    char said[700];
    unsigned char bytes[64] = "key or binary";
    const weft_blob blob = {bytes, sizeof(bytes)};
    struct rlimit usual, none;
    weft_context *ctx = open_with(folder, 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &usual), 0);
    none = usual;
    none.rlim_cur = 0;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    weft_cache_save(ctx->cache, &blob, &blob);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &usual), 0);
    signal(SIGXFSZ, before);
    assert_int_equal(n_files(folder, NULL, 0), 0);
    assert_int_equal(heard.n[WEFT_LOG_WARNING], 1);
    snprintf(said, sizeof(said),
             "a program is not kept in %s, named by cache_dir: a file cannot be written: File too "
             "large\n",
             folder);
    assert_string_equal(heard.text, said);
    weft_context_destroy(&ctx);
}

static void expect_folder(const char *wanted)
{
    weft_context *ctx = open_with(NULL, 0);
    assert_string_equal(weft_cache_folder(ctx->cache), wanted);
    weft_context_destroy(&ctx);
}

// PoCL keeps its programs itself: here they are kept where that was asked for by a folder's name.
static void test_folders_that_the_environment_names(void **state)
{
    (void)state;
    const int unasked = is_on("pocl") ? 0 : 1;
    static const char *const names[] = {"WEFT_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
    char *saved[3], path[1024];
    for (int i = 0; i < 3; i++) {
        saved[i] = getenv(names[i]) ? strdup(getenv(names[i])) : NULL;
        unsetenv(names[i]);
    }
    run_in(NULL, 0, 2);
    run_in(NULL, 0, 2);
    assert_int_equal(heard.n[WEFT_LOG_WARNING], 0);

    setenv("HOME", folder, 1);
    run_in(NULL, 0, 2);
    snprintf(path, sizeof(path), "%s/.cache/weft", folder);
    assert_int_equal(n_files(path, NULL, 0), unasked);

    setenv("XDG_CACHE_HOME", "xdg", 1); // relative: by its specification it does not count
    expect_folder(path);
    setenv("HOME", "home", 1);
    expect_folder("");

    snprintf(path, sizeof(path), "%s/xdg", folder);
    setenv("XDG_CACHE_HOME", path, 1);
    run_in(NULL, 0, 2);
    snprintf(path, sizeof(path), "%s/xdg/weft", folder);
    assert_int_equal(n_files(path, NULL, 0), unasked);

    setenv("WEFT_CACHE_DIR", "own", 1); // nor does ours
    snprintf(path, sizeof(path), "%s/xdg/weft", folder);
    expect_folder(path);
    assert_int_equal(heard.n[WEFT_LOG_WARNING], 1);
    assert_non_null(strstr(heard.text, "WEFT_CACHE_DIR=\"own\" is ignored: "));
    journal_clear(&heard);
    run_in(NULL, 0, 3);
    assert_int_equal(n_files(path, NULL, 0), 2 * unasked);
    assert_int_not_equal(access("own", F_OK), 0);
    journal_clear(&heard);

    snprintf(path, sizeof(path), "%s/own/", folder);
    setenv("WEFT_CACHE_DIR", path, 1);
    run_in(NULL, 0, 2);
    assert_int_equal(n_files(path, NULL, 0), 1);
    setenv("WEFT_CACHE_DIR", "", 1);
    assert_int_equal(run_in(NULL, 0, 2).programs_built, 1);
    assert_int_equal(run_in("", 0, 2).programs_built, 1);
    assert_int_equal(heard.n[WEFT_LOG_WARNING], 0);
    for (int i = 0; i < 3; i++) {
        if (saved[i])
            setenv(names[i], saved[i], 1);
        else
            unsetenv(names[i]);
        free(saved[i]);
    }
}

static void age(const char *path, time_t seconds)
{
    const struct timespec when = {.tv_sec = time(NULL) - seconds};
    const struct timespec both[2] = {when, when};
    assert_int_equal(utimensat(AT_FDCWD, path, both, 0), 0);
}

// A file of `size` bytes in the folder, used so many seconds ago.
static void put(const char *name, size_t size, time_t seconds)
{
    char path[1024];
    unsigned char *zeros = calloc(size, 1);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    write_file(path, zeros, size);
    free(zeros);
    age(path, seconds);
}

static bool is_there(const char *name)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void test_the_bound_takes_the_oldest_first(void **state)
{
    (void)state;
    char name[64];
    weft_trouble trouble;
    assert_int_equal(mkdir(folder, 0700), 0);
    for (int i = 0; i < 200; i++) { // made in another order than that of their age
        const int n = i * 67 % 200;
        snprintf(name, sizeof(name), "%032x.weft", n);
        put(name, 1000, 10 * (n + 1));
    }
    put("notes.weft", 100000, 1000000);
    put("00000000000000000000000000000000.weft.bak", 100000, 1000000);
    put("00000000000000000000000000000000.weft.12.3.tmp", 500, 7200);
    put("00000000000000000000000000000001.weft.12.4.tmp", 500, 60);

    weft_folder *open_folder = weft_folder_open(folder, &trouble);
    assert_non_null(open_folder);
    weft_folder_trim(open_folder, 50500);
    weft_folder_close(open_folder);
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "%032x.weft", i);
        assert_int_equal(is_there(name), i < 50);
    }
    assert_true(is_there("notes.weft"));
    assert_true(is_there("00000000000000000000000000000000.weft.bak"));
    assert_false(is_there("00000000000000000000000000000000.weft.12.3.tmp"));
    assert_true(is_there("00000000000000000000000000000001.weft.12.4.tmp"));
}

static void test_programs_used_last_stay(void **state)
{
    (void)state;
    // Files of one tick of the clock that stamps them are of the same age.
    static const struct timespec tick = {.tv_nsec = 20000000};
    char path[1024];
    assert_built();
    n_files(folder, path, sizeof(path));
    weft_blob whole = read_file(path);
    const uint64_t bytes = 2 * whole.size + whole.size / 2; // room for two
    age(path, 1000);
    assert_int_equal(run_in(folder, bytes, 3).programs_built, 1);
    nanosleep(&tick, NULL);
    assert_int_equal(run_in(folder, bytes, 2).programs_loaded, 1); // used again just now
    nanosleep(&tick, NULL);
    assert_int_equal(run_in(folder, bytes, 4).programs_built, 1);
    assert_int_equal(n_files(folder, NULL, 0), 2);
    assert_int_equal(run_in(folder, bytes, 2).programs_loaded, 1);
    assert_int_equal(run_in(folder, bytes, 3).programs_built, 1);

    journal_clear(&heard); // larger than the whole bound: not kept
    assert_int_equal(run_in(folder, whole.size / 2, 5).programs_built, 1);
    assert_int_equal(heard.n[WEFT_LOG_WARNING], 1);
    weft_blob_clear(&whole);
}

// Each compiles, and takes memory for a compiler.
static void test_processes_at_once(void **state)
{
    (void)state;
    const char *wanted = getenv("WEFT_TEST_PROCESSES");
    const bool is_short = getenv("WEFT_TEST_REDUCED") || !is_on("pocl");
    const int n_processes = wanted ? atoi(wanted) : is_short ? 4 : 12;
    if (n_processes < 1) {
        fail_msg("WEFT_TEST_PROCESSES is \"%s\": at least 1 is wanted", wanted);
        return; // which gcc does not see
    }
    pid_t *processes = calloc((size_t)n_processes, sizeof(*processes));
    assert_non_null(processes);
    char *arguments[] = {(char *)program_path, "child", folder, NULL};
    for (int i = 0; i < n_processes; i++)
        assert_int_equal(posix_spawn(&processes[i], program_path, NULL, NULL, arguments, environ),
                         0);
    for (int i = 0; i < n_processes; i++) {
        int status;
        assert_int_equal(waitpid(processes[i], &status, 0), processes[i]);
        assert_int_equal(status, 0);
    }
    free(processes);
    assert_int_equal(n_files(folder, NULL, 0), 1);
    assert_loaded();
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "child") == 0) {
        run_in(argv[2], 0, 2);
        return 0;
    }
    program_path = argv[0];
    need_device();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_found_again_after_a_restart, new_folder),
        cmocka_unit_test_setup(test_a_file_cut_short_is_replaced, new_folder),
        cmocka_unit_test_setup(test_a_file_with_a_bit_wrong_is_replaced, new_folder),
        cmocka_unit_test_setup(test_foreign_files_are_replaced, new_folder),
        cmocka_unit_test(test_no_damaged_record_is_taken),
        cmocka_unit_test(test_no_other_format_is_taken),
        cmocka_unit_test(test_names_of_records),
        cmocka_unit_test_setup(test_a_binary_that_the_driver_refuses_is_replaced, new_folder),
        cmocka_unit_test_setup(test_a_folder_open_to_others_is_not_used, new_folder),
        cmocka_unit_test_setup(test_links_are_not_followed, new_folder),
        cmocka_unit_test_setup(test_slashes_at_the_end_change_nothing, new_folder),
        cmocka_unit_test_setup(test_a_pipe_in_place_of_a_file_holds_nobody, new_folder),
        cmocka_unit_test_setup(test_without_a_place_to_write_all_works, new_folder),
        cmocka_unit_test_setup(test_what_is_not_written_has_its_reason, new_folder),
        cmocka_unit_test_setup(test_folders_that_the_environment_names, new_folder),
        cmocka_unit_test_setup(test_the_bound_takes_the_oldest_first, new_folder),
        cmocka_unit_test_setup(test_programs_used_last_stay, new_folder),
        cmocka_unit_test_setup(test_processes_at_once, new_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
