/* modules.h - the program's module that is being called, read from Python's frames.
 *
 * The first local variable of torch.nn.Module's _wrapped_call_impl is the module. The package
 * supplies its path ("h.3.attn") on request: when a module without a name is first seen.
 */
#ifndef TIDE_LIVE_MODULES_H
#define TIDE_LIVE_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/live/python/python_frames.h"

/* The path of the innermost module that is called in these frames, innermost first, as a string of
 * the recording; TIDE_NONE: none, or it has no name yet. */
uint32_t tide_live_find_module(const tide_python_frame *frames, size_t n_frames);

/* The code object whose first local variable is a module; NULL if there is none. */
void tide_live_set_module_code(const void *code);

/* Sets the object's path; NULL: the object is gone. */
void tide_live_name_module(const void *module, const char *path);

/* Called in the interpreter's main thread with an unknown module that may contain other modules. It
 * must name every module it knows. */
void tide_live_set_resolver(int (*resolver)(void *module));

/* Whether a frame of the calling thread holds the module, which proves that it is alive. */
bool tide_live_is_called(const void *module);

void tide_live_modules_reset(void);

#endif
