/* exports.h - the functions that the package finds by name in the recorded process. All do nothing
 * while nothing is recorded.
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

/* Names n blocks in one call, with numbers of texts; addresses of 0 are skipped. */
TIDE_LIVE_EXPORT void tidemark_live_name(const uint64_t *addresses, const uint32_t *names, size_t n,
                                         uint32_t category);
TIDE_LIVE_EXPORT void tidemark_live_describe(const char *key, const char *value);

/* programs/live/modules.h explains these four. */
TIDE_LIVE_EXPORT void tidemark_live_module_code(const void *code);
TIDE_LIVE_EXPORT void tidemark_live_module(const void *module, const char *path);
TIDE_LIVE_EXPORT void tidemark_live_resolver(int (*resolver)(void *module));
TIDE_LIVE_EXPORT int tidemark_live_is_called(const void *module);

/* The file of a Python frame in the recorded stacks, by its number: 0, 1, ... in the order of their
 * first use; NULL: there are fewer. *ret_line is 0 if it is unknown. */
TIDE_LIVE_EXPORT const char *tidemark_live_line(size_t number, int *ret_line);

/* The innermost line of the program's own Python code in the calling thread: "main (train.py:31)".
 * 0: there is none, or its frames cannot be read. For the virtual card. */
TIDE_LIVE_EXPORT int tidemark_live_place(char *ret_text, size_t n_text);

/* Runs `tidemark recover` to write the recording so far to the path, and waits for it. 0: written;
 * -1: it could not be written, and the reason is on stderr. */
TIDE_LIVE_EXPORT int tidemark_live_snapshot(const char *path);

/* copy.c. Makes a copy of the process that can do nothing but compute and write to a pipe. Returns
 * 0 in the copy, where *ret_fd is the pipe's end for writing, and the copy's process id in the
 * process itself, where it is the end for reading; -1: it could not be made. */
TIDE_LIVE_EXPORT int tidemark_live_copy(int *ret_fd);
/* Ends the copy, which calls this. */
TIDE_LIVE_EXPORT void tidemark_live_copy_end(void);
/* Reads what the copy writes until it ends, but no longer than that, and ends it. Returns the
 * number of bytes. */
TIDE_LIVE_EXPORT size_t tidemark_live_copy_wait(int pid, int fd, char *ret_text, size_t n_room,
                                                int most_ms);

/* After a failed request, all tensors have their names (box/black_box.h). */
TIDE_LIVE_EXPORT void tidemark_live_named(void);

/* The process ends without running exit handlers: marks the log as complete. */
TIDE_LIVE_EXPORT void tidemark_live_finish(void);

/* The number of rows so far. */
TIDE_LIVE_EXPORT uint64_t tidemark_live_n_rows(void);

/* For measuring the cost of recording: the log has gaps afterwards. stacks: bits of
 * TIDE_LIVE_PYTHON and TIDE_LIVE_NATIVE. */
TIDE_LIVE_EXPORT void tidemark_live_pause(int is_paused, int stacks);

#endif
