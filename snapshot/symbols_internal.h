/* symbols_internal.h - the files of modules of another process, for the symboliser. */
#ifndef TIDE_SNAPSHOT_SYMBOLS_INTERNAL_H
#define TIDE_SNAPSHOT_SYMBOLS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "snapshot/symbols.h"

enum { TIDE_MODULE_PATH = 4096 };

/* symbols_module.c. Finds the file that the module was: at its path, or its debug information below
 * /usr/lib/debug. False: it is not here, or another one. *ret_is_fixed: its addresses are absolute,
 * as in programs that cannot be moved. */
bool tide_symbol_module_find(const tide_symbol_module *module, char ret_path[TIDE_MODULE_PATH],
                             bool *ret_is_fixed);

#endif
