// SPDX-License-Identifier: Apache-2.0
// Measures how sure a classifier is and how right, and corrects its probabilities.
//
// Scores z of one sample become probabilities p = softmax(z / T). A network that was trained long
// is mostly too sure with T = 1; one T > 1, the temperature, corrects that for all classes without
// changing any answer. It is the T with the least loss, the mean of -log p[label] over samples that
// the network was not trained with (Guo, Pleiss, Sun and Weinberger, "On calibration of modern
// neural networks", 2017).
//
// Each row of the file is one sample: its label, counted from 0, then a score for each class. All
// work on scores is done on the device: softmax with 1 / T as its scale, and maxima, their
// positions and means along axes.
#define _POSIX_C_SOURCE 200809L // getopt, getline
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"
#include "samples.h"

const char program_name[] = "calibrate";

enum { MAX_STEPS = 60 };
static const double LEAST_T = 0.05, MOST_T = 50, TOLERANCE = 1e-4;

// Arrays on the device.
typedef struct judge {
    const samples *from;
    weft_context *ctx;
    cl_command_queue queue;
    weft_tensor scores, p;             // n x classes; p: probabilities or their logarithms
    weft_tensor answer, top, mean_top; // n places and n probabilities of the best, and their mean
    float *logs;                       // p on the host
} judge;

// Results at one temperature.
typedef struct verdict {
    double accuracy, confidence, loss;
} verdict;

static bool prepare(judge *j)
{
    const samples *s = j->from;
    if (!is_ok(weft_context_open(&j->ctx, NULL)))
        return false;
    j->queue = weft_context_queue(j->ctx);
    j->logs = malloc((size_t)(s->n * s->n_classes) * sizeof(*j->logs));
    return is_there(j->logs) &&
           make_tensor(&j->scores, j->ctx, WEFT_F32, s->n, s->n_classes, s->scores) &&
           make_tensor(&j->p, j->ctx, WEFT_F32, s->n, s->n_classes, NULL) &&
           make_tensor(&j->answer, j->ctx, WEFT_I32, s->n, 0, NULL) &&
           make_tensor(&j->top, j->ctx, WEFT_F32, s->n, 0, NULL) &&
           make_tensor(&j->mean_top, j->ctx, WEFT_F32, 1, 0, NULL);
}

static void finish(judge *j)
{
    free_tensor(&j->scores);
    free_tensor(&j->p);
    free_tensor(&j->answer);
    free_tensor(&j->top);
    free_tensor(&j->mean_top);
    weft_context_destroy(&j->ctx);
    free(j->logs);
}

// The mean of -log p[label].
static bool find_loss(const judge *j, double temperature, double *loss)
{
    const samples *s = j->from;
    if (!is_ok(weft_log_softmax(j->ctx, j->queue, 1 / temperature, &j->scores, 1, &j->p, NULL)) ||
        !read_tensor(j->queue, &j->p, j->logs))
        return false;
    *loss = 0;
    for (int64_t i = 0; i < s->n; i++)
        *loss -= (double)j->logs[i * s->n_classes + s->labels[i]] / (double)s->n;
    return true;
}

static bool find_accuracy(const judge *j, double *accuracy)
{
    const samples *s = j->from;
    int32_t *answers = malloc((size_t)s->n * sizeof(*answers));
    const bool ok = is_there(answers) &&
                    is_ok(weft_reduce(j->ctx, j->queue, WEFT_ARGMAX, &j->scores, 1,
                                      (const int[]){1}, &j->answer, NULL)) &&
                    read_tensor(j->queue, &j->answer, answers);
    int64_t n_right = 0;
    for (int64_t i = 0; ok && i < s->n; i++)
        n_right += answers[i] == s->labels[i];
    *accuracy = (double)n_right / (double)s->n;
    free(answers);
    return ok;
}

// Three calls in a row; the queue keeps their order, and nothing is copied back in between.
static bool find_confidence(const judge *j, double temperature, double *confidence)
{
    const weft_tensor mean = {.buffer = j->mean_top.buffer, .dtype = WEFT_F32};
    float value = 0;
    const bool ok =
        is_ok(weft_softmax(j->ctx, j->queue, 1 / temperature, &j->scores, 1, &j->p, NULL)) &&
        is_ok(weft_reduce(j->ctx, j->queue, WEFT_MAX, &j->p, 1, (const int[]){1}, &j->top, NULL)) &&
        is_ok(weft_reduce(j->ctx, j->queue, WEFT_MEAN, &j->top, 0, NULL, &mean, NULL)) &&
        read_tensor(j->queue, &mean, &value);
    *confidence = (double)value;
    return ok;
}

static bool find_verdict(const judge *j, double temperature, verdict *out)
{
    return find_accuracy(j, &out->accuracy) && find_confidence(j, temperature, &out->confidence) &&
           find_loss(j, temperature, &out->loss);
}

// Golden section on log T: the loss is convex in 1 / T, and so has one minimum.
static bool find_temperature(const judge *j, double *temperature)
{
    const double golden = (sqrt(5) - 1) / 2;
    double low = log(LEAST_T), high = log(MOST_T);
    double left = high - golden * (high - low), right = low + golden * (high - low);
    double loss_left, loss_right;
    bool ok = find_loss(j, exp(left), &loss_left) && find_loss(j, exp(right), &loss_right);
    for (int step = 0; ok && step < MAX_STEPS && high - low > TOLERANCE; step++) {
        if (loss_left < loss_right) {
            high = right;
            right = left;
            loss_right = loss_left;
            left = high - golden * (high - low);
            ok = find_loss(j, exp(left), &loss_left);
        } else {
            low = left;
            left = right;
            loss_left = loss_right;
            right = low + golden * (high - low);
            ok = find_loss(j, exp(right), &loss_right);
        }
    }
    *temperature = exp((low + high) / 2);
    return ok;
}

static void print_verdict(double temperature, const verdict *v)
{
    printf("  T %-6.3g  right %5.1f%%  sure %5.1f%%  loss %.4f\n", temperature, 100 * v->accuracy,
           100 * v->confidence, v->loss);
}

// Whether the temperature is the one that samples were made with, within their statistical error.
static bool is_right(const samples *s, double temperature)
{
    return fabs(log(temperature / s->temperature)) < 5 / sqrt((double)s->n);
}

static bool calibrate(const samples *s)
{
    judge j = {.from = s};
    verdict before, after;
    double temperature;
    bool ok = prepare(&j) && find_verdict(&j, 1, &before) && find_temperature(&j, &temperature) &&
              find_verdict(&j, temperature, &after);
    if (ok) {
        printf("%lld samples of %lld classes on %s\n", (long long)s->n, (long long)s->n_classes,
               weft_context_limits(j.ctx)->name);
        print_verdict(1, &before);
        print_verdict(temperature, &after);
    }
    if (ok && s->temperature > 0) {
        ok = is_right(s, temperature);
        printf("The samples were made with T %g: %s\n", s->temperature, ok ? "right" : "WRONG");
    }
    finish(&j);
    return ok;
}

static bool read_temperature(const char *text, double *out)
{
    char *end;
    *out = strtod(text, &end);
    return end != text && *end == '\0' && *out >= LEAST_T && *out <= MOST_T;
}

int main(int argc, char **argv)
{
    samples s = {.n = 20000, .n_classes = 10, .temperature = 3};
    int letter;
    bool is_sound = true;
    while (is_sound && (letter = getopt(argc, argv, "n:c:t:")) != -1) {
        if (letter == 'n')
            is_sound = read_count(optarg, 100, 10000000, &s.n);
        else if (letter == 'c')
            is_sound = read_count(optarg, 2, 100000, &s.n_classes);
        else
            is_sound = letter == 't' && read_temperature(optarg, &s.temperature);
    }
    if (!is_sound || optind + 1 < argc || s.n * s.n_classes > 1000000000) {
        fprintf(stderr, "usage: calibrate [FILE]\n"
                        "       calibrate [-n SAMPLES] [-c CLASSES] [-t TEMPERATURE]\n"
                        "Each row of FILE (- for standard input) is a label from 0 on, and a score "
                        "for each class.\nWithout FILE, samples are made up, too sure by the "
                        "temperature.\n");
        return 2;
    }
    bool ok = optind < argc ? samples_read(&s, argv[optind]) : samples_make(&s);
    ok = ok && calibrate(&s);
    samples_free(&s);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
