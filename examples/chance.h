// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same at every run.
#ifndef WEFT_EXAMPLES_CHANCE_H
#define WEFT_EXAMPLES_CHANCE_H

#include <stdint.h>

typedef uint64_t chance; // a seed that is not 0, to begin with

// Uniform between 0 and 1, neither included: Marsaglia, "Xorshift RNGs" (2003).
double chance_uniform(chance *c);

// 0 .. n - 1, each as likely.
int64_t chance_below(chance *c, int64_t n);

// Of mean 0 and variance 1: Box and Muller (1958).
double chance_normal(chance *c);

#endif
