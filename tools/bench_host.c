// SPDX-License-Identifier: Apache-2.0
// Every operation on 16 x 16 matrices, called again and again.
#include "bench_host.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weft/weft.h>

#include "buffer.h"
#include "progress.h"
#include "report.h"

enum {
    N = 16,          // rows and columns
    ROW_ENTRIES = 4, // of a sparse row
    N_BUFFERS = 6,   // of dense matrices
    N_ARRAYS = 3,    // of a sparse matrix
    CALLS = 256,     // that are timed together
    ROUNDS = 24,     // of them; the least counts, since others' work only adds
    QUICK_ROUNDS = 5,
};

// The pattern that each sparse matrix has, on the host.
typedef struct pattern {
    cl_int offsets[N + 1], indices[N * ROW_ENTRIES], rows[N];
    cl_float values[N * ROW_ENTRIES];
} pattern;

// The operands, on a device or in a rehearsal.
typedef struct bench_stage {
    weft_context *ctx;
    cl_command_queue queue;
    bool rehearses;
    cl_mem buffers[N_BUFFERS], arrays[N_ARRAYS], rows, out_arrays[N_ARRAYS];
    weft_tensor X, Y, Z, W, row, column, values, gradient;
    weft_csr A, T;
    weft_dcsr D;
    weft_spmm_plan *plan, *transposed_plan;
    weft_elementwise_plan *formula_plan;
} bench_stage;

// ---- the operations

#define CTX s->ctx, s->queue

static weft_status call_softmax(const bench_stage *s)
{
    return weft_softmax(CTX, 1, &s->X, -1, &s->Y, NULL);
}

static weft_status call_softmax_backward(const bench_stage *s)
{
    return weft_softmax_backward(CTX, 1, &s->X, &s->Y, -1, &s->Z, NULL);
}

static weft_status call_layer_norm(const bench_stage *s)
{
    return weft_layer_norm(CTX, 1e-5, &s->X, 1, &s->Y,
                           WEFT_NORM(.weight = &s->row, .bias = &s->column));
}

static weft_status call_layer_norm_backward(const bench_stage *s)
{
    return weft_layer_norm_backward(CTX, 1e-5, &s->X, 1, &s->Y, &s->Z, NULL);
}

static weft_status call_reduce(const bench_stage *s)
{
    return weft_reduce(CTX, WEFT_SUM, &s->X, 1, (int[]){1}, &s->row, NULL);
}

static weft_status call_matmul(const bench_stage *s)
{
    return weft_matmul(CTX, 1, &s->X, &s->Y, 0, &s->Z, NULL);
}

static weft_status elementwise(const bench_stage *s, const weft_elementwise_plan *plan)
{
    const weft_elementwise_input inputs[] = {{"x", &s->X}, {"y", &s->Y}};
    const weft_elementwise_output output = {"x + y", &s->Z};
    return weft_elementwise(CTX, 2, inputs, 1, &output, WEFT_ELEMENTWISE(.plan = plan));
}

static weft_status call_elementwise(const bench_stage *s)
{
    return elementwise(s, NULL);
}

static weft_status call_elementwise_planned(const bench_stage *s)
{
    return elementwise(s, s->formula_plan);
}

static weft_status call_spmm(const bench_stage *s)
{
    return weft_spmm(CTX, 1, &s->A, &s->X, 0, &s->Y, NULL);
}

static weft_status call_spmm_planned(const bench_stage *s)
{
    return weft_spmm(CTX, 1, &s->A, &s->X, 0, &s->Y, WEFT_SPMM(.plan = s->plan));
}

static weft_status call_spmm_transposed(const bench_stage *s)
{
    return weft_spmm(CTX, 1, &s->A, &s->X, 0, &s->Y,
                     WEFT_SPMM(.plan = s->transposed_plan, .transpose_a = true));
}

static weft_status call_spmm_dcsr(const bench_stage *s)
{
    return weft_spmm_dcsr(CTX, 1, &s->D, &s->X, 0, &s->Y, NULL);
}

static weft_status call_sddmm(const bench_stage *s)
{
    return weft_sddmm(CTX, 1, &s->X, &s->Y, &s->A, 0, &s->gradient, NULL);
}

static weft_status call_sddmm_sparse(const bench_stage *s)
{
    const weft_factor A = {.sparse = &s->A}, B = {.dense = &s->X};
    return weft_sddmm_sparse(CTX, 1, &A, &B, &s->A, 0, &s->gradient, NULL);
}

static weft_status call_sparse_softmax(const bench_stage *s)
{
    return weft_sparse_softmax(CTX, 1, &s->A, &s->gradient, NULL);
}

static weft_status call_sparse_softmax_backward(const bench_stage *s)
{
    return weft_sparse_softmax_backward(CTX, 1, &s->A, &s->gradient, &s->gradient, NULL);
}

static weft_status call_sparse_attention(const bench_stage *s)
{
    return weft_sparse_attention(CTX, 1, &s->X, &s->Y, &s->Z, &s->A, &s->W, NULL);
}

static weft_status call_sparse_linear(const bench_stage *s)
{
    return weft_sparse_linear(CTX, &s->A, &s->X, &s->Y, NULL);
}

static weft_status call_sparse_linear_dx(const bench_stage *s)
{
    return weft_sparse_linear_dx(CTX, &s->A, &s->X, &s->Y,
                                 WEFT_SPARSE_LINEAR(.plan = s->transposed_plan));
}

static weft_status call_sparse_linear_dw(const bench_stage *s)
{
    return weft_sparse_linear_dw(CTX, &s->X, &s->Y, &s->A, &s->gradient, NULL);
}

static weft_status call_spgemm_dense(const bench_stage *s)
{
    return weft_spgemm_dense(CTX, 1, &s->A, &s->A, 0, &s->Y, NULL);
}

static weft_status call_csr_transpose(const bench_stage *s)
{
    return weft_csr_transpose(CTX, &s->A, &s->T, NULL);
}

static weft_status call_csr_to_dense(const bench_stage *s)
{
    return weft_csr_to_dense(CTX, &s->A, &s->Y, NULL);
}

static weft_status call_dcsr_to_csr(const bench_stage *s)
{
    return weft_dcsr_to_csr(CTX, &s->D, &s->T, NULL);
}

static const struct host_case {
    const char *name;
    weft_status (*call)(const bench_stage *s);
} host_cases[] = {
    {"host-softmax", call_softmax},
    {"host-softmax_backward", call_softmax_backward},
    {"host-layer_norm", call_layer_norm},
    {"host-layer_norm_backward", call_layer_norm_backward},
    {"host-reduce", call_reduce},
    {"host-matmul", call_matmul},
    {"host-elementwise", call_elementwise},
    {"host-elementwise-planned", call_elementwise_planned},
    {"host-spmm", call_spmm},
    {"host-spmm-planned", call_spmm_planned},
    {"host-spmm-transposed", call_spmm_transposed},
    {"host-spmm_dcsr", call_spmm_dcsr},
    {"host-sddmm", call_sddmm},
    {"host-sddmm_sparse", call_sddmm_sparse},
    {"host-sparse_softmax", call_sparse_softmax},
    {"host-sparse_softmax_backward", call_sparse_softmax_backward},
    {"host-sparse_attention", call_sparse_attention},
    {"host-sparse_linear", call_sparse_linear},
    {"host-sparse_linear_dx", call_sparse_linear_dx},
    {"host-sparse_linear_dw", call_sparse_linear_dw},
    {"host-spgemm_dense", call_spgemm_dense},
    {"host-csr_transpose", call_csr_transpose},
    {"host-csr_to_dense", call_csr_to_dense},
    {"host-dcsr_to_csr", call_dcsr_to_csr},
};

enum { N_CASES = sizeof(host_cases) / sizeof(host_cases[0]) };
_Static_assert((int)N_CASES <= (int)BENCH_HOST_MOST, "rows are as many as cases");

bool bench_host_has(const bench_choice *choice)
{
    for (size_t i = 0; i < N_CASES; i++)
        if (bench_chooses(choice, host_cases[i].name))
            return true;
    return false;
}

// ---- operands

static void pattern_fill(pattern *p)
{
    for (int row = 0; row <= N; row++)
        p->offsets[row] = row * ROW_ENTRIES;
    for (int i = 0; i < N * ROW_ENTRIES; i++) {
        p->indices[i] = i % ROW_ENTRIES * (N / ROW_ENTRIES) + i / ROW_ENTRIES % (N / ROW_ENTRIES);
        p->values[i] = 1;
    }
    for (int row = 0; row < N; row++)
        p->rows[row] = row;
}

static bool make_buffer(cl_mem *out, const bench_stage *s, size_t bytes, const void *data,
                        complaint *why)
{
    if (!s->rehearses)
        return buffer_create(out, s->ctx, data, bytes, "an operand", why);
    *out = weft_rehearsal_buffer(s->ctx, data);
    return *out != NULL || complain(why, "a rehearsal has no more buffers");
}

static bool make_csr(cl_mem arrays[N_ARRAYS], weft_csr *out, const bench_stage *s, const pattern *p,
                     complaint *why)
{
    if (!make_buffer(&arrays[0], s, sizeof(p->offsets), p->offsets, why) ||
        !make_buffer(&arrays[1], s, sizeof(p->indices), p->indices, why) ||
        !make_buffer(&arrays[2], s, sizeof(p->values), p->values, why))
        return false;
    *out = (weft_csr){.n_rows = N,
                      .n_cols = N,
                      .nnz = N * ROW_ENTRIES,
                      .offsets = arrays[0],
                      .indices = arrays[1],
                      .values = arrays[2]};
    return true;
}

static weft_tensor line(cl_mem buffer, int64_t n)
{
    return (weft_tensor){.buffer = buffer, .ndim = 1, .shape = {n}, .stride = {1}};
}

static bool make_dense(bench_stage *s, complaint *why)
{
    static const cl_float ones[N * N] = {1, 1, 1, 1};
    for (int i = 0; i < N_BUFFERS; i++)
        if (!make_buffer(&s->buffers[i], s, sizeof(ones), ones, why))
            return false;
    weft_tensor *const matrices[] = {&s->X, &s->Y, &s->Z, &s->W};
    for (int i = 0; i < 4; i++)
        *matrices[i] = weft_matrix(s->buffers[i], WEFT_F32, N, N);
    s->row = line(s->buffers[4], N);
    s->column = line(s->buffers[5], N);
    s->gradient = line(s->buffers[5], N * ROW_ENTRIES);
    return true;
}

static weft_status make_plans(bench_stage *s)
{
    const weft_elementwise_input inputs[] = {{"x", &s->X}, {"y", &s->Y}};
    const weft_elementwise_output output = {"x + y", &s->Z};
    weft_status status = weft_spmm_plan_create(&s->plan, CTX, &s->A, NULL);
    if (status == WEFT_OK)
        status = weft_spmm_plan_create(&s->transposed_plan, CTX, &s->A,
                                       WEFT_SPMM_PLAN(.transpose_a = true));
    if (status == WEFT_OK)
        status =
            weft_elementwise_plan_create(&s->formula_plan, s->ctx, 2, inputs, 1, &output, NULL);
    return status;
}

static bool stage_create(bench_stage *s, const pattern *p, complaint *why)
{
    if (!make_csr(s->arrays, &s->A, s, p, why) || !make_csr(s->out_arrays, &s->T, s, p, why) ||
        !make_buffer(&s->rows, s, sizeof(p->rows), p->rows, why) || !make_dense(s, why))
        return false;
    s->D = (weft_dcsr){.n_rows = N,
                       .n_cols = N,
                       .n_stored = N,
                       .nnz = s->A.nnz,
                       .rows = s->rows,
                       .offsets = s->A.offsets,
                       .indices = s->A.indices,
                       .values = s->A.values};
    return make_plans(s) == WEFT_OK || complain_weft(why);
}

static void release(const bench_stage *s, cl_mem *buffers, size_t n)
{
    for (size_t i = 0; i < n && !s->rehearses; i++)
        buffer_release(&buffers[i]);
}

static void stage_destroy(bench_stage *s)
{
    weft_spmm_plan_destroy(&s->plan);
    weft_spmm_plan_destroy(&s->transposed_plan);
    weft_elementwise_plan_destroy(&s->formula_plan);
    release(s, s->buffers, N_BUFFERS);
    release(s, s->arrays, N_ARRAYS);
    release(s, s->out_arrays, N_ARRAYS);
    release(s, &s->rows, 1);
}

// ---- bare calls

enum { MOST_LAUNCHES = 8, MOST_ARGUMENTS = 72, LINE = 24 };

// Kernels that take as many arguments as a call's do, and do nothing.
typedef struct bare_calls {
    cl_program program;
    cl_kernel kernels[MOST_LAUNCHES];
    size_t n_arguments[MOST_LAUNCHES], n_launches;
} bare_calls;

static cl_program build(const weft_context *ctx, const bare_calls *bare)
{
    enum { ROOM = MOST_LAUNCHES * (MOST_ARGUMENTS * LINE + 64) };
    char *text = malloc(ROOM);
    cl_int code = CL_OUT_OF_HOST_MEMORY;
    cl_program program = NULL;
    size_t length = 0;
    for (size_t i = 0; text && i < bare->n_launches; i++) {
        length += (size_t)snprintf(text + length, ROOM - length, "kernel void bare%zu(", i);
        for (size_t j = 0; j < bare->n_arguments[i]; j++)
            length +=
                (size_t)snprintf(text + length, ROOM - length, "%slong a%zu", j ? ", " : "", j);
        length += (size_t)snprintf(text + length, ROOM - length, ") {}\n");
    }
    if (text)
        program =
            clCreateProgramWithSource(weft_context_cl(ctx), 1, (const char **)&text, NULL, &code);
    if (program && clBuildProgram(program, 0, NULL, "", NULL, NULL) != CL_SUCCESS) {
        clReleaseProgram(program);
        program = NULL;
    }
    free(text);
    return program;
}

static bool bare_create(bare_calls *bare, const weft_context *ctx, const weft_rehearsal *told,
                        complaint *why)
{
    *bare = (bare_calls){0};
    for (size_t i = 0; i < told->n_launches; i++)
        for (int64_t j = 0; j < told->launches[i].times; j++) {
            if (bare->n_launches == MOST_LAUNCHES)
                return complain(why, "a call has more than %d launches", MOST_LAUNCHES);
            bare->n_arguments[bare->n_launches++] = told->launches[i].n_arguments;
        }
    bare->program = build(ctx, bare);
    for (size_t i = 0; bare->program && i < bare->n_launches; i++) {
        char name[32];
        snprintf(name, sizeof(name), "bare%zu", i);
        bare->kernels[i] = clCreateKernel(bare->program, name, NULL);
        if (!bare->kernels[i])
            return complain(why, "an empty kernel cannot be made");
    }
    return bare->program || complain(why, "empty kernels cannot be built");
}

static void bare_destroy(bare_calls *bare)
{
    for (size_t i = 0; i < bare->n_launches; i++)
        if (bare->kernels[i])
            clReleaseKernel(bare->kernels[i]);
    if (bare->program)
        clReleaseProgram(bare->program);
}

static cl_int bare_call(const bare_calls *bare, cl_command_queue queue)
{
    static const size_t one[3] = {1, 1, 1};
    cl_int code = CL_SUCCESS;
    for (size_t i = 0; code == CL_SUCCESS && i < bare->n_launches; i++) {
        const cl_long value = 0;
        for (cl_uint j = 0; code == CL_SUCCESS && j < bare->n_arguments[i]; j++)
            code = clSetKernelArg(bare->kernels[i], j, sizeof(value), &value);
        if (code == CL_SUCCESS)
            code =
                clEnqueueNDRangeKernel(queue, bare->kernels[i], 3, NULL, one, one, 0, NULL, NULL);
    }
    return code;
}

// ---- measuring

static double cpu_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static void lower(double *least, double us)
{
    *least = *least == 0 || us < *least ? us : *least;
}

// One round of each.
static bool time_round(bench_host_row *row, const bench_stage *s, const struct host_case *it,
                       const bare_calls *bare, complaint *why)
{
    double start = cpu_us();
    for (int i = 0; i < CALLS; i++)
        if (it->call(s) != WEFT_OK)
            return complain(why, "%s: %s", it->name, weft_last_error());
    lower(&row->call_us, (cpu_us() - start) / CALLS);
    cl_int code = clFinish(s->queue);
    start = cpu_us();
    for (int i = 0; code == CL_SUCCESS && i < CALLS; i++)
        code = bare_call(bare, s->queue);
    lower(&row->bare_us, (cpu_us() - start) / CALLS);
    if (code == CL_SUCCESS)
        code = clFinish(s->queue);
    return code == CL_SUCCESS || complain_cl(why, "an empty kernel", code);
}

// What a call would enqueue.
static const weft_rehearsal *rehearse(const bench_stage *rehearsal, const struct host_case *it,
                                      complaint *why)
{
    weft_rehearsal_begin(rehearsal->ctx);
    if (it->call(rehearsal) != WEFT_OK) {
        (void)complain(why, "%s: %s", it->name, weft_last_error());
        return NULL;
    }
    const weft_rehearsal *told = weft_rehearsal_end(rehearsal->ctx);
    if (!told)
        (void)complain(why, "no memory for a rehearsal");
    return told;
}

static bool measure(bench_host_row *row, const bench_stage *s, const bench_stage *rehearsal,
                    const struct host_case *it, bool quick, complaint *why)
{
    bare_calls bare = {0};
    const weft_rehearsal *told = rehearse(rehearsal, it, why);
    bool ok = told && bare_create(&bare, s->ctx, told, why);
    *row = (bench_host_row){.name = it->name, .n_launches = bare.n_launches};
    for (size_t i = 0; i < bare.n_launches; i++)
        row->n_arguments += bare.n_arguments[i];
    for (int round = 0; ok && round < (quick ? QUICK_ROUNDS : ROUNDS); round++)
        ok = time_round(row, s, it, &bare, why);
    bare_destroy(&bare);
    return ok;
}

static bool measure_all(bench_host *out, const bench_stage *s, const bench_stage *rehearsal,
                        const bench_choice *choice, complaint *why)
{
    for (size_t i = 0; i < N_CASES; i++) {
        const struct host_case *it = &host_cases[i];
        if (!bench_chooses(choice, it->name))
            continue;
        progress_show("%s", it->name);
        if (!measure(&out->rows[out->count++], s, rehearsal, it, choice->quick, why))
            return false;
    }
    return true;
}

bool bench_host_run(bench_host *out, weft_context *ctx, const bench_choice *choice, complaint *why)
{
    pattern p;
    bench_stage real = {.ctx = ctx, .queue = weft_context_queue(ctx)};
    bench_stage rehearsal = {.rehearses = true};
    *out = (bench_host){0};
    pattern_fill(&p);
    const bool ok =
        (weft_rehearsal_create(&rehearsal.ctx, NULL, ctx) == WEFT_OK || complain_weft(why)) &&
        stage_create(&real, &p, why) && stage_create(&rehearsal, &p, why) &&
        measure_all(out, &real, &rehearsal, choice, why);
    if (real.queue)
        clFinish(real.queue);
    stage_destroy(&real);
    stage_destroy(&rehearsal);
    weft_context_destroy(&rehearsal.ctx);
    return ok;
}

// ---- what they came to

void bench_host_json(const bench_host *host, json_t *cases)
{
    for (size_t i = 0; i < host->count; i++) {
        const bench_host_row *row = &host->rows[i];
        json_array_append_new(cases,
                              json_pack("{s: s, s: s, s: I, s: I, s: o, s: o}", "case", row->name,
                                        "op", "host", "launches", (json_int_t)row->n_launches,
                                        "arguments", (json_int_t)row->n_arguments, "call_us",
                                        report_number(row->call_us, 4), "bare_us",
                                        report_number(row->bare_us, 4)));
    }
}

void bench_host_print(const bench_host *host, FILE *out)
{
    const bench_host_row *most = NULL;
    if (host->count > 0)
        fprintf(out,
                "\n| %-28s | launches | arguments | call us | bare us | above us |\n"
                "|------------------------------|---------:|----------:|--------:|--------:|"
                "---------:|\n",
                "case");
    for (size_t i = 0; i < host->count; i++) {
        const bench_host_row *row = &host->rows[i];
        const double above = row->call_us - row->bare_us;
        fprintf(out, "| %-28s | %8zu | %9zu | %7.2f | %7.2f | %8.2f |\n", row->name,
                row->n_launches, row->n_arguments, row->call_us, row->bare_us, above);
        if (!most || above > most->call_us - most->bare_us)
            most = row;
    }
    if (most)
        fprintf(out, "\nhost time of a call: at most %.2f us above its bare calls (%s)\n",
                most->call_us - most->bare_us, most->name);
}
