// SPDX-License-Identifier: Apache-2.0
// The version, from the numbers in <weft/api.h>.
#include <weft/api.h>

#define TEXT_OF(x)      #x
#define DOTTED(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

const char *weft_version(void)
{
    return DOTTED(WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH);
}
