/* symbols.h - what the return addresses of this process mean: function, file, line, inlined calls.
 *
 * Each distinct address is looked up once. Not thread-safe; different symbolisers may be used by
 * different threads. Addresses must be those of this process, in code that is still loaded.
 */
#ifndef TIDE_SNAPSHOT_SYMBOLS_H
#define TIDE_SNAPSHOT_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "common/strings.h"
#include "snapshot/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_symbols tide_symbols;

/* Texts go into `strings`. Both are borrowed and outlive the symboliser. The caller destroys it. */
TIDE_NODISCARD tide_status tide_symbols_create(const tide_hostmem *mem, tide_strings *strings,
                                               tide_symbols **ret_symbols);
void tide_symbols_destroy(tide_symbols *symbols);

/* The frames that a return address stands for, innermost first: inlined functions, then the one
 * they were inlined into. At least one; without any symbol its function is "0xOFFSET in MODULE".
 * The frames are valid until the next call. */
TIDE_NODISCARD tide_status tide_symbols_resolve(tide_symbols *symbols, uint64_t return_address,
                                                const tide_frame_row **ret_frames,
                                                size_t *ret_n_frames);

#ifdef __cplusplus
}
#endif

#endif
