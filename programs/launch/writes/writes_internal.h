/* writes_internal.h - shared by counting and keeping. */
#ifndef TIDE_LAUNCH_WRITES_INTERNAL_H
#define TIDE_LAUNCH_WRITES_INTERNAL_H

#include <stdbool.h>

/* Whether the link with this path marks a deleted file. */
bool tide_writes_is_gone(const char *path);

#endif
