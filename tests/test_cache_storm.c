// SPDX-License-Identifier: Apache-2.0
// The folder of compiled programs among many processes, some of which die, and in places that are
// full, read-only or open to others. No OpenCL: programs are made-up bytes.
//
//     WEFT_TEST_STORM   how many writers are killed; 100 by default
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <weft/rehearsal.h>

#include "runtime/cache.h"
#include "runtime/context.h"
#include "runtime/folder.h"

#include "random.h"
#include "runtime.h"

enum { N_KEYS = 6, N_PROCESSES = 200, FEWEST_PROCESSES = 16 };
static const uint64_t bound = UINT64_C(64) << 20;

static journal heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
static char folder[512]; // of the running test; not there yet
static weft_context *ctx;

static int new_folder(void **state)
{
    static int count;
    (void)state;
    journal_clear(&heard);
    snprintf(folder, sizeof(folder), "%s/storm-%ld-%d/programs", test_dir(), (long)getpid(),
             count++);
    assert_ok(weft_rehearsal_create(&ctx, weft_profile_at(0), NULL));
    ctx->log = journal_write;
    ctx->log_user = &heard;
    assert_ok(weft_cache_create(&ctx->cache, ctx, folder, bound, false));
    return 0;
}

static int old_folder(void **state)
{
    (void)state;
    weft_context_destroy(&ctx);
    return 0;
}

// ---- made-up programs: the number of a key says all of its binary

static weft_blob key_of(int number)
{
    static char text[64];
    const int length = snprintf(text, sizeof(text), "the key of program %d", number);
    return (weft_blob){(unsigned char *)text, (size_t)length};
}

static size_t bytes_of(int number)
{
    return 1000 + 20000 * (size_t)number;
}

static unsigned char byte_of(int number, size_t i)
{
    return (unsigned char)(i * 31 + (i >> 8) + (size_t)number);
}

static void save(int number)
{
    const weft_blob key = key_of(number);
    weft_blob binary = {malloc(bytes_of(number)), bytes_of(number)};
    if (!binary.data)
        abort();
    for (size_t i = 0; i < binary.size; i++)
        binary.data[i] = byte_of(number, i);
    weft_cache_save(ctx->cache, &key, &binary);
    weft_blob_clear(&binary);
}

typedef enum found { MISSED, RIGHT, WRONG } found;

static found load(int number)
{
    const weft_blob key = key_of(number);
    weft_blob binary = {0};
    if (!weft_cache_load(ctx->cache, &key, &binary))
        return MISSED;
    found out = binary.size == bytes_of(number) ? RIGHT : WRONG;
    for (size_t i = 0; out == RIGHT && i < binary.size; i++)
        if (binary.data[i] != byte_of(number, i))
            out = WRONG;
    weft_blob_clear(&binary);
    return out;
}

static void path_of(int number, char path[1024])
{
    char name[WEFT_RECORD_NAME_SIZE];
    const weft_blob key = key_of(number);
    weft_record_name(&key, name);
    snprintf(path, 1024, "%s/%s", folder, name);
}

static mode_t mode_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_mode & 0777; // folders of setgid folders are so, too
}

// Files in the folder, and how many of them are no records.
static int n_files(int *n_others)
{
    DIR *stream = opendir(folder);
    int n = 0;
    *n_others = 0;
    for (const struct dirent *entry; stream && (entry = readdir(stream));) {
        const bool is_file = entry->d_name[0] != '.';
        n += is_file;
        *n_others += is_file && !weft_record_is_name(entry->d_name);
    }
    if (stream)
        closedir(stream);
    return n;
}

// ---- processes

enum { OUT_OF_REACH = 77 };

// What the child answers, 0 where all is well. Less than 0 where there is no room for one more.
static pid_t start_if_possible(int (*run)(void))
{
    const pid_t child = fork();
    assert_true(child >= 0 || errno == EAGAIN);
    if (child == 0)
        _exit(run());
    return child;
}

static pid_t start(int (*run)(void))
{
    const pid_t child = start_if_possible(run);
    assert_true(child >= 0);
    return child;
}

// Skips where the child could not reach the folder.
static void expect_well(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == OUT_OF_REACH)
        skip();
    if (status != 0)
        fail_msg("a process ended with status 0x%x", status);
}

static int gun[2]; // a pipe: all start when its other end is closed

static int take_part(void)
{
    char nothing;
    close(gun[1]);
    if (read(gun[0], &nothing, 1) != 0)
        return 1;
    for (int i = 0; i < N_KEYS; i++) {
        if (load(i) == WRONG)
            return 2;
        save(i);
        if (load(i) != RIGHT)
            return 3;
    }
    return heard.n[WEFT_LOG_WARNING] > 0 ? 4 : 0;
}

static void test_many_processes_at_once(void **state)
{
    (void)state;
    pid_t children[N_PROCESSES];
    int n_started = 0, n_others;
    assert_int_equal(pipe(gun), 0);
    while (n_started < N_PROCESSES && (children[n_started] = start_if_possible(take_part)) >= 0)
        n_started++;
    close(gun[0]);
    close(gun[1]);
    for (int i = 0; i < n_started; i++)
        expect_well(children[i]);
    printf("# %d processes of %d\n", n_started, N_PROCESSES);
    assert_true(n_started >= FEWEST_PROCESSES);
    assert_int_equal(n_files(&n_others), N_KEYS);
    assert_int_equal(n_others, 0);
    for (int i = 0; i < N_KEYS; i++)
        assert_int_equal(load(i), RIGHT);
}

static int ready[2]; // a pipe: the child says that it begins

static int write_for_ever(void)
{
    if (write(ready[1], "", 1) != 1)
        return 1;
    for (int i = 0; i < N_KEYS; i = (i + 1) % N_KEYS)
        save(i);
    return 0;
}

static void age_all(void)
{
    DIR *stream = opendir(folder);
    assert_non_null(stream);
    const struct timespec old[2] = {{.tv_sec = time(NULL) - 7200}, {.tv_sec = time(NULL) - 7200}};
    for (const struct dirent *entry; (entry = readdir(stream));)
        if (entry->d_name[0] != '.')
            assert_int_equal(utimensat(dirfd(stream), entry->d_name, old, 0), 0);
    closedir(stream);
}

// Wherever a writer is when it dies: records stay whole, and what it leaves goes in the end.
static void test_killed_writers_do_no_damage(void **state)
{
    (void)state;
    const char *wanted = getenv("WEFT_TEST_STORM");
    const int n_kills = wanted ? atoi(wanted) : 100;
    random_state random = {1};
    int n_others, n_left = 0;
    if (n_kills < 1)
        fail_msg("WEFT_TEST_STORM is \"%s\": at least 1 is wanted", wanted);
    save(0);
    assert_int_equal(pipe(ready), 0);
    for (int i = 0; i < n_kills; i++) {
        char nothing;
        const pid_t child = start(write_for_ever);
        assert_int_equal(read(ready[0], &nothing, 1), 1);
        nanosleep(&(struct timespec){.tv_nsec = random_below(&random, 8000000)}, NULL);
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        for (int k = 0; k < N_KEYS; k++)
            assert_int_not_equal(load(k), WRONG);
        assert_int_equal(load(0), RIGHT);
    }
    close(ready[0]);
    close(ready[1]);
    n_files(&n_left);
    printf("# %d writers killed, %d of them while writing\n", n_kills, n_left);
    age_all();
    for (int k = 0; k < N_KEYS; k++) {
        save(k);
        assert_int_equal(load(k), RIGHT);
    }
    assert_int_equal(n_files(&n_others), N_KEYS);
    assert_int_equal(n_others, 0);
    assert_int_equal(heard.n[WEFT_LOG_WARNING], 0);
}

// ---- places

// Not even root reads and writes what modes forbid; false where they forbid the way to the folder.
static bool obey_modes(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    struct stat info;
    if (syscall(SYS_capset, &head, none) != 0)
        abort();
    return stat(folder, &info) == 0;
}

static int use_unreadable_file(void)
{
    if (!obey_modes())
        return OUT_OF_REACH;
    if (load(1) != MISSED)
        return 1;
    save(1);
    return load(1) == RIGHT && heard.n[WEFT_LOG_WARNING] == 0 ? 0 : 2;
}

static void test_an_unreadable_file_is_replaced(void **state)
{
    (void)state;
    char path[1024];
    save(1);
    path_of(1, path);
    assert_int_equal(chmod(path, 0), 0);
    expect_well(start(use_unreadable_file));
    assert_int_equal(mode_of(path), 0600);
}

static int use_read_only_folder(void)
{
    if (!obey_modes())
        return OUT_OF_REACH;
    if (load(1) != RIGHT || load(2) != MISSED)
        return 1;
    save(2);
    if (load(1) != RIGHT || load(2) != MISSED)
        return 2;
    return heard.n[WEFT_LOG_WARNING] == 1 && strstr(heard.text, "cannot be created") ? 0 : 3;
}

static void test_a_read_only_folder_is_read(void **state)
{
    (void)state;
    save(1);
    assert_int_equal(chmod(folder, 0500), 0);
    expect_well(start(use_read_only_folder));
    assert_int_equal(chmod(folder, 0700), 0);
}

// As on a full disk, files end where there is no more room.
static int use_full_disk(void)
{
    const struct rlimit room = {bytes_of(1), bytes_of(1)};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &room) != 0)
        return 1;
    save(1);
    save(2);
    if (load(0) != RIGHT || load(1) != RIGHT || load(2) != MISSED)
        return 2;
    return heard.n[WEFT_LOG_WARNING] == 2 && strstr(heard.text, "cannot be written") ? 0 : 3;
}

static void test_a_full_disk_leaves_what_is_there(void **state)
{
    (void)state;
    int n_others;
    save(0);
    save(1);
    expect_well(start(use_full_disk));
    assert_int_equal(n_files(&n_others), 2);
    assert_int_equal(n_others, 0);
}

static int use_without_umask(void)
{
    umask(0);
    save(1);
    return 0;
}

static void test_files_are_private_whatever_the_umask(void **state)
{
    (void)state;
    char path[1024], *end;
    expect_well(start(use_without_umask));
    path_of(1, path);
    assert_int_equal(mode_of(path), 0600);
    assert_int_equal(mode_of(folder), 0700);
    snprintf(path, sizeof(path), "%s", folder);
    end = strrchr(path, '/');
    *end = '\0';
    assert_int_equal(mode_of(path), 0700); // made on the way
}

// Neither read, though what stands there is sound, nor written; told once, by a cache of its own.
static void expect_untrusted(void)
{
    int n_others;
    journal_clear(&heard);
    weft_cache_destroy(ctx->cache);
    assert_ok(weft_cache_create(&ctx->cache, ctx, folder, bound, false));
    assert_int_equal(load(1), MISSED);
    save(2);
    save(3);
    assert_int_equal(n_files(&n_others), 1);
    assert_int_equal(heard.n[WEFT_LOG_WARNING], 1);
    assert_non_null(strstr(heard.text, "belongs to somebody else or may be written by others"));
}

static void test_a_folder_open_to_others_is_not_trusted(void **state)
{
    (void)state;
    static const mode_t modes[] = {0770, 0720, 0707, 0702, 01777};
    save(1);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        assert_int_equal(chmod(folder, modes[i]), 0);
        expect_untrusted();
    }
    assert_int_equal(chmod(folder, 0700), 0);
    assert_int_equal(load(1), RIGHT);
}

// Only root gives files away, and not where a container has no other users.
static void test_what_belongs_to_others_is_not_trusted(void **state)
{
    (void)state;
    char path[1024];
    save(1);
    if (geteuid() != 0 || chown(folder, 65534, (gid_t)-1) != 0)
        skip();
    expect_untrusted();
    assert_int_equal(chown(folder, 0, (gid_t)-1), 0);
    assert_int_equal(load(1), RIGHT);
    path_of(1, path);
    assert_int_equal(chown(path, 65534, (gid_t)-1), 0);
    assert_int_equal(load(1), MISSED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, new_folder, old_folder)
    const struct CMUnitTest tests[] = {
        TEST(test_many_processes_at_once),
        TEST(test_killed_writers_do_no_damage),
        TEST(test_an_unreadable_file_is_replaced),
        TEST(test_a_read_only_folder_is_read),
        TEST(test_a_full_disk_leaves_what_is_there),
        TEST(test_files_are_private_whatever_the_umask),
        TEST(test_a_folder_open_to_others_is_not_trusted),
        TEST(test_what_belongs_to_others_is_not_trusted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
