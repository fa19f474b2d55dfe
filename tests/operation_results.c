// SPDX-License-Identifier: Apache-2.0
// Outputs of operations as they are before a call, and what a call made of them.
#include "operation_case.h"
#include "queues.h"

enum { UNTOUCHED = 0xa5 };

void operation_clear(operation_operands *o)
{
    unsigned char untouched[OPERATION_BYTES];
    memset(untouched, UNTOUCHED, sizeof(untouched));
    memset(o->sizes, UNTOUCHED, sizeof(o->sizes));
    for (int i = 0; i < OPERATION_OUTPUTS; i++)
        assert_int_equal(clEnqueueWriteBuffer(o->in_order, o->outputs[i], CL_FALSE, 0,
                                              sizeof(untouched), untouched, 0, NULL, NULL),
                         CL_SUCCESS);
    assert_int_equal(clFinish(o->in_order), CL_SUCCESS);
}

void operation_read(const operation_operands *o, operation_results *out)
{
    queue_finish(o->queue);
    memcpy(out->sizes, o->sizes, sizeof(out->sizes));
    for (int i = 0; i < OPERATION_OUTPUTS; i++)
        assert_int_equal(clEnqueueReadBuffer(o->in_order, o->outputs[i], CL_FALSE, 0,
                                             sizeof(out->bytes[i]), out->bytes[i], 0, NULL, NULL),
                         CL_SUCCESS);
    assert_int_equal(clFinish(o->in_order), CL_SUCCESS);
}

bool operation_is_clear(const operation_results *results)
{
    const unsigned char *byte = &results->bytes[0][0];
    size_t i = 0;
    while (i < sizeof(results->bytes) && byte[i] == UNTOUCHED)
        i++;
    return i == sizeof(results->bytes);
}
