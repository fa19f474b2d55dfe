// SPDX-License-Identifier: Apache-2.0
// weft_limits for people and for programs, from one table.
#include "facts.h"

#include <inttypes.h>
#include <stddef.h>

#include "report.h"

typedef enum fact_type { FACT_INT, FACT_SIZE, FACT_U64, FACT_BOOL, FACT_DOUBLE } fact_type;

typedef struct device_fact {
    const char *key;
    size_t offset;
    fact_type type;
    const char *meaning;
} device_fact;

#define FACT(field, type, meaning)                                                                 \
    {                                                                                              \
#field, offsetof(weft_limits, field), type, meaning                                        \
    }

static const device_fact facts[] = {
    FACT(warp, FACT_INT, "lanes that execute together"),
    FACT(vector_width, FACT_INT, "lanes of one OpenCL vector"),
    FACT(vectors, FACT_INT, "vectors of one work-item"),
    FACT(max_block, FACT_INT, "lanes of a work-group"),
    FACT(max_items_y, FACT_INT, "work-items that share one output, at most"),
    FACT(max_blocks, FACT_INT, "work-groups to aim for"),
    FACT(max_items, FACT_SIZE, "work-items of a work-group, at most"),
    FACT(local_bytes, FACT_SIZE, "local memory of a work-group"),
    FACT(max_alloc_bytes, FACT_U64, "largest buffer"),
    FACT(global_bytes, FACT_U64, "memory of the device"),
    FACT(compute_units, FACT_INT, "compute units"),
    FACT(load_bytes, FACT_INT, "widest load of one work-item"),
    FACT(local_is_fast, FACT_BOOL, "local memory is separate from caches"),
    FACT(l1_bytes, FACT_U64, "first-level data cache of a core"),
    FACT(l2_bytes, FACT_U64, "second-level cache"),
    FACT(cache_bytes, FACT_U64, "last-level cache"),
    FACT(cache_line_bytes, FACT_INT, "line of that cache"),
    FACT(has_f64, FACT_BOOL, "double arithmetic"),
    FACT(has_f16, FACT_BOOL, "half arithmetic"),
    FACT(has_fma, FACT_BOOL, "fused multiply-add in hardware"),
    FACT(has_subgroups, FACT_BOOL, "sub-groups with shuffles"),
    FACT(least_subgroup, FACT_INT, "work-items of the smallest one that can be requested"),
    FACT(max_iterations, FACT_INT, "iterations of a work-item's loops, 0: no limit"),
    FACT(peak_gbps, FACT_DOUBLE, "memory, GB/s by the data sheet"),
    FACT(peak_gflops, FACT_DOUBLE, "f32, GFLOP/s by the data sheet"),
};

enum { N_FACTS = sizeof(facts) / sizeof(facts[0]) };

// The example is a softmax over the middle axis of a tensor.
enum { EXAMPLE_HIGH = 512, EXAMPLE_MID = 896, EXAMPLE_LOW = 48 };

static const char *kind_name(weft_device_kind kind)
{
    return kind == WEFT_DEVICE_CPU ? "CPU" : kind == WEFT_DEVICE_GPU ? "GPU" : "other";
}

static uint64_t whole_value(const device_fact *fact, const weft_limits *limits)
{
    const char *field = (const char *)limits + fact->offset;
    switch (fact->type) {
    case FACT_INT:
        return (uint64_t) * (const int *)(const void *)field;
    case FACT_SIZE:
        return *(const size_t *)(const void *)field;
    case FACT_U64:
        return *(const uint64_t *)(const void *)field;
    default:
        return *(const bool *)(const void *)field;
    }
}

static double real_value(const device_fact *fact, const weft_limits *limits)
{
    return *(const double *)(const void *)((const char *)limits + fact->offset);
}

void facts_print(const weft_limits *limits, FILE *out)
{
    fprintf(out, "    %-18s %14s  %s\n", "kind", kind_name(limits->kind),
            "the kind that it reports");
    for (int i = 0; i < N_FACTS; i++) {
        const device_fact *fact = &facts[i];
        if (fact->type == FACT_DOUBLE && real_value(fact, limits) == 0)
            continue;
        fprintf(out, "    %-18s ", fact->key);
        if (fact->type == FACT_DOUBLE)
            fprintf(out, "%14g", real_value(fact, limits));
        else if (fact->type == FACT_BOOL)
            fprintf(out, "%14s", whole_value(fact, limits) ? "yes" : "no");
        else
            fprintf(out, "%14" PRIu64, whole_value(fact, limits));
        fprintf(out, "  %s\n", fact->meaning);
    }
    const char *quirk;
    for (size_t i = 0; (quirk = weft_limits_quirk_at(limits, i)) != NULL; i++)
        fprintf(out, "    %s\n", quirk);
}

void facts_print_geometry(const weft_limits *limits, FILE *out)
{
    const weft_geometry g = weft_geometry_for(limits, EXAMPLE_HIGH, EXAMPLE_MID, EXAMPLE_LOW);
    fprintf(
        out,
        "    (%d, %d, %d) along the middle: blocks of %d x %d lanes in %d x %d work-items, grid "
        "%" PRId64 " x %" PRId64 "\n",
        EXAMPLE_HIGH, EXAMPLE_MID, EXAMPLE_LOW, g.block_x, g.block_y, g.block_x / g.lanes_x,
        g.block_y / g.lanes_y, g.grid_x, g.grid_y);
}

static json_t *pair(int64_t x, int64_t y)
{
    return json_pack("[I, I]", (json_int_t)x, (json_int_t)y);
}

static json_t *example_json(const weft_limits *limits)
{
    const weft_geometry g = weft_geometry_for(limits, EXAMPLE_HIGH, EXAMPLE_MID, EXAMPLE_LOW);
    return json_pack("{s: [i, i, i], s: o, s: o, s: o}", "shape", EXAMPLE_HIGH, EXAMPLE_MID,
                     EXAMPLE_LOW, "block", pair(g.block_x, g.block_y), "vector_width",
                     pair(g.lanes_x, g.lanes_y), "grid", pair(g.grid_x, g.grid_y));
}

static json_t *whole_json(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *fact_json(const device_fact *fact, const weft_limits *limits)
{
    if (fact->type == FACT_DOUBLE)
        return json_real(real_value(fact, limits));
    const uint64_t value = whole_value(fact, limits);
    return fact->type == FACT_BOOL ? json_boolean(value) : whole_json(value);
}

static json_t *items_along_json(const weft_limits *limits)
{
    json_t *items = json_array();
    for (int d = 0; d < 3; d++)
        json_array_append_new(items, whole_json(limits->max_items_along[d]));
    return items;
}

json_t *facts_quirks_json(const weft_limits *limits)
{
    json_t *quirks = json_array();
    const char *quirk;
    for (size_t i = 0; (quirk = weft_limits_quirk_at(limits, i)) != NULL; i++)
        json_array_append_new(quirks, json_string(quirk));
    return quirks;
}

json_t *facts_json(const weft_limits *limits)
{
    json_t *object = json_object();
    json_object_set_new(object, "name", report_text(limits->name));
    json_object_set_new(object, "kind", json_string(kind_name(limits->kind)));
    for (int i = 0; i < N_FACTS; i++)
        json_object_set_new(object, facts[i].key, fact_json(&facts[i], limits));
    json_object_set_new(object, "max_items_along", items_along_json(limits));
    json_object_set_new(object, "quirks", facts_quirks_json(limits));
    json_object_set_new(object, "geometry", example_json(limits));
    return object;
}
