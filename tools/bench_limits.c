// SPDX-License-Identifier: Apache-2.0
// Copy, read and multiply-add rates: shapes of launches, tried and timed.
#include "bench_limits.h"

#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "buffer.h"
#include "limits_cl.h"
#include "progress.h"
#include "report.h"

enum {
    MAX_SHAPES = 64, // of a family
    FINALISTS = 3,
    TRIAL_RUNS = 2,
    STREAM_RUNS = 7,
    FMA_RUNS = 31,
    ROUND = 8, // as in limits.cl
    GROUPS_PER_UNIT = 8,
    NARROW_GROUP = 32, // items, on a GPU
    WIDE_GROUP = 256,
    WIDEST = 16,         // words of a vector: a line of a CPU's caches
    SHORT_RUN = 4 << 10, // bytes that a group goes through, and eight times as many
    LONG_RUN = 32 << 10, // the same where it is in eight places at once
};

static const uint64_t MIB = 1 << 20;
static const double SHORTEST_RUN_MS = 2;
static const double LONGEST_COPY_MS = 200;
static const char *const rate_names[] = {"copy", "read", "fma"};

// One way to launch one kernel of limits.cl.
typedef struct launch_shape {
    char kernel[24]; // room for any two numbers, as compilers see it
    bench_rate rate;
    int width;    // words of a vector
    int items;    // of a group
    int per_item; // vectors that one item copies or reads; chains that it multiplies
    int amount;   // sweeps or rounds that make a run long enough for the clock
    double best;  // median so far
} launch_shape;

typedef struct shape_family {
    launch_shape shapes[MAX_SHAPES];
    size_t n_shapes;
} shape_family;

struct bench_limits {
    weft_context *ctx;
    bench_queue queue;
    cl_program program;
    cl_kernel nothing;
    cl_mem arrays[2];
    size_t array_bytes;
    shape_family families[3];
    launch_shape best[3];
    cl_kernel kernels[3]; // of the best; NULL until they are measured
    bench_caches caches;
};

static bool build(bench_limits *limits, complaint *why)
{
    const cl_context cl = weft_context_cl(limits->ctx);
    const cl_device_id device = weft_context_device(limits->ctx);
    const char *source = limits_cl;
    cl_int code;
    limits->program = clCreateProgramWithSource(cl, 1, &source, NULL, &code);
    if (code != CL_SUCCESS)
        return complain_cl(why, "clCreateProgramWithSource", code);
    code = clBuildProgram(limits->program, 1, &device, "-cl-std=CL1.2", NULL, NULL);
    if (code == CL_SUCCESS)
        return true;
    char log[1024] = "";
    clGetProgramBuildInfo(limits->program, device, CL_PROGRAM_BUILD_LOG, sizeof(log) - 1, log,
                          NULL);
    return complain(why, "limits.cl does not compile: OpenCL error %d\n%s", code, log);
}

static bool allocate(bench_limits *limits, complaint *why)
{
    const weft_limits *device = weft_context_limits(limits->ctx);
    uint64_t bytes = 2 * device->cache_bytes;
    if (bytes < 256 * MIB)
        bytes = 256 * MIB;
    if (bytes > device->max_alloc_bytes)
        bytes = device->max_alloc_bytes;
    if (bytes > device->global_bytes / 8)
        bytes = device->global_bytes / 8;
    limits->array_bytes = bytes < MIB ? MIB : bytes / MIB * MIB;

    const cl_uint pattern = 0x3f8ccccd;
    for (int i = 0; i < 2; i++) {
        if (!buffer_create(&limits->arrays[i], limits->ctx, NULL, limits->array_bytes,
                           "the arrays to copy", why))
            return false;
        cl_int code = clEnqueueFillBuffer(limits->queue.cl, limits->arrays[i], &pattern,
                                          sizeof(pattern), 0, limits->array_bytes, 0, NULL, NULL);
        if (code != CL_SUCCESS)
            return complain_cl(why, "clEnqueueFillBuffer", code);
    }
    return true;
}

static bool make_nothing(bench_limits *limits, complaint *why)
{
    const cl_uint unlikely = 0;
    cl_int code;
    limits->nothing = clCreateKernel(limits->program, "nothing", &code);
    if (code == CL_SUCCESS)
        code = clSetKernelArg(limits->nothing, 0, sizeof(cl_mem), &limits->arrays[0]);
    if (code == CL_SUCCESS)
        code = clSetKernelArg(limits->nothing, 1, sizeof(unlikely), &unlikely);
    return code == CL_SUCCESS || complain_cl(why, "the empty kernel", code);
}

static void add_stream_shapes(shape_family *family, bench_rate rate, const char *kernel, int width,
                              int items, int shortest_run)
{
    const int least = rate == BENCH_COPY ? 1 : strcmp(kernel, "runs") == 0 ? 8 : 4;
    for (int run_bytes = shortest_run; run_bytes <= 8 * shortest_run; run_bytes *= 8) {
        const int per_item = run_bytes / (width * 4 * items);
        if (per_item < least)
            continue;
        launch_shape *shape = &family->shapes[family->n_shapes++];
        *shape = (launch_shape){.rate = rate, .width = width, .items = items, .per_item = per_item};
        snprintf(shape->kernel, sizeof(shape->kernel), "%s%d", kernel, width);
    }
}

static void add_fma_shapes(shape_family *family, int width, int items)
{
    static const int chains[] = {8, 12, 16, 24};
    for (size_t i = 0; i < sizeof(chains) / sizeof(chains[0]); i++) {
        launch_shape *shape = &family->shapes[family->n_shapes++];
        *shape = (launch_shape){
            .rate = BENCH_FMA, .width = width, .items = items, .per_item = chains[i]};
        snprintf(shape->kernel, sizeof(shape->kernel), "fma%dx%d", width, chains[i]);
    }
}

// An item with whole lines may prefetch each.
static void add_asking_shapes(bench_limits *limits)
{
    add_stream_shapes(&limits->families[BENCH_COPY], BENCH_COPY, "stream_asked", WIDEST, 1,
                      SHORT_RUN);
    add_stream_shapes(&limits->families[BENCH_READ], BENCH_READ, "read_asked", WIDEST, 1,
                      SHORT_RUN);
}

// Groups of one item, on devices whose items of a group do not run in parallel anyway.
static void add_shapes(bench_limits *limits)
{
    const weft_limits *device = weft_context_limits(limits->ctx);
    const int narrow = device->max_items_y == 1 ? 1 : NARROW_GROUP;
    const int wide = device->max_items_y == 1 ? 1 : WIDE_GROUP;
    for (int items = narrow; items <= wide; items *= WIDE_GROUP / NARROW_GROUP)
        for (int width = 1; width <= WIDEST; width = width == 1 ? 4 : width * 2) {
            add_stream_shapes(&limits->families[BENCH_COPY], BENCH_COPY, "copy", width, items,
                              SHORT_RUN);
            add_stream_shapes(&limits->families[BENCH_COPY], BENCH_COPY, "stream", width, items,
                              SHORT_RUN);
            add_stream_shapes(&limits->families[BENCH_READ], BENCH_READ, "read", width, items,
                              SHORT_RUN);
            add_stream_shapes(&limits->families[BENCH_READ], BENCH_READ, "runs", width, items,
                              LONG_RUN);
            if (items == 1 && width == WIDEST)
                add_asking_shapes(limits);
            add_fma_shapes(&limits->families[BENCH_FMA], width, items);
        }
}

static size_t groups_of(const bench_limits *limits, const launch_shape *shape)
{
    if (shape->rate != BENCH_FMA)
        return limits->array_bytes / ((size_t)shape->per_item * shape->items * shape->width * 4);
    const size_t wanted = (size_t)weft_context_limits(limits->ctx)->compute_units * GROUPS_PER_UNIT;
    const size_t room = limits->array_bytes / ((size_t)shape->items * sizeof(float));
    return wanted < room ? wanted : room;
}

// 1e9 bytes or floating-point operations in one run.
static double giga(const bench_limits *limits, const launch_shape *shape)
{
    if (shape->rate == BENCH_COPY)
        return 2e-9 * (double)limits->array_bytes * shape->amount;
    if (shape->rate == BENCH_READ)
        return 1e-9 * (double)limits->array_bytes * shape->amount;
    return 2e-9 * ROUND * shape->amount * (double)groups_of(limits, shape) * shape->items *
           shape->per_item * shape->width;
}

// clSetKernelArg() for a list that ends with size 0; the first error counts.
static cl_int set_arguments(cl_kernel kernel, const size_t *sizes, const void *const *values)
{
    cl_int code = CL_SUCCESS;
    for (cl_uint i = 0; sizes[i] != 0 && code == CL_SUCCESS; i++)
        code = clSetKernelArg(kernel, i, sizes[i], values[i]);
    return code;
}

static cl_int set_stream_arguments(const bench_limits *limits, const launch_shape *shape,
                                   cl_kernel kernel, int sweep)
{
    const cl_int per_item = shape->per_item;
    const cl_uint unlikely = 0x9e3779b9;
    const size_t sizes[] = {sizeof(cl_mem), sizeof(cl_mem), sizeof(per_item),
                            shape->rate == BENCH_READ ? sizeof(unlikely) : 0, 0};
    const void *values[] = {&limits->arrays[sweep % 2], &limits->arrays[(sweep + 1) % 2], &per_item,
                            &unlikely};
    return set_arguments(kernel, sizes, values);
}

static cl_int set_fma_arguments(const bench_limits *limits, cl_kernel kernel, int rounds)
{
    const cl_float scale = 0.999f, shift = 0.5f;
    const cl_int n_rounds = rounds;
    const size_t sizes[] = {sizeof(cl_mem), sizeof(scale), sizeof(shift), sizeof(n_rounds), 0};
    const void *values[] = {&limits->arrays[1], &scale, &shift, &n_rounds};
    return set_arguments(kernel, sizes, values);
}

// A run: sweeps over an array, or one launch of many rounds.
static cl_int enqueue(const bench_limits *limits, const launch_shape *shape, cl_kernel kernel)
{
    const bool is_fma = shape->rate == BENCH_FMA;
    const size_t local = (size_t)shape->items;
    const size_t global = groups_of(limits, shape) * local;
    cl_int code = CL_SUCCESS;
    for (int sweep = 0; sweep < (is_fma ? 1 : shape->amount) && code == CL_SUCCESS; sweep++) {
        code = is_fma ? set_fma_arguments(limits, kernel, shape->amount)
                      : set_stream_arguments(limits, shape, kernel, sweep);
        if (code == CL_SUCCESS)
            code = clEnqueueNDRangeKernel(limits->queue.cl, kernel, 1, NULL, &global, &local, 0,
                                          NULL, NULL);
    }
    return code;
}

static bool time_once(const bench_limits *limits, const launch_shape *shape, cl_kernel kernel,
                      double *ms, complaint *why)
{
    const double start = timing_now_ms();
    cl_int code = enqueue(limits, shape, kernel);
    if (code == CL_SUCCESS)
        code = clFinish(limits->queue.cl);
    *ms = timing_now_ms() - start;
    return code == CL_SUCCESS || complain_cl(why, shape->kernel, code);
}

// Whether the compiled kernel can run in groups of the shape's size.
static bool group_fits(const bench_limits *limits, const launch_shape *shape, cl_kernel kernel)
{
    size_t items = 0;
    clGetKernelWorkGroupInfo(kernel, weft_context_device(limits->ctx), CL_KERNEL_WORK_GROUP_SIZE,
                             sizeof(items), &items, NULL);
    return (size_t)shape->items <= items;
}

// Raises shape->best to the median of `n_runs` runs, and finds shape->amount.
static bool time_shape(const bench_limits *limits, launch_shape *shape, cl_kernel kernel,
                       int n_runs, complaint *why)
{
    double runs[FMA_RUNS];
    double ms;
    shape->amount = 1;
    if (!time_once(limits, shape, kernel, &ms, why)) // compiles
        return false;
    while (time_once(limits, shape, kernel, &ms, why) && ms < SHORTEST_RUN_MS &&
           shape->amount < 1 << 24)
        shape->amount *= 2;
    for (int i = 0; i < n_runs; i++)
        if (!time_once(limits, shape, kernel, &runs[i], why))
            return false;
    const timing time = timing_of(runs, (size_t)n_runs);
    const double rate = giga(limits, shape) / time.median_ms * 1e3;
    if (rate > shape->best)
        shape->best = rate;
    return true;
}

static bool measure_shape(const bench_limits *limits, launch_shape *shape, int n_runs,
                          complaint *why)
{
    cl_int code;
    cl_kernel kernel = clCreateKernel(limits->program, shape->kernel, &code);
    if (code != CL_SUCCESS)
        return complain_cl(why, "clCreateKernel", code);
    const bool ok =
        !group_fits(limits, shape, kernel) || time_shape(limits, shape, kernel, n_runs, why);
    clReleaseKernel(kernel);
    return ok;
}

// The fastest first.
static int compare_shapes(const void *left, const void *right)
{
    const double a = ((const launch_shape *)left)->best, b = ((const launch_shape *)right)->best;
    return (a < b) - (a > b);
}

// A short test selects the finalists; its two runs do not count.
static bool try_shapes(const bench_limits *limits, shape_family *family, complaint *why)
{
    for (size_t i = 0; i < family->n_shapes; i++) {
        progress_show("limits: %s, %zu of %zu", family->shapes[i].kernel, i + 1, family->n_shapes);
        if (!measure_shape(limits, &family->shapes[i], TRIAL_RUNS, why))
            return false;
    }
    qsort(family->shapes, family->n_shapes, sizeof(family->shapes[0]), compare_shapes);
    if (family->n_shapes > FINALISTS)
        family->n_shapes = FINALISTS;
    for (size_t i = 0; i < family->n_shapes; i++)
        family->shapes[i].best = 0;
    return true;
}

// Measures the finalists, and keeps the kernel of the best for comparisons.
static bool measure_family(bench_limits *limits, bench_rate rate, complaint *why)
{
    shape_family *family = &limits->families[rate];
    cl_int code;
    for (size_t i = 0; i < family->n_shapes; i++)
        if (!measure_shape(limits, &family->shapes[i], rate == BENCH_FMA ? FMA_RUNS : STREAM_RUNS,
                           why))
            return false;
    qsort(family->shapes, family->n_shapes, sizeof(family->shapes[0]), compare_shapes);
    limits->best[rate] = family->shapes[0];
    if (limits->best[rate].best == 0)
        return complain(why, "no %s kernel fits the device's groups", rate_names[rate]);
    limits->kernels[rate] = clCreateKernel(limits->program, limits->best[rate].kernel, &code);
    return code == CL_SUCCESS || complain_cl(why, "clCreateKernel", code);
}

// Uses four times as much of the arrays until one copy takes the longest time allowed.
static bool fit_arrays(bench_limits *limits, complaint *why)
{
    launch_shape probe = limits->families[BENCH_COPY].shapes[0];
    const size_t whole = limits->array_bytes;
    cl_int code;
    cl_kernel kernel = clCreateKernel(limits->program, probe.kernel, &code);
    if (code != CL_SUCCESS)
        return complain_cl(why, "clCreateKernel", code);
    limits->array_bytes = MIB;
    probe.amount = 1;
    double ms;
    bool ok = time_once(limits, &probe, kernel, &ms, why); // compiles
    while (ok) {
        ok = time_once(limits, &probe, kernel, &ms, why);
        if (ms > LONGEST_COPY_MS / 4 || limits->array_bytes == whole)
            break;
        limits->array_bytes = limits->array_bytes < whole / 4 ? 4 * limits->array_bytes : whole;
    }
    clReleaseKernel(kernel);
    return ok;
}

bool bench_limits_create(bench_limits **out, weft_context *ctx, complaint *why)
{
    *out = NULL;
    bench_limits *limits = calloc(1, sizeof(*limits));
    if (!limits)
        return complain(why, "no memory for the limits");
    limits->ctx = ctx;
    add_shapes(limits);
    if (!bench_queue_open(&limits->queue, ctx, why) || !build(limits, why) ||
        !allocate(limits, why) || !make_nothing(limits, why) || !fit_arrays(limits, why)) {
        bench_limits_destroy(&limits);
        return false;
    }
    *out = limits;
    return true;
}

void bench_limits_destroy(bench_limits **limits)
{
    if (!limits || !*limits)
        return;
    for (int i = 0; i < 2; i++)
        buffer_release(&(*limits)->arrays[i]);
    for (int rate = BENCH_COPY; rate <= BENCH_FMA; rate++)
        if ((*limits)->kernels[rate])
            clReleaseKernel((*limits)->kernels[rate]);
    if ((*limits)->nothing)
        clReleaseKernel((*limits)->nothing);
    if ((*limits)->program)
        clReleaseProgram((*limits)->program);
    bench_queue_close(&(*limits)->queue);
    free(*limits);
    *limits = NULL;
}

const bench_queue *bench_limits_queue(const bench_limits *limits)
{
    return &limits->queue;
}

bool bench_limits_measure(bench_limits *limits, complaint *why)
{
    for (int rate = BENCH_COPY; rate <= BENCH_FMA; rate++) {
        if (!try_shapes(limits, &limits->families[rate], why))
            return false;
        progress_show("limits: the fastest of %s", rate_names[rate]);
        if (!measure_family(limits, (bench_rate)rate, why))
            return false;
    }
    const bool ok = bench_caches_measure(&limits->caches, limits->ctx, &limits->queue,
                                         limits->program, limits->arrays, limits->array_bytes, why);
    progress_clear();
    return ok;
}

bool bench_limits_enqueue_nothing(const bench_limits *limits, complaint *why)
{
    const weft_limits *device = weft_context_limits(limits->ctx);
    const size_t local = device->max_items_y == 1 ? 1 : NARROW_GROUP;
    const size_t global = local * (size_t)device->compute_units;
    const cl_int code = clEnqueueNDRangeKernel(limits->queue.cl, limits->nothing, 1, NULL, &global,
                                               &local, 0, NULL, NULL);
    return code == CL_SUCCESS || complain_cl(why, "an empty launch", code);
}

bool bench_limits_launch(const bench_limits *limits, double *ms, complaint *why)
{
    const double start = timing_now_ms();
    const bool ok =
        bench_limits_enqueue_nothing(limits, why) && bench_queue_finish(&limits->queue, why);
    *ms = timing_now_ms() - start;
    return ok;
}

bool bench_limits_run(const bench_limits *limits, bench_rate rate, double *ms, complaint *why)
{
    return time_once(limits, &limits->best[rate], limits->kernels[rate], ms, why);
}

double bench_limits_rate(const bench_limits *limits, bench_rate rate, double ms)
{
    return giga(limits, &limits->best[rate]) / ms * 1e3;
}

const bench_caches *bench_limits_caches(const bench_limits *limits)
{
    return &limits->caches;
}

static int describe(const launch_shape *shape, char *text, size_t size)
{
    if (shape->rate == BENCH_FMA)
        return snprintf(text, size, "%d chains of %d lanes, groups of %d", shape->per_item,
                        shape->width, shape->items);
    return snprintf(text, size, "%s, %d vectors an item, groups of %d", shape->kernel,
                    shape->per_item, shape->items);
}

json_t *bench_limits_json(const bench_limits *limits)
{
    static const char *const keys[] = {"copy_gbps", "read_gbps", "fma_gflops"};
    json_t *object = json_object();
    json_t *shapes = json_object();
    int failed =
        json_object_set_new(object, "array_bytes", json_integer((json_int_t)limits->array_bytes));
    for (int rate = BENCH_COPY; rate <= BENCH_FMA; rate++) {
        const launch_shape *best = &limits->best[rate];
        char text[96];
        describe(best, text, sizeof(text));
        failed |= json_object_set_new(object, keys[rate], report_number(best->best, 4));
        failed |= json_object_set_new(shapes, rate_names[rate], json_string(text));
    }
    failed |= json_object_set_new(object, "shapes", shapes);
    failed |= json_object_set_new(object, "caches", bench_caches_json(&limits->caches));
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

void bench_limits_print(const bench_limits *limits, FILE *out)
{
    for (int rate = BENCH_COPY; rate <= BENCH_FMA; rate++) {
        const launch_shape *best = &limits->best[rate];
        char text[96];
        describe(best, text, sizeof(text));
        fprintf(out, "%-5s %8.1f %s  (%s", rate_names[rate], best->best,
                rate == BENCH_FMA ? "GFLOP/s" : "GB/s   ", text);
        if (rate != BENCH_FMA)
            fprintf(out, ", arrays of %zu MiB", limits->array_bytes / MIB);
        fprintf(out, ")\n");
    }
    bench_caches_print(&limits->caches, out);
}
