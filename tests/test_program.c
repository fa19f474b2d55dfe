// SPDX-License-Identifier: Apache-2.0
// The program weft from end to end: exit status, what goes to which stream, and right results.
#include <math.h>
#include <sys/stat.h>

#include "npy.h"
#include "scalar.h"

#include "program_run.h"

// ---- operands
//
//   A  1 0 2      B  1 2     C0  10 20
//      0 0 0         3 4         30 40
//      0 3 0         5 6         50 60

static int write_operands(void **state)
{
    static const float B[] = {1, 2, 3, 4, 5, 6}, C0[] = {10, 20, 30, 40, 50, 60};
    static const int64_t shape[] = {3, 2}, cube[] = {3, 2, 1};
    complaint why;
    (void)state;
    put_text("A.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 3\n"
                      "1 1 1\n1 3 2\n3 2 3\n");
    put_text("bad.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 1\n4 1 1\n");
    put_text("wide.mtx", "%%MatrixMarket matrix coordinate pattern general\n"
                         "2 2000000000 1\n1 1\n");
    put_text("none.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 0\n");
    put_text("no_rows.mtx", "%%MatrixMarket matrix coordinate real general\n0 3 0\n");
    put_text("P.smtx", "4, 3, 6\n0 2 2 3 6\n0 2 1 0 1 2\n");
    put_text("damaged.npy", "this is no array");
    return !npy_write(path_of("B.npy"), WEFT_F32, 2, shape, B, &why) ||
           !npy_write(path_of("C0.npy"), WEFT_F32, 2, shape, C0, &why) ||
           !npy_write(path_of("cube.npy"), WEFT_F32, 3, cube, B, &why) ||
           !npy_write(path_of("two.npy"), WEFT_F32, 1, cube + 1, B, &why);
}

// A matrix of n columns; with n = -1 a vector.
static void expect_C(const char *name, weft_dtype dtype, int64_t m, int64_t n, const double *want)
{
    npy_array C;
    complaint why;
    if (!npy_read(&C, path_of(name), dtype, &why))
        fail_msg("%s", why.text);
    assert_int_equal(C.ndim, n < 0 ? 1 : 2);
    assert_int_equal(C.shape[0], m);
    if (n >= 0)
        assert_int_equal(C.shape[1], n);
    for (int64_t i = 0; i < C.count; i++)
        if (scalar_get(C.dtype, C.data, i) != want[i])
            fail_msg("%s: element %d is %g, not %g", name, (int)i, scalar_get(C.dtype, C.data, i),
                     want[i]);
    npy_free(&C);
}

// ---- usage

static void help_goes_to_standard_output(void **state)
{
    static outcome out;
    static const char *const commands[] = {"info", "spmm"};
    (void)state;
    run(&out, "--help");
    expect_status(&out, "--help", 0);
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        char line[64];
        expect_part(out.output, commands[i]);
        snprintf(line, sizeof(line), "%s --help", commands[i]);
        static outcome help;
        run(&help, line);
        expect_status(&help, line, 0);
        expect_part(help.output, "Usage: weft ");
        expect_part(help.output, "--device=TEXT");
        expect_part(help.output, "--json");
        assert_string_equal(help.errors, "");
    }
    run(&out, "--version");
    expect_status(&out, "--version", 0);
    expect_part(out.output, weft_version());
}

static void wrong_usage_exits_with_2(void **state)
{
    static const struct {
        const char *line, *errors;
    } cases[] = {
        {"", "Usage: weft COMMAND"},
        {"dance", "no command 'dance'"},
        {"--dance", "no command '--dance'"},
        {"info --dance", "unrecognized option '--dance'"},
        {"info extra", "Too many arguments"},
        {"info --profiles --device pocl", "--profiles excludes --device"},
        {"info --device", "requires an argument"},
        {"spmm", "name a sparse matrix"},
        {"spmm A.mtx B.npy C.npy", "one file too many: C.npy"},
        {"spmm A.mtx --n 0", "--n: 0 is outside 1 to 2147483647"},
        {"spmm A.mtx --n 5x", "--n: '5x' is not an integer"},
        {"spmm A.mtx --n 99999999999999999999", "--n: 99999999999999999999 is outside"},
        {"spmm A.mtx --runs 0", "--runs: 0 is outside"},
        {"spmm A.mtx --seed -1", "--seed: -1 is outside"},
        {"spmm A.mtx --alpha one", "--alpha: 'one' is no number"},
        {"spmm A.mtx --alpha nan", "--alpha: nan is not finite"},
        {"spmm A.mtx --dtype i32", "--dtype: 'i32' is none of f32, f64, f16 and bf16"},
        {"spmm A.mtx --reduce prod", "--reduce: 'prod' is none of sum, mean, max and min"},
        {"spmm A.mtx --order up", "--order: 'up' is none of default, given, sorted, snake, "},
        {"spmm A.mtx --order snake --no-plan", "--order needs a plan"},
        {"spmm A.mtx B.npy --n 4", "--n is for a random B"},
        {"spmm A.mtx --beta 1", "--beta needs --c"},
        {"spmm A.mtx --c C0.npy", "--c needs --beta"},
        {"spmm A.mtx --transpose-a --no-plan", "--transpose-a needs a plan"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static outcome out;
        run(&out, cases[i].line);
        expect_status(&out, cases[i].line, 2);
        assert_string_equal(out.output, "");
        expect_part(out.errors, cases[i].errors);
    }
}

static void failures_are_one_sentence(void **state)
{
    static const struct {
        const char *line, *errors;
    } cases[] = {
        {"info --device no-such-device", "weft info: "},
        {"spmm A.mtx --device no-such-device", "no-such-device"},
        {"spmm absent.mtx", "absent.mtx: No such file or directory"},
        {"spmm bad.mtx", "bad.mtx:3: entry (4, 1) is outside the 3 x 3 matrix"},
        {"spmm B.npy", "B.npy: holds a dense array, but a sparse matrix is needed"},
        {"spmm A.mtx damaged.npy", "damaged.npy: not a .npy file"},
        {"spmm A.mtx absent.npy", "absent.npy: No such file or directory"},
        {"spmm P.smtx --transpose-a B.npy", "B.npy: is 3 x 2, but P.smtx transposed is 3 x 4"},
        {"spmm A.mtx cube.npy", "cube.npy: has 3 dimensions"},
        {"spmm A.mtx two.npy", "two.npy: has 2 elements, but A.mtx is 3 x 3"},
        {"spmm P.smtx B.npy --beta 1 --c C0.npy", "C0.npy: is 3 x 2, but the product is 4 x 2"},
        {"spmm wide.mtx", "B, 2000000000 x 128 f32, is larger than the device's largest buffer: "
                          "1024000000000 bytes"},
        {"spmm A.mtx -o absent/C.npy", "absent/C.npy: No such file or directory"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        expect_refusal(cases[i].line, 1, cases[i].errors);
}

static void output_that_cannot_be_written_fails(void **state)
{
    static outcome out;
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    run_to(&out, "/dev/full", "info --profiles");
    expect_status(&out, "info --profiles", 1);
    expect_part(out.errors, "No space left on device");
    run_to(&out, "/dev/full", "info --profiles --json");
    expect_status(&out, "info --profiles --json", 1);
    run_to(&out, "/dev/full", "spmm --help");
    expect_status(&out, "spmm --help", 1);
    expect_part(out.errors, "weft: standard output: No space left on device\n");
    run_to(&out, "/dev/full", "info --dance");
    expect_status(&out, "info --dance", 2);
}

// ---- info

// Not all that the device promises, but what a context plans with.
static void expect_limits_of_a_context(const json_t *limits)
{
    weft_context *ctx = NULL;
    assert_int_equal(weft_context_open(&ctx, WEFT_CONTEXT(.cache_dir = "")), WEFT_OK);
    const weft_limits *want = weft_context_limits(ctx);
    assert_string_equal(string(limits, "name"), want->name);
    assert_int_equal(number(limits, "max_items"), want->max_items);
    assert_int_equal(number(limits, "max_block"), want->max_block);
    assert_int_equal(number(limits, "max_items_y"), want->max_items_y);
    assert_int_equal(number(limits, "max_blocks"), want->max_blocks);
    weft_context_destroy(&ctx);
}

static void info_describes_the_device(void **state)
{
    static outcome out;
    size_t i, j;
    json_t *platform, *device;
    int n_chosen = 0;
    (void)state;
    json_t *info = run_json("info --json");
    json_array_foreach(json_object_get(info, "platforms"), i, platform)
        json_array_foreach(json_object_get(platform, "devices"), j, device)
    {
        const json_t *limits = json_object_get(device, "limits");
        assert_true(number(limits, "warp") >= 1);
        assert_true(number(limits, "max_alloc_bytes") > 0);
        assert_int_equal(
            json_array_size(json_object_get(json_object_get(limits, "geometry"), "block")), 2);
        if (!json_is_true(json_object_get(device, "chosen")))
            continue;
        n_chosen++;
        expect_limits_of_a_context(limits);
    }
    assert_int_equal(n_chosen, 1);
    json_decref(info);
    run(&out, "info");
    expect_status(&out, "info", 0);
    expect_part(out.output, "weft uses this one");
    expect_part(out.output, "max_blocks");
    if (!is_on("intel")) // alone among the implementations here it has that
        expect_part(out.output, "no half arithmetic");
}

// rusticl has none where nobody asks for one: its platform is listed all the same.
static void info_lists_platforms_without_devices(void **state)
{
    static const char icd[] = "/etc/OpenCL/vendors/rusticl.icd";
    static outcome out;
    char library[256];
    json_error_t error;
    (void)state;
    FILE *stream = fopen(icd, "r");
    if (!is_on("pocl") || stream == NULL)
        skip();
    assert_non_null(fgets(library, sizeof(library), stream));
    fclose(stream);
    assert_int_equal(mkdir(path_of("vendors-without"), 0700), 0);
    put_text("vendors-without/rusticl.icd", library);
    char *before = strdup(getenv("OCL_ICD_VENDORS"));
    setenv("OCL_ICD_VENDORS", path_of("vendors-without"), 1);
    run(&out, "info");
    expect_status(&out, "info", 1);
    expect_part(out.output, "Platform    rusticl");
    expect_part(out.output, ", no devices\n");
    expect_part(out.output, " RUSTICL_ENABLE=llvmpipe ");
    expect_part(out.errors, "weft info: context: no OpenCL platform here has a device; ");
    expect_part(out.errors, " RUSTICL_ENABLE=llvmpipe (the CPU)");
    run(&out, "info --json");
    expect_status(&out, "info --json", 1);
    json_t *info = json_loads(out.output, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(info))
        fail_msg("%s: %s", error.text, out.output);
    const json_t *platform = json_array_get(json_object_get(info, "platforms"), 0);
    assert_string_equal(string(platform, "name"), "rusticl");
    assert_int_equal(json_array_size(json_object_get(platform, "devices")), 0);
    json_decref(info);
    setenv("OCL_ICD_VENDORS", before, 1);
    free(before);
}

// What the loader was told, and the first file that it finds there.
static void info_says_why_there_is_no_platform(void **state)
{
    static const struct {
        const char *library, *why; // library NULL: there is no .icd file
    } cases[] = {
        {NULL, "but no .icd file is there; unset OCL_ICD_VENDORS, or install a driver, "},
        {"libno-such-driver.so.7\n",
         "/gone.icd names a library that cannot be loaded (libno-such-"},
        {"/nowhere/libgone.so", "/gone.icd names a library that cannot be loaded (/nowhere/libg"},
        {"", "/gone.icd names no library; "},
        {"libm.so.6\r\n", "/gone.icd ends its line in CR LF, and so the library's name in CR; "},
        {"libm.so.6\n", "/gone.icd names libm.so.6, which has no platform; "},
    };
    char looks[1200];
    (void)state;
    if (!is_on("pocl"))
        skip();
    assert_int_equal(mkdir(path_of("vendors-gone"), 0700), 0);
    char *before = strdup(getenv("OCL_ICD_VENDORS"));
    setenv("OCL_ICD_VENDORS", path_of("vendors-gone"), 1);
    snprintf(looks, sizeof(looks),
             "no OpenCL platform is found: the loader looks in OCL_ICD_VENDORS=%s",
             path_of("vendors-gone"));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (cases[i].library != NULL)
            put_text("vendors-gone/gone.icd", cases[i].library);
        expect_refusal("info", 1, looks);
        expect_refusal("info", 1, cases[i].why);
        expect_refusal("info", 1, "pocl-opencl-icd");
    }
    assert_int_equal(mkdir(path_of("vendors-gone/folder.icd"), 0700), 0);
    expect_refusal("info", 1, "/folder.icd cannot be read (Is a directory)");
    assert_int_equal(rmdir(path_of("vendors-gone/folder.icd")), 0);
    put_text("vendors-gone/broken.icd", "libno-such-driver.so.7");
    expect_refusal("info", 1, "/broken.icd names a library that cannot be loaded ");
    setenv("OCL_ICD_VENDORS", path_of("vendors-gone/gone.icd"), 1);
    expect_refusal("info", 1, "/gone.icd names libm.so.6, which has no platform; ");
    setenv("OCL_ICD_VENDORS", "/nowhere", 1);
    expect_refusal("info", 1, "that is no folder that can be read (No such file or directory)");
    setenv("OCL_ICD_VENDORS", before, 1);
    free(before);
}

// PoCL lists no device then, and says nothing.
static void pocl_without_a_cache_is_told(void **state)
{
    static outcome out;
    (void)state;
    if (!is_on("pocl"))
        skip();
    char *before = strdup(getenv("POCL_CACHE_DIR"));
    setenv("POCL_CACHE_DIR", "/proc/nowhere", 1);
    run(&out, "info");
    expect_status(&out, "info", 1);
    expect_part(out.output, ", no devices\n            HOME, or POCL_CACHE_DIR, must name ");
    expect_part(out.errors, "has a device; PoCL shows none where it cannot write to its cache");
    setenv("POCL_CACHE_DIR", before, 1);
    free(before);
}

// By the variable or by the option, and which names would do.
static void devices_that_are_not_there_are_told(void **state)
{
    (void)state;
    char *before = getenv("WEFT_DEVICE") ? strdup(getenv("WEFT_DEVICE")) : NULL;
    setenv("WEFT_DEVICE", "0:0", 1);
    expect_refusal("info", 1, "no device is named like WEFT_DEVICE=\"0:0\"; there are: ");
    expect_refusal("info", 1, "; any part of a name will do");
    expect_refusal("info --device 1:1", 1, "no device is named like \"1:1\"; there are: ");
    if (is_on("pocl")) // by its vendor's name alone
        expect_refusal("info", 1, " (The pocl project): ");
    if (before)
        setenv("WEFT_DEVICE", before, 1);
    else
        unsetenv("WEFT_DEVICE");
    free(before);
}

static bool any_has(const json_t *texts, const char *part)
{
    for (size_t i = 0; i < json_array_size(texts); i++)
        if (strstr(json_string_value(json_array_get(texts, i)), part))
            return true;
    return false;
}

// Another device than the one at hand, by the environment.
static void info_tells_the_profile(void **state)
{
    static outcome out;
    size_t i, j;
    json_t *platform, *device;
    (void)state;
    char *before = getenv("WEFT_PROFILE") ? strdup(getenv("WEFT_PROFILE")) : NULL;
    setenv("WEFT_PROFILE", "Arc-A770", 1);
    json_t *info = run_json("info --json");
    json_array_foreach(json_object_get(info, "platforms"), i, platform)
        json_array_foreach(json_object_get(platform, "devices"), j, device)
    {
        const json_t *limits = json_object_get(device, "limits");
        assert_non_null(strstr(string(limits, "name"), "intel-arc-a770 on "));
        assert_true(number(limits, "vector_width") == 1);
        assert_true(any_has(json_object_get(limits, "quirks"), "f64"));
    }
    json_decref(info);
    run(&out, "info");
    expect_part(out.output, "planned for as intel-arc-a770 on ");
    expect_part(out.output, "no double arithmetic");
    setenv("WEFT_PROFILE", "nothing like it", 1);
    run(&out, "info");
    expect_status(&out, "info", 1);
    expect_part(out.errors, "no profile is named like WEFT_PROFILE=\"nothing like it\"");
    if (before)
        setenv("WEFT_PROFILE", before, 1);
    else
        unsetenv("WEFT_PROFILE");
    free(before);
}

static void info_lists_the_profiles(void **state)
{
    static outcome out;
    (void)state;
    json_t *info = run_json("info --profiles --json");
    const json_t *profiles = json_object_get(info, "profiles");
    assert_int_equal(json_array_size(profiles), weft_profile_count());
    run(&out, "info --profiles");
    for (size_t i = 0; i < weft_profile_count(); i++) {
        const char *name = weft_profile_at(i)->name;
        assert_string_equal(string(json_array_get(profiles, i), "name"), name);
        expect_part(out.output, name);
    }
    json_decref(info);
}

// ---- spmm

// On a device the kernels are compiled and asked; what is said of it is what info says.
static void explain_asks_the_device(void **state)
{
    (void)state;
    json_t *answer = run_json("explain norm 8x64 --json");
    const json_t *launch = json_array_get(json_object_get(answer, "launches"), 0);
    const json_t *local = json_object_get(launch, "local");
    const double items =
        json_number_value(json_array_get(local, 0)) * json_number_value(json_array_get(local, 1));
    assert_string_equal(string(launch, "kernel"), "norm_lines");
    assert_true(number(json_object_get(launch, "compiled"), "max_items") >= items);
    assert_string_equal(string(answer, "device"),
                        string(json_object_get(answer, "limits"), "name"));
    assert_true(json_is_null(json_object_get(json_object_get(answer, "roofline"), "ms")));
    json_decref(answer);
}

// Planned as for another device, it still is this one whose memory and speed are told.
static void explain_knows_two_devices(void **state)
{
    static outcome out;
    char line[256];
    (void)state;
    json_t *here = run_json("explain norm 65536x65536 --json");
    const char *name = string(here, "device");
    snprintf(line, sizeof(line), "explain norm 65536x65536 --profile h100 --device %.*s",
             (int)strcspn(name, " "), name);
    run(&out, line);
    expect_status(&out, line, 0);
    expect_part(out.output, "  device      nvidia-h100 on ");
    expect_part(out.output, "no data-sheet figure is known for ");
    assert_null(strstr(out.output, "roofline"));
    strcat(line, " --json");
    json_t *both = run_json(line);
    const json_t *roofline = json_object_get(both, "roofline");
    assert_string_equal(string(roofline, "device"), name);
    assert_true(json_is_null(json_object_get(roofline, "ms")));
    assert_int_equal(number(json_object_get(both, "limits"), "warp"), 32);
    assert_int_equal(json_is_true(json_object_get(both, "fits")),
                     json_is_true(json_object_get(here, "fits")));
    json_decref(here);
    json_decref(both);
}

static void spmm_multiplies(void **state)
{
    static const double want[] = {11, 14, 0, 0, 9, 12};
    (void)state;
    json_t *report = run_json("spmm A.mtx B.npy -o C.npy --runs 3 --check --json");
    expect_C("C.npy", WEFT_DEFAULT, 3, 2, want);
    assert_string_equal(string(report, "op"), "spmm");
    assert_string_equal(string(report, "dtype"), "f32");
    assert_true(strlen(string(report, "device")) > 0);
    assert_true(strlen(string(report, "plan")) > 0);
    assert_true(number(report, "m") == 3 && number(report, "k") == 3);
    assert_true(number(report, "n") == 2 && number(report, "nnz") == 3);
    assert_true(number(report, "setup_ms") > 0);
    assert_true(number(report, "min_ms") > 0);
    assert_true(number(report, "min_ms") <= number(report, "median_ms"));
    assert_true(number(report, "median_ms") <= number(report, "max_ms"));
    const double gflops = 1e-6 * 2 * 3 * 2 / number(report, "median_ms");
    assert_true(fabs(number(report, "gflops") / gflops - 1) < 1e-4);
    assert_true(number(report, "error") <= 1);
    json_decref(report);
}

static void spmm_says_the_same_in_words(void **state)
{
    static outcome out;
    (void)state;
    run(&out, "spmm A.mtx B.npy --runs 2 --check");
    expect_status(&out, "spmm", 0);
    expect_part(out.output, "C [3 x 2] = A [3 x 3, 3 non-zeros] B [3 x 2]");
    expect_part(out.output, "plan");
    expect_part(out.output, "set-up");
    expect_part(out.output, "median");
    expect_part(out.output, "GFLOP/s");
    expect_part(out.output, "of its bound");
}

// Whatever the number of runs, C is that of one product.
static void spmm_scales_and_adds_once(void **state)
{
    static const double want[] = {-17, -18, 15, 20, 7, 6};
    static const double transposed[] = {6, 12, 30, 38, 27, 34};
    (void)state;
    json_decref(run_json("spmm A.mtx B.npy --alpha -2 --beta 0.5 --c C0.npy --runs 4 --check "
                         "-o C.npy --json"));
    expect_C("C.npy", WEFT_DEFAULT, 3, 2, want);
    json_decref(run_json("spmm A.mtx B.npy -t --beta 0.5 --c C0.npy --runs 3 --check -o C.npy "
                         "--json"));
    expect_C("C.npy", WEFT_DEFAULT, 3, 2, transposed);
}

static void spmm_takes_vectors(void **state)
{
    static const float b[] = {1, 3, 5}, c0[] = {10, 20, 30};
    static const double want[] = {11, 0, 9}, scaled[] = {-17, 10, -3};
    complaint why;
    (void)state;
    assert_true(npy_write(path_of("b.npy"), WEFT_F32, 1, (int64_t[]){3}, b, &why));
    assert_true(npy_write(path_of("c0.npy"), WEFT_F32, 1, (int64_t[]){3}, c0, &why));
    json_decref(run_json("spmm A.mtx b.npy --check -o c.npy --json"));
    expect_C("c.npy", WEFT_DEFAULT, 3, -1, want);
    json_decref(run_json("spmm A.mtx b.npy --alpha -2 --beta 0.5 --c c0.npy --check -o c.npy "
                         "--json"));
    expect_C("c.npy", WEFT_DEFAULT, 3, -1, scaled);
}

static void spmm_works_without_a_plan(void **state)
{
    static const double want[] = {11, 14, 0, 0, 9, 12};
    (void)state;
    json_decref(run_json("spmm A.mtx B.npy --no-plan --runs 1 --check -o C.npy --json"));
    expect_C("C.npy", WEFT_DEFAULT, 3, 2, want);
}

static void spmm_takes_rows_in_any_order(void **state)
{
    static const struct {
        const char *order, *words;
    } cases[] = {
        {"given", "; rows as given, as asked for"},
        {"sorted", "; rows sorted by length, as asked for"},
        {"snake", "distributed in a snake, as asked for"},
        {"alternating", "; runs of rows alternating, as asked for"},
        {"queue", "taken from a queue, as asked for"},
    };
    static const double want[] = {11, 14, 0, 0, 9, 12};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[128];
        snprintf(line, sizeof(line), "spmm A.mtx B.npy --order %s --runs 1 --check -o C.npy --json",
                 cases[i].order);
        json_t *report = run_json(line);
        expect_part(json_string_value(json_object_get(report, "plan")), cases[i].words);
        json_decref(report);
        expect_C("C.npy", WEFT_DEFAULT, 3, 2, want);
    }
}

static void spmm_reduces_by_other_means(void **state)
{
    static const struct {
        const char *line;
        double want[6];
    } cases[] = {
        {"spmm A.mtx B.npy --reduce sum --runs 1 --check -o C.npy", {11, 14, 0, 0, 9, 12}},
        {"spmm A.mtx B.npy --reduce mean --runs 1 --check -o C.npy", {5.5, 7, 0, 0, 9, 12}},
        {"spmm A.mtx B.npy --reduce max --runs 2 --check -o C.npy", {10, 12, 0, 0, 9, 12}},
        {"spmm A.mtx B.npy --reduce min --runs 1 --no-plan --check -o C.npy", {1, 2, 0, 0, 9, 12}},
        {"spmm A.mtx B.npy --reduce max -t --alpha -1 --beta 1 --c C0.npy --runs 2 --check -o "
         "C.npy",
         {9, 18, 15, 22, 48, 56}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static outcome out;
        run(&out, cases[i].line);
        expect_status(&out, cases[i].line, 0);
        expect_part(out.output, "of its bound");
        expect_C("C.npy", WEFT_DEFAULT, 3, 2, cases[i].want);
    }
}

static void spmm_takes_every_float_type(void **state)
{
    static const struct {
        const char *name;
        weft_dtype dtype;
    } types[] = {{"f32", WEFT_F32}, {"f64", WEFT_F64}, {"f16", WEFT_F16}, {"bf16", WEFT_BF16}};
    static const double want[] = {11, 14, 0, 0, 9, 12};
    const bool has_f64 = device_has_f64();
    (void)state;
    for (int t = 0; t < 4; t++) {
        static outcome out;
        char line[128];
        snprintf(line, sizeof(line), "spmm A.mtx B.npy --dtype %s -o C.npy --runs 1 --check",
                 types[t].name);
        run(&out, line);
        if (types[t].dtype == WEFT_F64 && !has_f64) {
            expect_status(&out, line, 1);
            continue;
        }
        expect_status(&out, line, 0);
        expect_C("C.npy", types[t].dtype, 3, 2, want);
    }
}

static void spmm_follows_the_seed(void **state)
{
    static outcome out;
    char first[4096], second[4096], third[4096];
    (void)state;
    run(&out, "spmm P.smtx --n 5 --seed 7 -o 1.npy --runs 1 --check");
    expect_status(&out, "spmm", 0);
    run(&out, "spmm P.smtx --n 5 --seed 7 -o 2.npy --runs 2 --json");
    expect_status(&out, "spmm", 0);
    run(&out, "spmm P.smtx --n 5 --seed 8 -o 3.npy --runs 1");
    expect_status(&out, "spmm", 0);
    slurp("1.npy", first, sizeof(first));
    slurp("2.npy", second, sizeof(second));
    slurp("3.npy", third, sizeof(third));
    assert_memory_equal(first, second, 128 + 4 * 5 * sizeof(float));
    assert_memory_not_equal(first, third, 128 + 4 * 5 * sizeof(float));
}

static void spmm_takes_empty_matrices(void **state)
{
    static const double zeros[6] = {0};
    (void)state;
    json_t *report = run_json("spmm none.mtx B.npy -o C.npy --runs 1 --check --json");
    assert_true(number(report, "nnz") == 0 && number(report, "gflops") == 0);
    assert_true(number(report, "error") == 0);
    expect_C("C.npy", WEFT_DEFAULT, 3, 2, zeros);
    json_decref(report);
    report = run_json("spmm no_rows.mtx B.npy -o C.npy --runs 1 --check --json");
    assert_true(number(report, "m") == 0);
    expect_C("C.npy", WEFT_DEFAULT, 0, 2, zeros);
    json_decref(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_goes_to_standard_output),
        cmocka_unit_test(wrong_usage_exits_with_2),
        cmocka_unit_test(failures_are_one_sentence),
        cmocka_unit_test(output_that_cannot_be_written_fails),
        cmocka_unit_test(info_describes_the_device),
        cmocka_unit_test(info_lists_platforms_without_devices),
        cmocka_unit_test(info_says_why_there_is_no_platform),
        cmocka_unit_test(pocl_without_a_cache_is_told),
        cmocka_unit_test(devices_that_are_not_there_are_told),
        cmocka_unit_test(info_tells_the_profile),
        cmocka_unit_test(info_lists_the_profiles),
        cmocka_unit_test(explain_asks_the_device),
        cmocka_unit_test(explain_knows_two_devices),
        cmocka_unit_test(spmm_multiplies),
        cmocka_unit_test(spmm_says_the_same_in_words),
        cmocka_unit_test(spmm_scales_and_adds_once),
        cmocka_unit_test(spmm_takes_vectors),
        cmocka_unit_test(spmm_works_without_a_plan),
        cmocka_unit_test(spmm_takes_rows_in_any_order),
        cmocka_unit_test(spmm_reduces_by_other_means),
        cmocka_unit_test(spmm_takes_every_float_type),
        cmocka_unit_test(spmm_follows_the_seed),
        cmocka_unit_test(spmm_takes_empty_matrices),
    };
    return cmocka_run_group_tests(tests, write_operands, NULL);
}
