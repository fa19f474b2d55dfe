// SPDX-License-Identifier: Apache-2.0
// specialisations: every program that the library would build for every profile, over
// representative problems, as JSON:
//
//   {"sources": as recorder_sources() has them,
//    "profiles": [{"name": "nvidia-v100", "warp": 32, "load_bytes": 16, "local_bytes": 49152,
//                  "programs": as recorder_programs() has them}, ...]}
#include <stdio.h>
#include <stdlib.h>

#include "problem.h"
#include "recorder.h"
#include "runtime/trial.h"

static json_t *programs_for(const weft_limits *profile)
{
    weft_context *ctx;
    recorder_begin(profile);
    problem_begin("%s", profile->name);
    CALL(weft_context_create(
        &ctx, recorder_context(), recorder_device(),
        WEFT_CONTEXT(.limits = profile, .cache_dir = "", .trusts_device = true)));
    recorder_problem("trials");
    weft_verdict verdict = weft_verdict_untried(profile);
    weft_trials_run(ctx, profile, &verdict);
    problems_dense(ctx, recorder_queue());
    problems_sparse(ctx, recorder_queue());
    problems_formats(ctx, recorder_queue());
    weft_context_destroy(&ctx);
    return recorder_programs();
}

int main(void)
{
    json_t *profiles = json_array();
    for (size_t i = 0; i < weft_profile_count(); i++) {
        const weft_limits *p = weft_profile_at(i);
        json_array_append_new(profiles,
                              json_pack("{s:s, s:i, s:i, s:I, s:o}", "name", p->name, "warp",
                                        p->warp, "load_bytes", p->load_bytes, "local_bytes",
                                        (json_int_t)p->local_bytes, "programs", programs_for(p)));
    }
    json_t *all = json_pack("{s:o, s:o}", "sources", recorder_sources(), "profiles", profiles);
    const bool is_written = json_dumpf(all, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF;
    json_decref(all);
    if (!is_written)
        fprintf(stderr, "specialisations: the list cannot be written\n");
    return is_written ? 0 : 1;
}
