// SPDX-License-Identifier: Apache-2.0
// Answers of weft explain, as text and as JSON, and the time that a roofline allows.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "explain.h"
#include "facts.h"
#include "report.h"

// The arithmetic figures of data sheets are for f32, in which f16 and bf16 are computed too.
static bool is_of_figures(const explanation *answer)
{
    const weft_dtype dtype = answer->arithmetic;
    return dtype == WEFT_F32 || dtype == WEFT_F16 || dtype == WEFT_BF16;
}

// Rates are 1e9 a second.
explain_roofline explain_roofline_of(const explanation *answer)
{
    const weft_limits *device = answer->device;
    explain_roofline roof = {NAN, NAN, NAN, "unknown"};
    if (device->peak_gbps > 0)
        roof.memory_ms = 1e-6 * answer->bytes / device->peak_gbps;
    if (device->peak_gflops > 0 && is_of_figures(answer))
        roof.arithmetic_ms = 1e-6 * answer->operations / device->peak_gflops;
    if (isnan(roof.memory_ms) && isnan(roof.arithmetic_ms))
        return roof;
    const bool is_memory = isnan(roof.arithmetic_ms) || roof.memory_ms >= roof.arithmetic_ms;
    roof.ms = is_memory ? roof.memory_ms : roof.arithmetic_ms;
    roof.bound = is_memory ? "memory" : "arithmetic";
    return roof;
}

// ---- text

static void print_sizes(const size_t sizes[3], FILE *out)
{
    fprintf(out, "%zu x %zu x %zu", sizes[0], sizes[1], sizes[2]);
}

static void print_launch(const weft_rehearsed_launch *launch, FILE *out)
{
    fprintf(out, "  kernel      %s of %s.cl", launch->kernel, launch->source);
    if (launch->times > 1)
        fprintf(out, ", %" PRId64 " times", launch->times);
    fputs("\n    global    ", out);
    print_sizes(launch->global, out);
    fputs(" items\n    local     ", out);
    print_sizes(launch->local, out);
    fputs(" items\n", out);
    if (launch->local_bytes > 0)
        fprintf(out, "    arguments %zu bytes of local memory\n", launch->local_bytes);
    if (launch->max_items > 0)
        fprintf(out,
                "    compiled  up to %zu items, %zu bytes of local memory, %zu of private memory\n",
                launch->max_items, launch->kernel_local_bytes, launch->kernel_private_bytes);
    fprintf(out, "    options   %s\n", launch->options);
}

static void print_time(const char *name, double ms, const char *missing, FILE *out)
{
    if (isnan(ms))
        fprintf(out, "  %-10s  unknown: %s\n", name, missing);
    else
        fprintf(out, "  %-10s  %.4g ms\n", name, ms);
}

// Whether the device has memory for the operands.
static bool fits(const explanation *answer)
{
    return answer->bytes <= (double)answer->device->global_bytes;
}

static void print_roofline(const explanation *answer, FILE *out)
{
    const explain_roofline roof = explain_roofline_of(answer);
    const char *name = answer->device->name;
    char missing[160];
    snprintf(missing, sizeof(missing), "no data-sheet figure is known for %s", name);
    fprintf(out, "  bytes       %.6g, each operand read or written once", answer->bytes);
    if (!fits(answer))
        fprintf(out, ": more than %s has", name);
    fprintf(out, "\n  operations  %.6g\n", answer->operations);
    print_time("memory", roof.memory_ms, missing, out);
    print_time("arithmetic", roof.arithmetic_ms,
               is_of_figures(answer) ? missing : "data sheets' figures are for f32", out);
    if (!isnan(roof.ms))
        fprintf(out, "  roofline    %.4g ms at least on %s, bound by %s\n", roof.ms, name,
                roof.bound);
}

void explain_print(const explanation *answer, const char *op, FILE *out)
{
    const weft_rehearsal *record = answer->record;
    fprintf(out, "%s: %s, %s\n", op, answer->operands, weft_dtype_name(answer->dtype));
    fprintf(out, "  device      %s\n", answer->limits->name);
    facts_print(answer->limits, out);
    if (answer->plan[0] != '\0')
        fprintf(out, "  plan        %s\n", answer->plan);
    for (size_t i = 0; i < record->n_refusals; i++)
        fprintf(out, "  without     %s: %s\n", record->refusals[i].variant,
                record->refusals[i].reason);
    for (size_t i = 0; i < record->n_launches; i++)
        print_launch(&record->launches[i], out);
    fprintf(out, "  scratch     %zu bytes\n", record->scratch_bytes);
    print_roofline(answer, out);
}

// The options only if they differ from those of the launch before.
static void print_launch_brief(const weft_rehearsed_launch *launch,
                               const weft_rehearsed_launch *before, FILE *out)
{
    fprintf(out, "> %s: ", launch->kernel);
    print_sizes(launch->global, out);
    fputs(" in ", out);
    print_sizes(launch->local, out);
    if (launch->local_bytes > 0)
        fprintf(out, ", %zu local bytes", launch->local_bytes);
    if (launch->times > 1)
        fprintf(out, ", %" PRId64 " times", launch->times);
    putc('\n', out);
    if (before == NULL || launch->options != before->options)
        fprintf(out, "  %s\n", launch->options);
}

void explain_print_brief(const explanation *answer, FILE *out)
{
    const weft_rehearsal *record = answer->record;
    if (answer->plan[0] != '\0')
        fprintf(out, "%s\n", answer->plan);
    for (size_t i = 0; i < record->n_refusals; i++)
        fprintf(out, "- %s: %s\n", record->refusals[i].variant, record->refusals[i].reason);
    for (size_t i = 0; i < record->n_launches; i++)
        print_launch_brief(&record->launches[i], i > 0 ? &record->launches[i - 1] : NULL, out);
    fprintf(out, "= %zu bytes of scratch, %.6g in all, %.6g operations\n", record->scratch_bytes,
            answer->bytes, answer->operations);
}

void explain_print_brief_head(const explanation *answer, FILE *out)
{
    const explain_roofline roof = explain_roofline_of(answer);
    fprintf(out, "%s: ", answer->limits->name);
    if (isnan(roof.ms))
        fputs("of unknown speed", out);
    else
        fprintf(out, "%.4g ms of %s", roof.ms, roof.bound);
}

// ---- JSON

// null if unknown.
static json_t *known(double value, int digits)
{
    return isnan(value) ? json_null() : report_number(value, digits);
}

static json_t *whole(size_t value)
{
    return json_integer((json_int_t)value);
}

static json_t *sizes_json(const size_t sizes[3])
{
    return json_pack("[o, o, o]", whole(sizes[0]), whole(sizes[1]), whole(sizes[2]));
}

static json_t *launch_json(const weft_rehearsed_launch *launch)
{
    json_t *object =
        json_pack("{s: s, s: s, s: s, s: o, s: o, s: I, s: o}", "source", launch->source, "kernel",
                  launch->kernel, "options", launch->options, "global", sizes_json(launch->global),
                  "local", sizes_json(launch->local), "times", (json_int_t)launch->times,
                  "local_bytes", whole(launch->local_bytes));
    if (launch->max_items > 0)
        json_object_set_new(object, "compiled",
                            json_pack("{s: o, s: o, s: o}", "max_items", whole(launch->max_items),
                                      "local_bytes", whole(launch->kernel_local_bytes),
                                      "private_bytes", whole(launch->kernel_private_bytes)));
    return object;
}

static json_t *refusals_json(const weft_rehearsal *record)
{
    json_t *list = json_array();
    for (size_t i = 0; i < record->n_refusals; i++)
        json_array_append_new(list,
                              json_pack("{s: s, s: s}", "variant", record->refusals[i].variant,
                                        "reason", record->refusals[i].reason));
    return list;
}

static json_t *launches_json(const weft_rehearsal *record)
{
    json_t *list = json_array();
    for (size_t i = 0; i < record->n_launches; i++)
        json_array_append_new(list, launch_json(&record->launches[i]));
    return list;
}

json_t *explain_json(const explanation *answer, const char *op)
{
    const explain_roofline roof = explain_roofline_of(answer);
    return json_pack(
        "{s: s, s: o, s: s, s: o, s: o, s: o, s: o, s: o, s: o, s: o, s: b, s: o, s: "
        "{s: o, s: o, s: o, s: o, s: s}}",
        "op", op, "operands", report_text(answer->operands), "dtype",
        weft_dtype_name(answer->dtype), "device", report_text(answer->limits->name), "limits",
        facts_json(answer->limits), "plan",
        answer->plan[0] != '\0' ? json_string(answer->plan) : json_null(), "refused",
        refusals_json(answer->record), "launches", launches_json(answer->record), "scratch_bytes",
        whole(answer->record->scratch_bytes), "bytes", report_number(answer->bytes, 9), "fits",
        fits(answer), "operations", report_number(answer->operations, 9), "roofline", "device",
        report_text(answer->device->name), "memory_ms", known(roof.memory_ms, 4), "arithmetic_ms",
        known(roof.arithmetic_ms, 4), "ms", known(roof.ms, 4), "bound", roof.bound);
}
