// SPDX-License-Identifier: Apache-2.0
// "header" of the bench's JSON: the facts about a run that a later reader of its figures needs.
#ifndef WEFT_TOOLS_BENCH_HEADER_H
#define WEFT_TOOLS_BENCH_HEADER_H

#include <jansson.h>

#include <weft/context.h>

// from ("weft bench"), date (UTC), weft, platform, driver, system and cores of the host. NULL where
// memory ran out.
json_t *bench_header_json(const weft_context *ctx);

#endif
