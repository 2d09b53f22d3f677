/* symbols_internal.h - for the symboliser: the files of another process's modules. */
#ifndef TIDE_SNAPSHOT_SYMBOLS_INTERNAL_H
#define TIDE_SNAPSHOT_SYMBOLS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/document/symbols.h"

enum { TIDE_MODULE_PATH = 4096 };

/* symbols_module.c. Finds the module's file: at its path, or its debug information under
 * /usr/lib/debug. False: the file is missing or differs. *ret_is_fixed: its addresses are absolute,
 * as in programs that cannot be relocated. */
bool tide_symbol_module_find(const tide_symbol_module *module, char ret_path[TIDE_MODULE_PATH],
                             bool *ret_is_fixed);

/* symbols_states.c. libbacktrace's view of the file at `path`, or NULL. libbacktrace cannot free a
 * view, which takes some 100 MB with line tables, so the process keeps one for each file: the
 * processes of one program load the same libraries. Thread-safe. Only if libbacktrace is present.
 */
struct backtrace_state *tide_symbol_state(const char *path, bool is_fixed);

/* libbacktrace's address of the file's offset 0. libbacktrace assumes that a position-independent
 * file is loaded where this process's program is, the first entry of the dynamic linker. */
uintptr_t tide_symbol_base(bool is_fixed);

#endif
