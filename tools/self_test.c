// SPDX-License-Identifier: Apache-2.0
// weft self-test: every operation on this device against references on the host.
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "facts.h"
#include "progress.h"
#include "report.h"
#include "self_test_run.h"
#include "timing.h"

enum { MOST_CHECKS = 256, INDENT = 18 };

typedef struct self_test_job {
    command_options common;
    bool is_chosen[MOST_CHECKS]; // by check
    json_t *checks;              // NULL: lines at once
    self_test_device device;
    int n_right, n_wrong, n_failed, n_skipped;
    double start_ms, seconds; // of all, some of which ran in parallel
} self_test_job;

// ---- what came of a check

static const char *verdict_of(const self_test_result *result)
{
    return result->is_skipped    ? "skipped"
           : result->n_wrong > 0 ? "wrong"
           : result->has_failed  ? "failed"
                                 : "ok";
}

static void count(self_test_job *job, const self_test_result *result)
{
    job->n_skipped += result->is_skipped;
    job->n_wrong += result->n_wrong > 0;
    job->n_failed += result->n_wrong == 0 && result->has_failed;
    job->n_right += !result->is_skipped && !result->has_failed && result->n_wrong == 0;
}

static const char *const WHY_SKIPPED = "weft has no double arithmetic on this device";

static json_t *check_json(const self_check *check, const self_test_result *result)
{
    json_t *object = json_object();
    char bits[17];
    json_object_set_new(object, "op", json_string(check->op));
    json_object_set_new(object, "variant", json_string(check->variant));
    json_object_set_new(object, "dtype", json_string(weft_dtype_name(check->dtype)));
    json_object_set_new(object, "verdict", json_string(verdict_of(result)));
    json_object_set_new(object, "seconds", report_number(result->seconds, 4));
    json_object_set_new(object, "results", json_integer(result->n_results));
    json_object_set_new(object, "wrong", json_integer(result->n_wrong));
    snprintf(bits, sizeof(bits), "%016" PRIx64, result->bits);
    json_object_set_new(object, "bits", json_string(bits));
    if (result->n_wrong > 0) {
        json_object_set_new(object, "case", report_text(result->text));
        json_object_set_new(object, "plan", report_text(result->plan));
        json_object_set_new(object, "difference", report_text(result->difference));
    }
    if (result->is_skipped || result->has_failed)
        json_object_set_new(object, "why",
                            report_text(result->is_skipped ? WHY_SKIPPED : result->why.text));
    return object;
}

static void print_detail(const char *label, const char *text)
{
    if (text[0] != '\0')
        printf("%*s%-10s %s\n", INDENT, "", label, text);
}

static void print_check(const self_check *check, const self_test_result *result)
{
    const bool is_right = result->n_wrong == 0 && !result->has_failed;
    char verdict[16];
    snprintf(verdict, sizeof(verdict), "%s", verdict_of(result));
    for (char *c = verdict; !is_right && *c != '\0'; c++)
        *c = (char)toupper((unsigned char)*c);
    printf("%-8s %6.2f s  %s%s%s\n", verdict, result->seconds, check->op,
           check->variant[0] != '\0' ? ": " : "", check->variant);
    if (result->n_wrong > 0) {
        print_detail("case", result->text);
        print_detail("plan", result->plan);
        print_detail("difference", result->difference);
    }
    if (result->is_skipped || result->has_failed)
        print_detail("why", result->is_skipped ? WHY_SKIPPED : result->why.text);
    fflush(stdout);
}

static void on_result(void *user, size_t i, const self_test_result *result)
{
    self_test_job *job = user;
    count(job, result);
    progress_clear();
    if (job->checks != NULL)
        json_array_append_new(job->checks, check_json(self_check_at(i), result));
    else
        print_check(self_check_at(i), result);
}

// Most of the time is compilation, which shows no other progress.
static void on_wait(void *user, size_t i, size_t n_done, size_t n_chosen)
{
    const self_test_job *job = user;
    const self_check *check = self_check_at(i);
    progress_show("%zu of %zu done in %.0f s; compiling or running %s%s%s", n_done, n_chosen,
                  1e-3 * (timing_now_ms() - job->start_ms), check->op,
                  check->variant[0] != '\0' ? ": " : "", check->variant);
}

// ---- the device

static void on_device(void *user, const self_test_device *device)
{
    self_test_job *job = user;
    job->device = *device;
    if (job->checks != NULL)
        return;
    printf("weft      %s\ndevice    %s\n          %s, %s, driver %s\n", weft_version(),
           device->limits.name, device->platform, device->version, device->driver);
    const char *quirk;
    for (size_t i = 0; (quirk = weft_limits_quirk_at(&device->limits, i)) != NULL; i++)
        printf("%-9s %s\n", i == 0 ? "quirks" : "", quirk);
    putchar('\n');
    fflush(stdout);
}

// ---- all of them

static bool is_all_right(const self_test_job *job)
{
    return job->n_wrong == 0 && job->n_failed == 0;
}

static json_t *job_json(const self_test_job *job)
{
    const self_test_device *device = &job->device;
    json_t *object = json_object();
    json_object_set_new(object, "op", json_string("self-test"));
    json_object_set_new(object, "version", json_string(weft_version()));
    json_object_set_new(object, "device", report_text(device->limits.name));
    json_object_set_new(object, "platform", report_text(device->platform));
    json_object_set_new(object, "device_version", report_text(device->version));
    json_object_set_new(object, "driver", report_text(device->driver));
    json_object_set_new(object, "quirks", facts_quirks_json(&device->limits));
    json_object_set_new(object, "ok", json_boolean(is_all_right(job)));
    json_object_set_new(object, "right", json_integer(job->n_right));
    json_object_set_new(object, "wrong", json_integer(job->n_wrong));
    json_object_set_new(object, "failed", json_integer(job->n_failed));
    json_object_set_new(object, "skipped", json_integer(job->n_skipped));
    json_object_set_new(object, "seconds", report_number(job->seconds, 4));
    json_object_set(object, "checks", job->checks);
    return object;
}

static void print_end(const self_test_job *job)
{
    const int n = job->n_right + job->n_wrong + job->n_failed;
    printf("\n%d of %d right, %d wrong, %d failed, %d skipped, in %.1f s\n", job->n_right, n,
           job->n_wrong, job->n_failed, job->n_skipped, job->seconds);
    if (job->device.limits.failed_trials != 0)
        puts("Some features of the device do not work: the quirks above name those that weft does "
             "not use.");
    if (is_all_right(job)) {
        puts(n > 0 ? "All checked results are right on this device."
                   : "Nothing could be checked on this device.");
        return;
    }
    puts("A check is WRONG if a result exceeds its error bound, and FAILED if a call or the\n"
         "driver failed.\n"
         "\n"
         "Do not trust these operations on this device. To report the fault, open an issue\n"
         "at the place where you got weft, with all of the above and the output of these two\n"
         "commands for the same device:\n"
         "\n"
         "    weft info --json\n"
         "    weft self-test --json\n"
         "\n"
         "They name device, driver and version; `weft self-test OP --verbose' prints the\n"
         "build options of kernels. Say also whether another or an older driver is right on\n"
         "the same machine. A fault of a compiler should be reported to its vendor as well.");
}

static bool run(self_test_job *job, complaint *why)
{
    const self_test_listener listener = {on_device, on_result, on_wait, job};
    if (job->common.json && (job->checks = json_array()) == NULL)
        return complain(why, "no memory for the JSON output");
    job->start_ms = timing_now_ms();
    if (!self_test_run(&job->common, job->is_chosen, &listener, why))
        return false;
    job->seconds = 1e-3 * (timing_now_ms() - job->start_ms);
    if (job->checks != NULL)
        return command_print_json(job_json(job), why);
    print_end(job);
    return true;
}

// ---- the command line

static bool is_first_of_op(size_t i)
{
    return i == 0 || strcmp(self_check_at(i)->op, self_check_at(i - 1)->op) != 0;
}

// "spmm, spmm_dcsr, ..." with `last` before the last of them.
static void list_ops(char *text, size_t size, const char *last)
{
    size_t at = 0, n = 0, n_ops = 0;
    for (size_t i = 0; self_check_at(i) != NULL; i++)
        n_ops += is_first_of_op(i);
    for (size_t i = 0; self_check_at(i) != NULL && at < size; i++)
        if (is_first_of_op(i)) {
            n++;
            at += (size_t)snprintf(text + at, size - at, "%s%s",
                                   n == 1       ? ""
                                   : n == n_ops ? last
                                                : ", ",
                                   self_check_at(i)->op);
        }
}

static void choose(self_test_job *job, const char *op, struct argp_state *state)
{
    bool is_known = false;
    char ops[1024];
    for (size_t i = 0; self_check_at(i) != NULL; i++)
        if (op == NULL || strcmp(op, self_check_at(i)->op) == 0)
            is_known = job->is_chosen[i] = true;
    list_ops(ops, sizeof(ops), " and ");
    if (!is_known)
        argp_error(state, "'%s' is none of %s", op, ops);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    self_test_job *job = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &job->common;
        return 0;
    case ARGP_KEY_ARG:
        choose(job, argument, state);
        return 0;
    case ARGP_KEY_NO_ARGS:
        choose(job, NULL, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void parse(self_test_job *out, int argc, char **argv)
{
    static const struct argp_child children[] = {{&command_argp, 0, "", 0}, {0}};
    static const struct argp parser = {
        .parser = parse_option,
        .args_doc = "[OP...]",
        .doc = "Run every operation, or the named ones alone, on this device in several variants "
               "and sizes, and compare each result with a reference on the host. The operations "
               "are spmm, spmm_dcsr, sparse_linear, sparse_linear_dx, sparse_linear_dw, sddmm, "
               "spgemm, spgemm_dense, sddmm_sparse, sparse_softmax, sparse_softmax_backward, "
               "attention, csr_transpose, csr_to_dense, dense_to_csr, dcsr_from_csr, dcsr_to_csr, "
               "sparse_gather, reduce, softmax, softmax_backward, norm, norm_backward, matmul, "
               "elementwise.\vPrints a line for each variant: ok, WRONG, FAILED (a call or the "
               "driver's process failed) or skipped. An error is reported with its case, its plan "
               "and the first wrong element. Error bounds depend on the terms summed and the data "
               "type, as for --check of the other commands. Most of the time is compilation; "
               "programs in the cache are not compiled again. With --json each variant has a hash "
               "of its results (bits), which distinguishes runs, drivers or devices that are all "
               "right. Exit status: 0 all right, 1 something wrong or failed.",
        .children = children,
    };
    argp_parse(&parser, argc, argv, 0, NULL, out);
}

int weft_self_test_main(int argc, char **argv)
{
    static self_test_job job;
    complaint why;
    parse(&job, argc, argv);
    const bool done = run(&job, &why);
    json_decref(job.checks);
    if (!done)
        return command_failed(argv[0], &why);
    return is_all_right(&job) ? EXIT_SUCCESS : EXIT_FAILURE;
}
