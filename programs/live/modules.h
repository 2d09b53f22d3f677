/* modules.h - which module of the program's is being called, read from the frames of Python's.
 *
 * The first local variable of torch.nn.Module's _wrapped_call_impl is the module. The package gives
 * its path ("h.3.attn") when it is asked: at the first sight of a module that has none yet.
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

/* The code object whose first local variable is a module; NULL: none. */
void tide_live_set_module_code(const void *code);

/* Gives the object that path; NULL: the object is gone. */
void tide_live_name_module(const void *module, const char *path);

/* Called with an unknown module that other modules may lie in, in the interpreter's main thread.
 * Afterwards everything it knows must have been named. */
void tide_live_set_resolver(int (*resolver)(void *module));

/* Whether a frame of the calling thread holds the module: then it is alive. */
bool tide_live_is_called(const void *module);

void tide_live_modules_reset(void);

#endif
