// SPDX-License-Identifier: Apache-2.0
// weft explain: plans for operands of some shapes, on a device or a known profile.
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "report.h"

// A printed plan, and its device.
typedef struct plan_text {
    struct plan_text *next;
    char name[sizeof(((weft_limits *)NULL)->name)];
    char *text;
} plan_text;

// Output: text at once, or collected objects.
typedef struct answers {
    const explain_problem *problem;
    const explain_options *options;
    json_t *list;     // NULL for text
    plan_text *plans; // of earlier devices, with --brief; the newest first
} answers;

static plan_text *plan_text_create(const explanation *answer)
{
    plan_text *out = calloc(1, sizeof(*out));
    size_t size;
    FILE *stream = out != NULL ? open_memstream(&out->text, &size) : NULL;
    if (stream == NULL) {
        free(out);
        return NULL;
    }
    snprintf(out->name, sizeof(out->name), "%s", answer->limits->name);
    explain_print_brief(answer, stream);
    fclose(stream);
    return out;
}

// A plan that an earlier device has too is not printed again.
static bool print_brief(answers *to, const explanation *answer, complaint *why)
{
    plan_text *plan = plan_text_create(answer);
    if (plan == NULL)
        return complain(why, "no memory for the plan in words");
    const plan_text *same = to->plans;
    while (same != NULL && strcmp(same->text, plan->text) != 0)
        same = same->next;
    explain_print_brief_head(answer, stdout);
    if (same != NULL)
        printf(", as %s\n", same->name);
    else
        printf("\n%s", plan->text);
    plan->next = to->plans;
    to->plans = plan;
    return true;
}

static void free_plans(answers *to)
{
    while (to->plans != NULL) {
        plan_text *next = to->plans->next;
        free(to->plans->text);
        free(to->plans);
        to->plans = next;
    }
}

static bool print_answer(answers *to, const explanation *answer, complaint *why)
{
    const char *op = to->options->words[0];
    if (to->options->brief && to->list == NULL)
        return print_brief(to, answer, why);
    if (to->list != NULL)
        json_array_append_new(to->list, explain_json(answer, op));
    else
        explain_print(answer, op, stdout);
    return true;
}

static bool answer_on(answers *to, const weft_limits *limits, const weft_context *real,
                      complaint *why)
{
    weft_context *ctx = NULL;
    explanation answer;
    const bool done =
        (weft_rehearsal_create(&ctx, limits, real) == WEFT_OK || complain_weft(why)) &&
        explain_rehearse(&answer, to->problem, ctx, real, why) && print_answer(to, &answer, why);
    weft_context_destroy(&ctx);
    return done;
}

// One of many devices may lack f64.
static void print_failure(const answers *to, const weft_limits *limits, const complaint *why)
{
    if (to->list != NULL)
        json_array_append_new(to->list, json_pack("{s: s, s: o}", "device", limits->name, "failure",
                                                  report_text(why->text)));
    else
        printf("%s: %s\n", limits->name, why->text);
}

// If the first one, which has f64 and enough memory, cannot do it, none can.
static bool answer_all(answers *to, const weft_context *real, complaint *why)
{
    if (!answer_on(to, weft_profile_at(0), real, why))
        return false;
    for (size_t i = 1; i < weft_profile_count(); i++)
        if (!answer_on(to, weft_profile_at(i), real, why))
            print_failure(to, weft_profile_at(i), why);
    return true;
}

static bool find_profile(const weft_limits **out, const char *name, complaint *why)
{
    *out = weft_profile_find(name);
    return *out != NULL ||
           complain_usage(why, "--profile: there is no '%s'; `weft info --profiles' lists them",
                          name);
}

// For each of the chosen profiles; `real` may be NULL.
static bool answer_profiles(answers *to, const weft_context *real, complaint *why)
{
    const char *name = to->options->profile;
    const weft_limits *limits = NULL;
    if (name == NULL)
        return answer_on(to, NULL, real, why);
    if (strcmp(name, "all") == 0)
        return answer_all(to, real, why);
    return find_profile(&limits, name, why) && answer_on(to, limits, real, why);
}

// One object: for one device its own, for several a list of them.
static bool print_list(json_t *list, const explain_options *options, complaint *why)
{
    const bool is_one = options->profile == NULL || strcmp(options->profile, "all") != 0;
    if (is_one)
        return command_print_json(json_incref(json_array_get(list, 0)), why);
    return command_print_json(json_pack("{s: O}", "explanations", list), why);
}

static bool explain(const explain_options *options, complaint *why)
{
    weft_context *real = NULL;
    explain_problem problem;
    const bool wants_device = options->profile == NULL || options->common.device != NULL;
    answers to = {.problem = &problem, .options = options};
    if (!explain_problem_make(&problem, options, why))
        return false;
    to.list = options->common.json ? json_array() : NULL;
    bool done = (!wants_device || command_open(&real, &options->common, why)) &&
                answer_profiles(&to, real, why);
    if (done && to.list != NULL)
        done = print_list(to.list, options, why);
    json_decref(to.list);
    free_plans(&to);
    weft_context_destroy(&real);
    explain_problem_free(&problem);
    return done;
}

int weft_explain_main(int argc, char **argv)
{
    explain_options options;
    complaint why;
    explain_options_parse(&options, argc, argv);
    return explain(&options, &why) ? EXIT_SUCCESS : command_failed(argv[0], &why);
}
