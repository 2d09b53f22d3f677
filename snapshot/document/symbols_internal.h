/* symbols_internal.h - the files of modules of another process, for the symboliser. */
#ifndef TIDE_SNAPSHOT_SYMBOLS_INTERNAL_H
#define TIDE_SNAPSHOT_SYMBOLS_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "snapshot/document/symbols.h"

enum { TIDE_MODULE_PATH = 4096 };

/* symbols_module.c. Finds the file that the module was: at its path, or its debug information below
 * /usr/lib/debug. False: it is not here, or another one. *ret_is_fixed: its addresses are absolute,
 * as in programs that cannot be moved. */
bool tide_symbol_module_find(const tide_symbol_module *module, char ret_path[TIDE_MODULE_PATH],
                             bool *ret_is_fixed);

/* symbols_states.c. libbacktrace's view of the file at `path`, or NULL. libbacktrace cannot free a
 * view, which takes some 100 MB with line tables, so the process has one for each file: programs of
 * many processes load the same libraries. Thread-safe. Only where there is libbacktrace. */
struct backtrace_state *tide_symbol_state(const char *path, bool is_fixed);

/* libbacktrace's address of the file's offset 0. It assumes that a position-independent file is
 * loaded where the program of this process is, the first entry that the dynamic linker reports. */
uintptr_t tide_symbol_base(bool is_fixed);

#endif
