/* symbol_table.h - finds functions that a library does not export, by their names in its symbol
 * table.
 */
#ifndef TIDE_LIVE_SYMBOL_TABLE_H
#define TIDE_LIVE_SYMBOL_TABLE_H

#include <stdint.h>

/* Calls `visit` with the address of each function whose name contains `part`, until it returns
 * non-zero, and returns that value; 0: it never did, or the file has no symbol table, or is
 * damaged. `base`: where the library is loaded. */
int tide_symbol_table_visit(const char *file, uintptr_t base, const char *part,
                            int (*visit)(void *ctx, uintptr_t address), void *ctx);

#endif
