/* symbols.h - turns return addresses into function, file, line and inlined calls.
 *
 * Each distinct address is looked up once. Not thread-safe; different threads may use different
 * symbolisers. Addresses are in code that this process has loaded now, or in files that another
 * process had loaded.
 */
#ifndef TIDE_SNAPSHOT_SYMBOLS_H
#define TIDE_SNAPSHOT_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "common/hostmem.h"
#include "common/status.h"
#include "common/text/strings.h"
#include "snapshot/document/snapshot.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_symbols tide_symbols;

/* Texts go into `strings`. `mem` and `strings` are borrowed and must outlive the symboliser. The
 * caller destroys it. */
TIDE_NODISCARD tide_status tide_symbols_create(const tide_hostmem *mem, tide_strings *strings,
                                               tide_symbols **ret_symbols);

/* Code that another process had loaded. Everything is borrowed. */
typedef struct tide_symbol_module {
    const char *path;              /* of its file; "" unknown */
    const unsigned char *build_id; /* build_id_bytes bytes */
    size_t build_id_bytes;         /* 0: it has none */
    uint64_t file_bytes;           /* of the file; 0: unknown */
    int64_t modified_s;            /* the file's time of modification, Unix */
} tide_symbol_module;

/* For addresses of tide_symbol_address. A module's file is read only if it is unchanged: by its
 * build-id, or without one by size and time of modification. Else its frames are "0xOFFSET in
 * MODULE". Paths and files are untrusted: nothing of them is executed. */
TIDE_NODISCARD tide_status tide_symbols_create_for(const tide_hostmem *mem, tide_strings *strings,
                                                   const tide_symbol_module *modules,
                                                   size_t n_modules, tide_symbols **ret_symbols);

/* The return address at `offset`, in the file's own terms, in module number `module`. The offset is
 * cut to 48 bits. TIDE_SYMBOL_NO_MODULE: `offset` is an address in no known module. */
#define TIDE_SYMBOL_NO_MODULE UINT64_C(0xffff)
uint64_t tide_symbol_address(uint64_t module, uint64_t offset);
uint64_t tide_symbol_module_of(uint64_t address); /* the number of its module */

/* The number of modules that were looked up in, and of those whose file is missing or changed. */
void tide_symbols_count_modules(const tide_symbols *symbols, size_t *ret_n_used,
                                size_t *ret_n_absent);

void tide_symbols_destroy(tide_symbols *symbols);

/* The frames of a return address, innermost first: inlined functions, then the function that they
 * were inlined into. At least one; without a symbol its function is "0xOFFSET in MODULE". The
 * frames are valid until the next call. */
TIDE_NODISCARD tide_status tide_symbols_resolve(tide_symbols *symbols, uint64_t return_address,
                                                const tide_frame_row **ret_frames,
                                                size_t *ret_n_frames);

#ifdef __cplusplus
}
#endif

#endif
