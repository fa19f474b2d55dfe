// SPDX-License-Identifier: Apache-2.0
// Arrays that grow.
#ifndef WEFT_LIB_ROOM_H
#define WEFT_LIB_ROOM_H

#include <stdlib.h>

// An array from malloc(), or NULL, with room for more than n elements; without memory it stays as
// it is, and so does *room.
static inline void *with_room(void *array, size_t *room, size_t n, size_t size)
{
    if (n < *room)
        return array;
    const size_t more = 2 * *room + 16;
    void *moved = realloc(array, more * size);
    if (!moved)
        return array;
    *room = more;
    return moved;
}

// Makes room for one more behind the n elements of *array. False without memory.
#define ROOM_FOR_ONE(array, room, n)                                                               \
    (*(array) = with_room(*(array), room, n, sizeof(**(array))), (n) < *(room))

#endif
