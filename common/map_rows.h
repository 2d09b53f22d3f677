/* map_rows.h - rows of one type by 64-bit keys, zeroed when their key is new.
 *
 * Not thread-safe. A zeroed table is empty and needs no call before its use; its memory is that of
 * tide_hostmem_default, and lives as long as the process.
 */
#ifndef TIDE_COMMON_MAP_ROWS_H
#define TIDE_COMMON_MAP_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "common/map.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_map_rows {
    tide_map places; /* from keys to places in `rows` */
    void *rows;
    size_t n, room;
} tide_map_rows;

/* The row of the key; `row_bytes` is the same in each call. NULL: no host memory, and the key is
 * not in the table. Valid until the next call. */
void *tide_map_rows_at(tide_map_rows *of, uint64_t key, size_t row_bytes);

#ifdef __cplusplus
}
#endif

#endif
