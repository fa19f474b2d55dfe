// SPDX-License-Identifier: Apache-2.0
// Samples from a file, or made up.
#define _POSIX_C_SOURCE 200809L // getline
#include "samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chance.h"
#include "common.h"

// The file while it is read.
typedef struct reader {
    const char *path;
    int line;
    int64_t room; // samples
} reader;

static bool complain(const reader *r, const char *what)
{
    return complain_at(r->path, r->line, what);
}

static bool grow(samples *s, reader *r)
{
    if (s->n < r->room)
        return true;
    const size_t room = 2 * (size_t)r->room + 256;
    float *scores = realloc(s->scores, room * (size_t)s->n_classes * sizeof(*scores));
    s->scores = scores != NULL ? scores : s->scores;
    int32_t *labels = realloc(s->labels, room * sizeof(*labels));
    s->labels = labels != NULL ? labels : s->labels;
    r->room = (int64_t)room;
    return is_there(scores) && is_there(labels);
}

// Reads the next number of the row and the separator after it; false at the end.
static bool take_number(char **at, double *out)
{
    char *end;
    *out = strtod(*at, &end);
    const bool found = end != *at;
    *at = end + strspn(end, " \t\r\n,");
    return found;
}

// The first row determines the number of classes.
static int64_t count_classes(char *row)
{
    double number;
    int64_t n = -1;
    while (take_number(&row, &number))
        n++;
    return n;
}

static bool read_row(samples *s, reader *r, char *row)
{
    double number;
    row[strcspn(row, "#")] = '\0';
    row += strspn(row, " \t\r\n");
    if (*row == '\0')
        return true;
    if (s->n_classes == 0)
        s->n_classes = count_classes(row);
    if (s->n_classes < 2 || s->n_classes > 1000000)
        return complain(r, "a label and two scores are the least, in numbers");
    if (!grow(s, r))
        return false;
    if (!take_number(&row, &number) || number != floor(number) || number < 0 ||
        number >= (double)s->n_classes)
        return complain(r, "the label is none of the classes, which count from 0");
    s->labels[s->n] = (int32_t)number;
    for (int64_t c = 0; c < s->n_classes; c++) {
        if (!take_number(&row, &number) || !isfinite((float)number))
            return complain(r, "a score is missing, or no number");
        s->scores[s->n * s->n_classes + c] = (float)number;
    }
    s->n++;
    return *row == '\0' || complain(r, "more scores than in the first row, or something else");
}

bool samples_read(samples *out, const char *path)
{
    reader r = {.path = path};
    char *row = NULL;
    size_t size = 0;
    *out = (samples){0};
    FILE *file = open_input(path);
    if (file == NULL)
        return false;
    bool ok = true;
    for (r.line = 1; ok && getline(&row, &size, file) >= 0; r.line++)
        ok = read_row(out, &r, row);
    if (ok && ferror(file))
        ok = complain(&r, "cannot be read");
    else if (ok && out->n == 0)
        ok = complain(&r, "there is no sample");
    free(row);
    close_input(file);
    return ok;
}

bool samples_make(samples *s)
{
    chance state = 88172645463325252;
    const size_t n_scores = (size_t)(s->n * s->n_classes);
    double *share = malloc((size_t)s->n_classes * sizeof(*share));
    s->scores = malloc(n_scores * sizeof(*s->scores));
    s->labels = malloc((size_t)s->n * sizeof(*s->labels));
    const bool ok = is_there(share) && is_there(s->scores) && is_there(s->labels);
    for (int64_t i = 0; ok && i < s->n; i++) {
        double sum = 0;
        for (int64_t c = 0; c < s->n_classes; c++) {
            const double z = -1.5 * log(-log(chance_uniform(&state))); // some are large
            s->scores[i * s->n_classes + c] = (float)(s->temperature * z);
            sum += share[c] = exp(z);
        }
        double left = sum * chance_uniform(&state);
        int32_t label = 0;
        while (label < s->n_classes - 1 && left > share[label])
            left -= share[label++];
        s->labels[i] = label;
    }
    free(share);
    return ok;
}

void samples_free(samples *s)
{
    free(s->scores);
    free(s->labels);
}
