// SPDX-License-Identifier: Apache-2.0
// The facts about a device, as text and as JSON.
#ifndef WEFT_TOOLS_FACTS_H
#define WEFT_TOOLS_FACTS_H

#include <stdio.h>

#include <jansson.h>

#include <weft/geometry.h>
#include <weft/limits.h>

// One line for each fact, with its meaning.
void facts_print(const weft_limits *limits, FILE *out);

// One with the launch geometry of an example.
void facts_print_geometry(const weft_limits *limits, FILE *out);

// A new object with a member for each field of weft_limits, and `geometry`, of that example.
json_t *facts_json(const weft_limits *limits);

// The words of weft_limits_quirk_at(), a new array.
json_t *facts_quirks_json(const weft_limits *limits);

#endif
