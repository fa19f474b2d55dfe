// SPDX-License-Identifier: Apache-2.0
// weft explain: plans for operands of some shapes, on a device or a known profile.
#include <stdlib.h>
#include <string.h>

#include "explain.h"
#include "explain_compile.h"
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
    json_t *list;       // NULL for text
    plan_text *plans;   // of earlier devices, with --brief; the newest first
    complaint short_of; // the first thing that --compile lacked; text "" for none
} answers;

static bool is_of_all(const explain_options *options)
{
    return options->profile != NULL && strcmp(options->profile, "all") == 0;
}

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

// A missing compiler fails the command in the end, once all else is printed.
static void note_missing(answers *to, const char *text)
{
    if (to->short_of.text[0] == '\0')
        complaint_keep(&to->short_of, "--compile: %s", text);
}

// What the vendor's compiler makes of the launches, or why there is nothing of that; a new object.
static json_t *compiled_answer(answers *to, const explanation *answer)
{
    complaint why = {.text = ""};
    json_t *compiled = explain_compile(answer, to->options->words[0], &why);
    if (compiled == NULL)
        compiled = json_pack("{s: o, s: b}", "failure", report_text(why.text), "is_missing", true);
    const char *failure = json_string_value(json_object_get(compiled, "failure"));
    if (failure != NULL &&
        (!is_of_all(to->options) || json_is_true(json_object_get(compiled, "is_missing"))))
        note_missing(to, failure);
    return compiled;
}

static void print_compiled(answers *to, const explanation *answer)
{
    json_t *compiled = compiled_answer(to, answer);
    const char *text = json_string_value(json_object_get(compiled, "text"));
    if (text != NULL)
        fputs(text, stdout);
    else
        printf("  compiled    no: %s\n", json_string_value(json_object_get(compiled, "failure")));
    json_decref(compiled);
}

static void add_json(answers *to, const explanation *answer)
{
    json_t *object = explain_json(answer, to->options->words[0]);
    if (to->options->compile) {
        json_t *compiled = compiled_answer(to, answer);
        json_object_del(compiled, "text");
        json_object_del(compiled, "is_missing");
        json_object_set_new(object, "compiled", compiled);
    }
    json_array_append_new(to->list, object);
}

static bool print_answer(answers *to, const explanation *answer, complaint *why)
{
    if (to->list != NULL)
        add_json(to, answer);
    else if (to->options->brief)
        return print_brief(to, answer, why);
    else
        explain_print(answer, to->options->words[0], stdout);
    if (to->list == NULL && to->options->compile)
        print_compiled(to, answer);
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
    if (is_of_all(to->options))
        return answer_all(to, real, why);
    return find_profile(&limits, name, why) && answer_on(to, limits, real, why);
}

// One object: for one device its own, for several a list of them.
static bool print_list(json_t *list, const explain_options *options, complaint *why)
{
    if (!is_of_all(options))
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
    if (done && to.short_of.text[0] != '\0')
        done = complain(why, "%s", to.short_of.text);
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
