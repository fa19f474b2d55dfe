// SPDX-License-Identifier: Apache-2.0
// Requests for cases of a bench, line by line.
#include "bench_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench_header.h"
#include "progress.h"
#include "report.h"
#include "timing.h"

enum { LINE = 128 };

static const size_t MOST_CALLS = 1000000;

// What a line asks for.
typedef struct bench_wish {
    bool waits_for_each, is_launch;
    size_t which, n_calls;
} bench_wish;

// Takes the object.
static bool print_line(json_t *object, complaint *why)
{
    progress_clear();
    const bool ok = object != NULL && json_dumpf(object, stdout, JSON_COMPACT) == 0 &&
                    fputc('\n', stdout) != EOF && fflush(stdout) == 0;
    json_decref(object);
    return ok || complain(why, "the answer could not be written");
}

bool bench_request_begin(const weft_context *ctx, complaint *why)
{
    const weft_limits *device = weft_context_limits(ctx);
    const char *kind = device->kind == WEFT_DEVICE_CPU   ? "CPU"
                       : device->kind == WEFT_DEVICE_GPU ? "GPU"
                                                         : "other";
    return print_line(json_pack("{s: o, s: o, s: s, s: I}", "header", bench_header_json(ctx),
                                "device", report_text(device->name), "kind", kind, "compute_units",
                                (json_int_t)device->compute_units),
                      why);
}

static bool read_count(const char *text, size_t most, size_t *out)
{
    char *end;
    if (text == NULL || *text < '0' || *text > '9')
        return false;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    *out = (size_t)value;
    return *end == '\0' && errno == 0 && value <= most;
}

static bool read_wish(bench_wish *out, char *line, size_t n_cases)
{
    char *rest;
    const char *verb = strtok_r(line, " \n", &rest);
    const char *which = strtok_r(NULL, " \n", &rest);
    const char *n_calls = strtok_r(NULL, " \n", &rest);
    if (verb == NULL || which == NULL || strtok_r(NULL, " \n", &rest) != NULL)
        return false;
    *out = (bench_wish){.waits_for_each = strcmp(verb, "wait") == 0,
                        .is_launch = strcmp(which, "launch") == 0};
    return (out->waits_for_each || strcmp(verb, "queue") == 0) &&
           (out->is_launch || (read_count(which, n_cases, &out->which) && out->which < n_cases)) &&
           read_count(n_calls, MOST_CALLS, &out->n_calls);
}

static bool call_once(const bench_request *request, const bench_wish *wish, complaint *why)
{
    if (wish->is_launch)
        return bench_limits_enqueue_nothing(request->limits, why);
    return request->call(request->of, wish->which) == WEFT_OK || complain_weft(why);
}

static bool grant(const bench_request *request, const bench_wish *wish, complaint *why)
{
    const bench_queue *queue = bench_limits_queue(request->limits);
    const double start_ms = timing_now_ms();
    for (size_t i = 0; i < wish->n_calls; i++)
        if (!call_once(request, wish, why) ||
            (wish->waits_for_each && !bench_queue_finish(queue, why)))
            return false;
    if (!bench_queue_finish(queue, why))
        return false;
    return print_line(json_pack("{s: o}", "ms", report_number(timing_now_ms() - start_ms, 7)), why);
}

bool bench_request_serve(const bench_request *request, json_t *cases, complaint *why)
{
    char line[LINE], words[LINE];
    if (!print_line(json_pack("{s: o}", "cases", cases), why))
        return false;
    while (fgets(line, sizeof(line), stdin) != NULL) {
        bench_wish wish;
        if (strcmp(line, "next\n") == 0)
            return true;
        memcpy(words, line, sizeof(words));
        if (!read_wish(&wish, words, request->n_cases))
            return complain(why, "'%.*s' is no request", (int)strcspn(line, "\n"), line);
        if (!grant(request, &wish, why))
            return false;
    }
    return complain(why, "the requests end before the cases do");
}
