// SPDX-License-Identifier: Apache-2.0
// A query of weft explain and its answer: one operation on operands of some shapes, rehearsed.
#ifndef WEFT_TOOLS_EXPLAIN_H
#define WEFT_TOOLS_EXPLAIN_H

#include <stdio.h>

#include <weft/elementwise.h>
#include <weft/reduce.h>
#include <weft/rehearsal.h>
#include <weft/spmm.h>

#include "command.h"

// Enough for an operation and a formula with all its names.
enum { EXPLAIN_WORDS = 2 + WEFT_ELEMENTWISE_INPUTS + WEFT_ELEMENTWISE_VALUES };
enum { EXPLAIN_SPARSE = 3 }; // sparse operands, at most

// The command line.
typedef struct explain_options {
    command_options common;
    const char *profile; // NULL: the existing device; "all"
    bool brief;
    bool compile;
    unsigned narrow_given; // a bit for each option that is not of every operation
    int n_words;           // the operation, then shapes, or a formula and its names
    char *words[EXPLAIN_WORDS];
    weft_dtype dtype;
    int64_t nnz;    // of a sparse operand; below 0: by the density
    double density; // entries / (rows x columns)
    double cov;     // of the lengths of its rows; below 0: not given
    bool no_plan, transpose_a;
    bool dense_a, dense_b; // of a product's factors that may be sparse: not both
    weft_spmm_reduction product_reduction;
    weft_reduction reduction;
    int n_axes; // 0: all, or for softmax the last
    int axes[WEFT_MAX_NDIM];
    int norm_axes;
    bool is_log, is_rms;
} explain_options;

// Ends the program with a usage error if they are inconsistent.
void explain_options_parse(explain_options *out, int argc, char **argv);

// The rehearsed operation, for one device after another: sparse operands are made once.
typedef struct explain_problem {
    const explain_options *options;
    weft_csr_host sparse[EXPLAIN_SPARSE]; // arrays NULL if they are not read
} explain_problem;

bool explain_problem_make(explain_problem *out, const explain_options *options, complaint *why);
void explain_problem_free(explain_problem *problem);

// The answer; valid until the context that rehearsed it rehearses again, or ends.
typedef struct explanation {
    char operands[1024];       // "A 2048 x 512 with 104857 entries, B 512 x 128"
    char plan[1024];           // "" if there is no choice
    const weft_limits *limits; // of the plan
    const weft_limits *device; // memory and data sheet for the figures below
    const weft_rehearsal *record;
    weft_dtype dtype;
    weft_dtype arithmetic; // as far as operands' data types determine it
    double bytes;          // each operand read or written once
    double operations;     // each multiply-add counted as two
    double weighted;       // those by V in attention
    double elements;       // of the first dense operand, of elementwise's result
    double entries;        // of the first sparse operand, for each head
} explanation;

// The device is that of `real`, or if that is NULL the planned one.
bool explain_rehearse(explanation *out, const explain_problem *problem, weft_context *ctx,
                      const weft_context *real, complaint *why);

// The time that the device's data sheet allows; NaN if it has no figure.
typedef struct explain_roofline {
    double memory_ms, arithmetic_ms;
    double ms;         // the larger of the known ones
    const char *bound; // "memory", "arithmetic", or "unknown"
} explain_roofline;

explain_roofline explain_roofline_of(const explanation *answer);

// All of it, or a new object. `op` is the word of the command line.
void explain_print(const explanation *answer, const char *op, FILE *out);
json_t *explain_json(const explanation *answer, const char *op);

// For comparisons: the device and the time that its figures allow, with no newline; and the plan.
void explain_print_brief_head(const explanation *answer, FILE *out);
void explain_print_brief(const explanation *answer, FILE *out);

#endif
