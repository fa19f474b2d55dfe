// SPDX-License-Identifier: Apache-2.0
// weft bench: the device's speed, and the share of it that the library's operations reach.
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench_axis.h"
#include "bench_chosen.h"
#include "bench_elementwise.h"
#include "bench_header.h"
#include "bench_host.h"
#include "bench_limits.h"
#include "bench_matmul.h"
#include "bench_request.h"
#include "bench_sparse.h"
#include "bench_spmm.h"
#include "bench_sweep.h"
#include "command.h"
#include "progress.h"

static const double SHORT_MS = 0.2;
static const double MOST_TO_UNPLANNED = 1.03; // a planned product's time, by chance

// Sets by name: besides those of bench_axis_cases.h and bench_sparse_cases.h.
enum {
    SET_SPMM = BENCH_SET_LAYERS,
    SET_ELEMENTWISE = 16,
    SET_MATMUL = 128,
    SET_HOST = 512,
    AXIS_SETS = BENCH_SET_REDUCE | BENCH_SET_SOFTMAX | BENCH_SET_NORM,
    SPARSE_SETS = BENCH_SET_LAYERS | BENCH_SET_SPGEMM | BENCH_SET_SDDMM | BENCH_SET_ATTENTION,
    ALL_SETS = SPARSE_SETS | SET_MATMUL | AXIS_SETS | SET_ELEMENTWISE | SET_HOST,
};

typedef struct bench_options {
    command_options common;
    unsigned sets; // bits; none: the limits alone
    bench_choice choice;
    const char *folder; // --data; NULL for none
} bench_options;

typedef struct bench_job {
    const bench_options *options;
    weft_context *ctx;
    bench_limits *limits;
    bench_sets sets;
    bench_cases cases;
    bench_rows sparse, matmul, axis, elementwise;
    bench_sweep sweep;
    bench_host host;
} bench_job;

void bench_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    progress_clear();
    fputs("weft bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

bool bench_chooses(const bench_choice *choice, const char *name)
{
    return choice->only == NULL || strstr(name, choice->only) != NULL;
}

static bool list_cases(bench_job *job, complaint *why)
{
    const bench_options *options = job->options;
    const unsigned sets = options->sets;
    const bench_lists lists = {.spmm = &job->sets,
                               .sparse = sets & SPARSE_SETS,
                               .axis = sets & AXIS_SETS,
                               .has_matmul = sets & SET_MATMUL,
                               .has_elementwise = sets & SET_ELEMENTWISE,
                               .has_host = sets & SET_HOST};
    if ((sets & SET_SPMM) &&
        !bench_sets_list(&job->sets, options->choice.quick, options->folder, why))
        return false;
    return command_open(&job->ctx, &options->common, why) &&
           bench_chooses_any(&options->choice, &lists, weft_context_limits(job->ctx), why);
}

static bool measure_limits(bench_job *job, complaint *why)
{
    if (!list_cases(job, why) || !bench_limits_create(&job->limits, job->ctx, why))
        return false;
    return job->options->choice.on_request ? bench_request_begin(job->ctx, why)
                                           : bench_limits_measure(job->limits, why);
}

static bool measure_sparse(bench_job *job, complaint *why)
{
    const bench_options *options = job->options;
    if (!bench_spmm_run(&job->cases, job->ctx, job->limits, &job->sets, &options->choice, why) ||
        !bench_sparse_run(&job->sparse, job->ctx, job->limits, options->sets & SPARSE_SETS,
                          &options->choice, why))
        return false;
    bench_cases_close(&job->cases);
    return true;
}

static bool measure_dense(bench_job *job, complaint *why)
{
    const bench_options *options = job->options;
    const bench_choice *choice = &options->choice;
    if ((options->sets & SET_MATMUL) &&
        (!bench_matmul_run(&job->matmul, job->ctx, job->limits, choice, why) ||
         !bench_sweep_run(&job->sweep, job->ctx, job->limits, choice, why)))
        return false;
    return bench_axis_run(&job->axis, job->ctx, job->limits, options->sets & AXIS_SETS, choice,
                          why) &&
           (!(options->sets & SET_ELEMENTWISE) ||
            bench_elementwise_run(&job->elementwise, job->ctx, job->limits, choice, why)) &&
           (!(options->sets & SET_HOST) || bench_host_run(&job->host, job->ctx, choice, why));
}

static bool measure(bench_job *job, complaint *why)
{
    if (!measure_limits(job, why) ||
        (job->options->sets != 0 && (!measure_sparse(job, why) || !measure_dense(job, why))))
        return false;
    const size_t n_cases = job->cases.count + job->sparse.count + job->matmul.count +
                           job->sweep.count + job->axis.count + job->elementwise.count +
                           job->host.count;
    const char *only = job->options->choice.only;
    return n_cases > 0 || only == NULL || job->options->choice.on_request ||
           complain(why, "none of the cases measured has '%s' in its name", only);
}

// Files that could not be read are a failure, but not of the cases.
static bool judge(const bench_job *job, complaint *why)
{
    const size_t n = job->cases.n_unread;
    return n == 0 || complain(why, "%s: %zu %s could not be read", job->options->folder, n,
                              n == 1 ? "file" : "files");
}

static json_t *unread_json(const bench_cases *cases)
{
    json_t *list = json_array();
    for (size_t i = 0; i < cases->n_unread; i++) {
        json_t *object = json_object();
        json_object_set_new(object, "file", report_text(cases->unread[i].path));
        json_object_set_new(object, "why", report_text(cases->unread[i].why.text));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *case_json(const bench_case *it)
{
    json_t *object = report_json(&it->report);
    json_object_set_new(object, "bound", json_string("FMA"));
    json_object_set_new(object, "planned", json_boolean(it->planned));
    if (it->is_file)
        json_object_set_new(object, "is_file", json_true());
    if (!isnan(it->to_unplanned))
        json_object_set_new(object, "to_unplanned", report_number(it->to_unplanned, 4));
    return object;
}

static bool print_json(const bench_job *job, complaint *why)
{
    json_t *object = json_object();
    json_t *cases = json_array();
    for (size_t i = 0; i < job->cases.count; i++)
        json_array_append_new(cases, case_json(&job->cases.items[i]));
    bench_rows_json(&job->sparse, cases);
    bench_rows_json(&job->matmul, cases);
    bench_rows_json(&job->axis, cases);
    bench_rows_json(&job->elementwise, cases);
    bench_host_json(&job->host, cases);
    json_object_set_new(object, "header", bench_header_json(job->ctx));
    json_object_set_new(object, "op", json_string("bench"));
    json_object_set_new(object, "device", report_text(weft_context_limits(job->ctx)->name));
    json_object_set_new(object, "limits", bench_limits_json(job->limits));
    json_object_set_new(object, "cases", cases);
    if (job->cases.n_unread > 0)
        json_object_set_new(object, "left_out", unread_json(&job->cases));
    if (job->sweep.count > 0)
        json_object_set_new(object, "sweep", bench_sweep_json(&job->sweep));
    return command_print_json(object, why);
}

static int name_width(const bench_cases *cases)
{
    size_t width = 0;
    for (size_t i = 0; i < cases->count; i++)
        if (strlen(cases->items[i].name) > width)
            width = strlen(cases->items[i].name);
    return (int)width;
}

static void print_row(const bench_case *it, int width)
{
    const timed_report *report = &it->report;
    char range[32];
    snprintf(range, sizeof(range), "%.3g to %.3g", report->time.min_ms, report->time.max_ms);
    printf("| %-*s | %-4s | %9.3g | %9.4g | %-16s | %7.1f | %5.2f |\n", width, it->name,
           it->planned ? "yes" : "no", report->setup_ms, report->time.median_ms, range,
           report->gflops, report->share);
}

static void print_rows(const bench_cases *cases)
{
    static const char dashes[] =
        "-----------------------------------------------------------------"
        "-----------------------------------------------------------------";
    const int width = name_width(cases);
    printf("\n| %-*s | %-4s | %9s | %9s | %-16s | %7s | %5s |\n", width, "case", "plan",
           "set-up ms", "median ms", "range", "GFLOP/s", "share");
    printf("|%.*s|%.6s|%.10s:|%.10s:|%.18s|%.8s:|%.6s:|\n", width + 2, dashes, dashes, dashes,
           dashes, dashes, dashes, dashes);
    for (size_t i = 0; i < cases->count; i++)
        print_row(&cases->items[i], width);
}

// Ratio of the first one's time to the second one's.
static double ratio(const bench_case *it, const bench_case *other)
{
    return it->report.time.median_ms / other->report.time.median_ms;
}

// The planned product by a matrix, for that by its transpose; NULL if it was not measured.
static const bench_case *plain_of(const bench_cases *cases, const bench_case *transposed)
{
    static const char suffix[] = "-transposed";
    const size_t length = strlen(transposed->name);
    const size_t plain = length < sizeof(suffix) ? 0 : length - (sizeof(suffix) - 1);
    if (strcmp(transposed->name + plain, suffix) != 0)
        return NULL;
    for (size_t i = 0; i < cases->count; i++) {
        const bench_case *it = &cases->items[i];
        if (it->planned && strlen(it->name) == plain &&
            strncmp(it->name, transposed->name, plain) == 0)
            return it;
    }
    return NULL;
}

static void print_transposed(const bench_cases *cases)
{
    const bench_case *slow = NULL, *plain_of_slow = NULL;
    for (size_t i = 0; i < cases->count; i++) {
        const bench_case *it = &cases->items[i], *plain = plain_of(cases, it);
        if (plain != NULL && (slow == NULL || ratio(it, plain) > ratio(slow, plain_of_slow))) {
            slow = it;
            plain_of_slow = plain;
        }
    }
    if (slow != NULL)
        printf("transposed: at most %.2f of the plain time (%s)\n", ratio(slow, plain_of_slow),
               slow->name);
}

// How often plans lose, by rounds in which both took their turns.
static void print_planned(const bench_cases *cases)
{
    const bench_case *worst = NULL;
    size_t count = 0, slower = 0;
    for (size_t i = 0; i < cases->count; i++) {
        const bench_case *it = &cases->items[i];
        if (isnan(it->to_unplanned))
            continue;
        count++;
        slower += it->to_unplanned > MOST_TO_UNPLANNED;
        if (worst == NULL || it->to_unplanned > worst->to_unplanned)
            worst = it;
    }
    if (worst != NULL)
        printf("\ntime with a plan: in %zu of %zu cases more than %.2f of that without, at most "
               "%.2f (%s)\n",
               slower, count, MOST_TO_UNPLANNED, worst->to_unplanned, worst->name);
}

// The worst comparable values of the table, among cases that are long enough.
static void print_summary(const bench_cases *cases)
{
    const bench_case *items = cases->items;
    const bench_case *slow = NULL, *unplanned = NULL, *uneven = NULL;
    for (size_t i = 0; i < cases->count; i++) {
        const bench_case *it = &items[i];
        const timed_report *report = &it->report;
        if (report->time.median_ms < SHORT_MS)
            continue;
        if (report->dtype == WEFT_F32 && report->n >= 128 && report->nnz >= 50 * report->m &&
            it->is_layer && (slow == NULL || report->share < slow->report.share))
            slow = it;
        if (!it->planned &&
            (unplanned == NULL || ratio(it, it - 1) > ratio(unplanned, unplanned - 1)))
            unplanned = it;
        if (it->even != i &&
            (uneven == NULL || ratio(it, &items[it->even]) > ratio(uneven, &items[uneven->even])))
            uneven = it;
    }
    if (slow != NULL || unplanned != NULL || uneven != NULL)
        printf("\nOf the cases that take %g ms and more:\n", SHORT_MS);
    if (slow != NULL)
        printf("share of pruned f32 layers, 50 non-zeros a row and more, n 128 and more: at least "
               "%.2f (%s)\n",
               slow->report.share, slow->name);
    if (unplanned != NULL)
        printf("time without a plan: at most %.2f of that with one (%s)\n",
               ratio(unplanned, unplanned - 1), unplanned->name);
    if (uneven != NULL)
        printf("speed with uneven rows: at least %.2f of that with even ones (%s, %s)\n",
               1 / ratio(uneven, &items[uneven->even]), uneven->name,
               uneven->planned ? "planned" : "not planned");
}

// The dense product of a sparse one's sizes; NULL where none was measured.
static const timed_report *dense_of(const bench_rows *rows, const timed_report *sparse)
{
    for (size_t i = 0; i < rows->count; i++) {
        const timed_report *dense = &rows->items[i].report;
        if (dense->dtype == sparse->dtype && dense->batch == 1 && dense->m == sparse->m &&
            dense->k == sparse->k && dense->n == sparse->n)
            return dense;
    }
    return NULL;
}

// Products with a plan, and layers as they are trained, at 90% zeros, against dense products.
static void print_products(const bench_job *job)
{
    const bench_case *least = NULL;
    double least_ratio = 0;
    for (size_t i = 0; i < job->cases.count; i++) {
        const bench_case *it = &job->cases.items[i];
        const timed_report *sparse = &it->report, *dense = dense_of(&job->matmul, sparse);
        const int64_t tenth = sparse->m * sparse->k / 10;
        if (dense == NULL || !it->is_layer || !it->planned || sparse->nnz != tenth)
            continue;
        const double faster = dense->time.median_ms / sparse->time.median_ms;
        if (least == NULL || faster < least_ratio) {
            least = it;
            least_ratio = faster;
        }
    }
    if (least != NULL)
        printf("pruned products at 90%% zeros: at least %.1f times as fast as the dense one (%s)\n",
               least_ratio, least->name);
}

static void print_layers(const bench_job *job)
{
    const bench_row *least = NULL;
    double least_ratio = 0;
    for (size_t i = 0; i < job->sparse.count; i++) {
        const bench_row *it = &job->sparse.items[i];
        const timed_report *dense =
            it->goal == BENCH_LAYER_PASS ? dense_of(&job->matmul, &it->report) : NULL;
        const double faster = dense == NULL ? 0 : dense->time.median_ms / it->report.time.median_ms;
        if (dense != NULL && (least == NULL || faster < least_ratio)) {
            least = it;
            least_ratio = faster;
        }
    }
    if (least != NULL)
        printf("layers at 90%% zeros, forward and by the input: at least %.1f times as fast as the "
               "dense product (%s)\n",
               least_ratio, least->name);
}

static void print_table(const bench_job *job)
{
    printf("%s\n\n", weft_context_limits(job->ctx)->name);
    bench_limits_print(job->limits, stdout);
    if (job->cases.count > 0) {
        print_rows(&job->cases);
        print_planned(&job->cases);
        print_summary(&job->cases);
        print_transposed(&job->cases);
    }
    bench_sparse_print(&job->sparse, stdout);
    bench_matmul_print(&job->matmul, stdout);
    bench_sweep_print(&job->sweep, stdout);
    print_products(job);
    print_layers(job);
    bench_axis_print(&job->axis, stdout);
    bench_elementwise_print(&job->elementwise, stdout);
    bench_host_print(&job->host, stdout);
}

static bool print(const bench_job *job, complaint *why)
{
    if (job->options->choice.on_request)
        return true; // each answer was
    if (job->options->common.json)
        return print_json(job, why);
    print_table(job);
    return true;
}

static void clean_up(bench_job *job)
{
    bench_cases_free(&job->cases);
    bench_rows_free(&job->sparse);
    bench_rows_free(&job->matmul);
    bench_rows_free(&job->axis);
    bench_rows_free(&job->elementwise);
    bench_sets_free(&job->sets);
    bench_limits_destroy(&job->limits);
    weft_context_destroy(&job->ctx);
}

enum { OPTION_DATA = 256, OPTION_PATTERNS, OPTION_ONLY, OPTION_ON_REQUEST };

static error_t take_what(bench_options *bench, const char *what, struct argp_state *state)
{
    static const struct {
        const char *name;
        unsigned sets;
    } words[] = {
        {"limits", 0},
        {"spmm", SET_SPMM},
        {"spgemm", BENCH_SET_SPGEMM},
        {"sddmm", BENCH_SET_SDDMM},
        {"attention", BENCH_SET_ATTENTION},
        {"matmul", SET_MATMUL},
        {"reduce", BENCH_SET_REDUCE},
        {"softmax", BENCH_SET_SOFTMAX},
        {"norm", BENCH_SET_NORM},
        {"elementwise", SET_ELEMENTWISE},
        {"host", SET_HOST},
        {"all", ALL_SETS},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(what, words[i].name) == 0) {
            bench->sets |= words[i].sets;
            return 0;
        }
    argp_error(state,
               "'%s' is none of limits, spmm, spgemm, sddmm, attention, matmul, reduce, "
               "softmax, norm, elementwise and all",
               what);
    return EINVAL;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    bench_options *bench = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &bench->common;
        return 0;
    case ARGP_KEY_ARG:
        return take_what(bench, argument, state);
    case ARGP_KEY_NO_ARGS:
        bench->sets = ALL_SETS;
        return 0;
    case ARGP_KEY_END:
        if (bench->folder != NULL && !(bench->sets & SET_SPMM))
            argp_error(state, "--data needs the set spmm");
        return 0;
    case 'q':
        bench->choice.quick = true;
        return 0;
    case OPTION_ONLY:
        bench->choice.only = argument;
        return 0;
    case OPTION_DATA:
        bench->folder = argument;
        return 0;
    case OPTION_ON_REQUEST:
        bench->choice.on_request = true;
        return 0;
    case OPTION_PATTERNS:
        bench->choice.patterns = argument;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void parse(bench_options *out, int argc, char **argv)
{
    static const struct argp_option options[] = {
        {"quick", 'q', NULL, 0, "Measure few cases with few runs: seconds instead of minutes", 0},
        {"only", OPTION_ONLY, "TEXT", 0,
         "Measure only cases with TEXT in their names. Sets of SpMM, whose cases alternate, are "
         "measured as a whole. Dense products of random shapes are one case, \"random\"",
         0},
        {"data", OPTION_DATA, "DIR", 0,
         "Also measure SpMM with every .mtx, .smtx and .csr file in DIR and in its folders", 0},
        {"patterns", OPTION_PATTERNS, "DIR", 0,
         "Write the positions of the non-zeros of each sparse case to DIR/CASE.offsets.npy and "
         "DIR/CASE.indices.npy",
         0},
        {"on-request", OPTION_ON_REQUEST, NULL, 0,
         "Print what the cases are, one after another as lines of JSON, and time each as lines of "
         "standard input say: \"queue 0 10\" (enqueues case 0 of the line 10 times and waits "
         "once), \"wait 0 10\" (waits for each call), \"queue launch 10\" (an empty kernel), "
         "\"next\". No limits are measured",
         0},
        {0},
    };
    static const struct argp_child children[] = {{&command_argp, 0, "", 0}, {0}};
    static const struct argp parser = {
        .options = options,
        .parser = parse_option,
        .args_doc = "[limits|spmm|spgemm|sddmm|attention|matmul|reduce|softmax|norm|elementwise|"
                    "host|all ...]",
        .doc = "Measure the limits of the device (copy, read, multiply-add) and the share of a "
               "limit that each operation reaches. The limit is the rate of f32 multiply-adds for "
               "SpMM, sparse layers, SDDMM, attention and dense products (of reading or copying "
               "for thin ones), of reading for reductions, and of copying for softmax (also of "
               "sparse rows), normalisation, SpGEMM and elementwise operations. host is the CPU "
               "time of a "
               "repeated call, beside the bare OpenCL calls that it makes."
               "\vWithout "
               "arguments: all. The limit of a case (\"bound\" and \"limit\" in JSON) is measured "
               "alternately with the case, and the share is the median of the shares of "
               "neighbouring runs. That of a case whose operands caches hold is the cache's rate, "
               "measured beforehand, and nothing runs between. Calls of up to 10 ms are enqueued "
               "back to back and timed from "
               "end to end if the device has a clock; the host waits for each of the others. Cases "
               "bound by memory are timed after a pause of 2.5 s, but not small cases and not with "
               "--quick. Dense products of random shapes also report the number of programs.",
        .children = children,
    };
    *out = (bench_options){0};
    argp_parse(&parser, argc, argv, 0, NULL, out);
}

int weft_bench_main(int argc, char **argv)
{
    bench_options options;
    bench_job job = {.options = &options};
    complaint why;
    parse(&options, argc, argv);
    const bool done = measure(&job, &why) && print(&job, &why) && judge(&job, &why);
    progress_clear();
    clean_up(&job);
    return done ? EXIT_SUCCESS : command_failed(argv[0], &why);
}
