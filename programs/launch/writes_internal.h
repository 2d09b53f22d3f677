/* writes_internal.h - what counting and keeping share. */
#ifndef TIDE_LAUNCH_WRITES_INTERNAL_H
#define TIDE_LAUNCH_WRITES_INTERNAL_H

#include <stdbool.h>

/* Whether the link with this path says that something is gone. */
bool tide_writes_is_gone(const char *path);

#endif
