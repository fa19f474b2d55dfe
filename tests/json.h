// SPDX-License-Identifier: Apache-2.0
// Numbers and texts out of a JSON object that must have them. Include after cmocka.
#ifndef WEFT_TESTS_JSON_H
#define WEFT_TESTS_JSON_H

#include <math.h>

#include <jansson.h>

static inline double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value))
        fail_msg("there is no number '%s'", key);
    assert_true(isfinite(json_number_value(value)));
    return json_number_value(value);
}

static inline const char *string(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (text == NULL)
        fail_msg("there is no string '%s'", key);
    return text;
}

#endif
