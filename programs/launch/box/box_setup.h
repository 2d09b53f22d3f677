/* box_setup.h - the environment of a black box (programs/live/box/black_box.h). */
#ifndef TIDE_LAUNCH_BOX_SETUP_H
#define TIDE_LAUNCH_BOX_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_box_config {
    const char *folder; /* of snapshots */
    const char *ring;   /* of rings; NULL: `folder` */
    uint64_t keep_s;
    uint64_t log_bytes;
    const char *stacks;
    uint64_t max_frames; /* of a stack; 0: all */
    bool makes_folders;  /* on this machine, now */
} tide_box_config;

typedef struct tide_box_variable {
    const char *name;
    char value[4096];
    bool is_joined; /* the variable's present value follows, after a colon */
} tide_box_variable;

enum { TIDE_BOX_VARIABLES = 11 };

typedef struct tide_box_setup {
    tide_box_variable variables[TIDE_BOX_VARIABLES];
    size_t n;
} tide_box_setup;

/* Folders become absolute. TIDE_IO: one cannot be made or written to; TIDE_UNSUPPORTED: the library
 * was not installed with this program; TIDE_INVALID: a path has a character that a variable cannot
 * have. */
TIDE_NODISCARD tide_status tide_box_setup_make(const tide_box_config *config, tide_box_setup *ret,
                                               tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
