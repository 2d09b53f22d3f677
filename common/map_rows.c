#include "common/map_rows.h"

#include <string.h>

#include "common/assert.h"

void *tide_map_rows_at(tide_map_rows *of, uint64_t key, size_t row_bytes) {
    uint64_t place = of->n;
    TIDE_ASSERT(row_bytes > 0);
    bool is_new = !tide_map_find(&of->places, key, &place);
    TIDE_ASSERT(place <= of->n);
    if (is_new) {
        void *larger =
            tide_hostmem_grow(tide_hostmem_default(), of->rows, &of->room, of->n + 1, row_bytes);
        if (larger == NULL) {
            return NULL;
        }
        of->rows = larger;
        if (tide_map_put(&of->places, key, place) != TIDE_OK) {
            return NULL;
        }
        memset((char *)of->rows + place * row_bytes, 0, row_bytes);
        of->n++;
    }
    return (char *)of->rows + place * row_bytes;
}
