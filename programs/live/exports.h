/* exports.h - the functions that the package finds by name in the process that is recorded. All do
 * nothing while nothing is recorded.
 */
#ifndef TIDE_LIVE_EXPORTS_H
#define TIDE_LIVE_EXPORTS_H

#include <stddef.h>
#include <stdint.h>

#define TIDE_LIVE_EXPORT __attribute__((visibility("default")))

/* Opens the log and attaches to PyTorch's allocator. Returns tide_attach_state. */
TIDE_LIVE_EXPORT int tidemark_live_attach(void);
TIDE_LIVE_EXPORT int tidemark_live_is_open(void);

/* Returns whether the mark was recorded. */
TIDE_LIVE_EXPORT int tidemark_live_mark(const char *name);
TIDE_LIVE_EXPORT uint32_t tidemark_live_scope_begin(const char *name);
TIDE_LIVE_EXPORT void tidemark_live_scope_end(uint32_t scope);

/* `name` may be NULL. certainty: 1 by rule, 2 named. */
TIDE_LIVE_EXPORT void tidemark_live_label(uint64_t address, const char *category, const char *name,
                                          int certainty);
/* The number of a text; UINT32_MAX while nothing is recorded. */
TIDE_LIVE_EXPORT uint32_t tidemark_live_text(const char *text);

/* Names n blocks at once, with numbers of texts; addresses of 0 are left out. */
TIDE_LIVE_EXPORT void tidemark_live_name(const uint64_t *addresses, const uint32_t *names, size_t n,
                                         uint32_t category);
TIDE_LIVE_EXPORT void tidemark_live_describe(const char *key, const char *value);

/* programs/live/modules.h says what these four are for. */
TIDE_LIVE_EXPORT void tidemark_live_module_code(const void *code);
TIDE_LIVE_EXPORT void tidemark_live_module(const void *module, const char *path);
TIDE_LIVE_EXPORT void tidemark_live_resolver(int (*resolver)(void *module));
TIDE_LIVE_EXPORT int tidemark_live_is_called(const void *module);

/* The innermost line of the program's own Python code that the calling thread is at: "main
 * (train.py:31)". 0: it is at none, or its frames cannot be read. For the virtual card. */
TIDE_LIVE_EXPORT int tidemark_live_place(char *ret_text, size_t n_text);

/* Has `tidemark recover` write what is recorded so far to the path. 0: it is there; -1: it could
 * not be written, and stderr says why. Waits for it. */
TIDE_LIVE_EXPORT int tidemark_live_snapshot(const char *path);

/* The process ends without what functions do at its end: the log is complete. */
TIDE_LIVE_EXPORT void tidemark_live_finish(void);

/* Rows so far. */
TIDE_LIVE_EXPORT uint64_t tidemark_live_n_rows(void);

/* For measuring what recording costs: the log has gaps afterwards. stacks: bits of
 * TIDE_LIVE_PYTHON and TIDE_LIVE_NATIVE. */
TIDE_LIVE_EXPORT void tidemark_live_pause(int is_paused, int stacks);

#endif
