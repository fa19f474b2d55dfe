// SPDX-License-Identifier: Apache-2.0
// Reports of timed operations.
#include "report.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

timed_report report_new(const char *op, const char *device, weft_dtype dtype)
{
    return (timed_report){
        .op = op,
        .device = device,
        .dtype = dtype,
        .setup_ms = NAN,
        .time = {NAN, NAN, NAN},
        .gflops = NAN,
        .gbps = NAN,
        .limit = NAN,
        .share = NAN,
        .error = NAN,
    };
}

json_t *report_number(double value, int digits)
{
    if (!isfinite(value))
        return json_real(value < 0 ? -DBL_MAX : DBL_MAX);
    char text[64];
    snprintf(text, sizeof(text), "%.*g", digits, value);
    return json_real(strtod(text, NULL));
}

json_t *report_text(const char *text)
{
    json_t *string = json_string(text);
    if (string != NULL)
        return string;
    char plain[1024];
    size_t n = 0;
    for (; n < sizeof(plain) && text[n] != '\0'; n++)
        plain[n] = (char)((unsigned char)text[n] < 0x80 ? text[n] : '?');
    return json_stringn(plain, n);
}

static void set_text(json_t *object, const char *key, const char *text)
{
    if (text != NULL)
        json_object_set_new(object, key, report_text(text));
}

static void set_number(json_t *object, const char *key, double value)
{
    if (!isnan(value))
        json_object_set_new(object, key, report_number(value, 6));
}

static void set_sizes(json_t *object, const timed_report *report)
{
    if (report->is_product) {
        json_object_set_new(object, "m", json_integer(report->m));
        json_object_set_new(object, "k", json_integer(report->k));
        json_object_set_new(object, "n", json_integer(report->n));
        if (report->is_dense)
            json_object_set_new(object, "batch", json_integer(report->batch));
        else
            json_object_set_new(object, "nnz", json_integer(report->nnz));
    }
    if (report->ndim > 0) {
        json_t *shape = json_array();
        for (int d = 0; d < report->ndim; d++)
            json_array_append_new(shape, json_integer(report->shape[d]));
        json_object_set_new(object, "shape", shape);
    }
}

json_t *report_json(const timed_report *report)
{
    json_t *object = json_object();
    set_text(object, "case", report->name);
    set_text(object, "op", report->op);
    set_text(object, "device", report->device);
    set_text(object, "dtype", weft_dtype_name(report->dtype));
    set_sizes(object, report);
    set_text(object, "plan", report->plan);
    set_number(object, "setup_ms", report->setup_ms);
    set_number(object, "median_ms", report->time.median_ms);
    set_number(object, "min_ms", report->time.min_ms);
    set_number(object, "max_ms", report->time.max_ms);
    set_number(object, "gflops", report->gflops);
    set_number(object, "gbps", report->gbps);
    set_number(object, "limit", report->limit);
    set_number(object, "share", report->share);
    set_number(object, "error", report->error);
    return object;
}

static void print_line(FILE *out, const char *label, double value, const char *unit)
{
    if (!isnan(value))
        fprintf(out, "%-8s %.4g %s\n", label, value, unit);
}

static void print_dense_sizes(const timed_report *report, FILE *out)
{
    char times[32] = "";
    if (report->batch != 1)
        snprintf(times, sizeof(times), "%" PRId64 " times ", report->batch);
    fprintf(out,
            "%-8s %sC [%" PRId64 " x %" PRId64 "] = A [%" PRId64 " x %" PRId64 "] B [%" PRId64
            " x %" PRId64 "]\n",
            "sizes", times, report->m, report->n, report->m, report->k, report->k, report->n);
}

static void print_sizes(const timed_report *report, FILE *out)
{
    if (report->is_sampled)
        fprintf(out,
                "%-8s D [%" PRId64 "] = A [%" PRId64 " x %" PRId64 "] B [%" PRId64 " x %" PRId64
                "] at the non-zeros of C [%" PRId64 " x %" PRId64 "]\n",
                "sizes", report->nnz, report->m, report->k, report->k, report->n, report->m,
                report->n);
    else if (report->is_dense)
        print_dense_sizes(report, out);
    else if (report->is_product)
        fprintf(out,
                "%-8s C [%" PRId64 " x %" PRId64 "] = A [%" PRId64 " x %" PRId64 ", %" PRId64
                " non-zeros] B [%" PRId64 " x %" PRId64 "]\n",
                "sizes", report->m, report->n, report->m, report->k, report->nnz, report->k,
                report->n);
    for (int d = 0; d < report->ndim; d++)
        fprintf(out, "%s%" PRId64 "%s", d == 0 ? "sizes    (" : ", ", report->shape[d],
                d == report->ndim - 1 ? ")\n" : "");
}

void report_print(const timed_report *report, FILE *out)
{
    if (report->name != NULL)
        fprintf(out, "%-8s %s\n", "case", report->name);
    fprintf(out, "%-8s %s, %s\n", report->op, weft_dtype_name(report->dtype), report->device);
    print_sizes(report, out);
    if (report->plan != NULL)
        fprintf(out, "%-8s %s\n", "plan", report->plan);
    print_line(out, "set-up", report->setup_ms, "ms");
    if (!isnan(report->time.median_ms))
        fprintf(out, "%-8s %.4g ms (%.4g to %.4g)\n", "median", report->time.median_ms,
                report->time.min_ms, report->time.max_ms);
    print_line(out, "speed", report->gflops, "GFLOP/s");
    print_line(out, "traffic", report->gbps, "GB/s");
    print_line(out, "share", report->share, "of the device's limit");
    print_line(out, "error", report->error, "of its bound");
}
