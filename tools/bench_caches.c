// SPDX-License-Identifier: Apache-2.0
// Read and copy rates of caches: the widths of vectors tried, the best median counts.
#include "bench_caches.h"

#include "bench.h"
#include "progress.h"
#include "report.h"
#include "timing.h"

enum {
    RUNS = 9,
    WIDE_GROUP = 256,    // items, where those of a group run in parallel
    GROUPS_PER_UNIT = 4, // of them
    MOST_ROUNDS = 1 << 24,
};

static const double LONG_ENOUGH_MS = 2;

// One way to go through the units' shares of a cache.
typedef struct cache_launch {
    const bench_queue *queue;
    cl_kernel kernel;
    const cl_mem *arrays;
    bool copies;
    cl_int per_item, rounds;
    size_t local, global;
} cache_launch;

static cl_int set_argument(cl_int code, cl_kernel kernel, cl_uint i, size_t size, const void *value)
{
    return code == CL_SUCCESS ? clSetKernelArg(kernel, i, size, value) : code;
}

static bool time_once(const cache_launch *launch, double *ms, complaint *why)
{
    const cl_int moved = 0;
    const cl_uint unlikely = 0x9e3779b9;
    cl_int code = CL_SUCCESS;
    for (cl_uint i = 0; i < 2; i++)
        code = set_argument(code, launch->kernel, i, sizeof(cl_mem), &launch->arrays[i]);
    code = set_argument(code, launch->kernel, 2, sizeof(cl_int), &launch->per_item);
    code = set_argument(code, launch->kernel, 3, sizeof(cl_int), &launch->rounds);
    code = set_argument(code, launch->kernel, 4, sizeof(moved), &moved);
    if (!launch->copies)
        code = set_argument(code, launch->kernel, 5, sizeof(unlikely), &unlikely);
    const double start = timing_now_ms();
    if (code == CL_SUCCESS)
        code = clEnqueueNDRangeKernel(launch->queue->cl, launch->kernel, 1, NULL, &launch->global,
                                      &launch->local, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = clFinish(launch->queue->cl);
    *ms = timing_now_ms() - start;
    return code == CL_SUCCESS || complain_cl(why, "reading a cache", code);
}

static bool time_runs(const cache_launch *launch, timing *time, complaint *why)
{
    double runs[RUNS];
    for (int i = 0; i < RUNS; i++)
        if (!time_once(launch, &runs[i], why))
            return false;
    *time = timing_of(runs, RUNS);
    return true;
}

// Raises *best to the rate, of `bytes` a round. Launches of few rounds may be held up for long.
static bool time_launch(cache_launch *launch, double bytes, double *best, complaint *why)
{
    timing time;
    launch->rounds = 1;
    if (!time_once(launch, &time.min_ms, why)) // compiles
        return false;
    while (time_runs(launch, &time, why) && time.min_ms < LONG_ENOUGH_MS &&
           launch->rounds < MOST_ROUNDS)
        launch->rounds *= 2;
    if (!time_runs(launch, &time, why))
        return false;
    const double gbps = 1e-6 * bytes * launch->rounds / time.median_ms;
    if (gbps > *best)
        *best = gbps;
    return true;
}

// Words of `width` to a vector.
static bool measure_width(double *best, weft_context *ctx, cl_program program, cache_launch *launch,
                          uint64_t unit_bytes, int width, complaint *why)
{
    char name[24]; // room for any number, as compilers see it
    size_t most = 0;
    cl_int code;
    const bool is_gpu = weft_context_limits(ctx)->max_items_y > 1;
    snprintf(name, sizeof(name), "%s%d", launch->copies ? "recopy" : "reread", width);
    launch->local = is_gpu ? WIDE_GROUP : 1;
    const size_t groups =
        (size_t)weft_context_limits(ctx)->compute_units * (is_gpu ? GROUPS_PER_UNIT : 1);
    const uint64_t vectors = unit_bytes / (is_gpu ? GROUPS_PER_UNIT : 1) / (4 * (size_t)width);
    launch->global = groups * launch->local;
    launch->per_item = (cl_int)(vectors / launch->local / 4 * 4);
    if (launch->per_item == 0)
        return true;
    launch->kernel = clCreateKernel(program, name, &code);
    if (code != CL_SUCCESS)
        return complain_cl(why, "clCreateKernel", code);
    clGetKernelWorkGroupInfo(launch->kernel, weft_context_device(ctx), CL_KERNEL_WORK_GROUP_SIZE,
                             sizeof(most), &most, NULL);
    const double bytes = (double)launch->global * launch->per_item * width * 4;
    const bool ok =
        launch->local > most || time_launch(launch, launch->copies ? 2 * bytes : bytes, best, why);
    clReleaseKernel(launch->kernel);
    return ok;
}

static bool measure_level(bench_cache *level, weft_context *ctx, cl_program program,
                          cache_launch *launch, uint64_t unit_bytes, complaint *why)
{
    progress_show("limits: %s", level->name);
    for (int copies = 0; copies < 2; copies++)
        for (int width = 4; width <= 16; width *= 2) {
            launch->copies = copies;
            if (!measure_width(copies ? &level->copy : &level->read, ctx, program, launch,
                               unit_bytes / (copies ? 4 : 2), width, why))
                return false;
        }
    return true;
}

bool bench_caches_measure(bench_caches *out, weft_context *ctx, const bench_queue *queue,
                          cl_program program, const cl_mem arrays[2], size_t array_bytes,
                          complaint *why)
{
    const weft_limits *limits = weft_context_limits(ctx);
    const uint64_t units = (uint64_t)limits->compute_units;
    const bool is_last = limits->cache_bytes > limits->l2_bytes;
    const bench_cache levels[BENCH_CACHES] = {
        {.name = "L1", .bytes = limits->l1_bytes},
        {.name = "L2", .bytes = limits->l2_bytes},
        {.name = "last", .bytes = is_last ? limits->cache_bytes : 0},
    };
    cache_launch launch = {.queue = queue, .arrays = arrays};
    *out = (bench_caches){.n_levels = 0};
    for (int i = 0; i < BENCH_CACHES; i++) {
        const uint64_t unit_bytes = i < 2 ? levels[i].bytes : levels[i].bytes / units;
        bench_cache *level = &out->levels[out->n_levels];
        if (unit_bytes == 0 || unit_bytes * units > array_bytes)
            continue;
        *level = levels[i];
        level->together = unit_bytes * units;
        if (!measure_level(level, ctx, program, &launch, unit_bytes, why))
            return false;
        out->n_levels++;
    }
    return true;
}

const bench_cache *bench_caches_holding(const bench_caches *caches, double bytes)
{
    for (size_t i = 0; i < caches->n_levels; i++)
        if (bytes <= (double)caches->levels[i].together)
            return &caches->levels[i];
    return NULL;
}

json_t *bench_caches_json(const bench_caches *caches)
{
    json_t *list = json_array();
    for (size_t i = 0; i < caches->n_levels; i++) {
        const bench_cache *level = &caches->levels[i];
        json_t *object = json_object();
        json_object_set_new(object, "level", json_string(level->name));
        json_object_set_new(object, "bytes", json_integer((json_int_t)level->bytes));
        json_object_set_new(object, "read_gbps", report_number(level->read, 4));
        json_object_set_new(object, "copy_gbps", report_number(level->copy, 4));
        json_array_append_new(list, object);
    }
    return list;
}

void bench_caches_print(const bench_caches *caches, FILE *out)
{
    for (size_t i = 0; i < caches->n_levels; i++) {
        const bench_cache *level = &caches->levels[i];
        fprintf(out, "%-5s %8.1f GB/s read, %.1f copied  (a cache of %.4g MiB)\n", level->name,
                level->read, level->copy, (double)level->bytes / (1 << 20));
    }
}
