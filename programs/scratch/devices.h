/* devices.h - the files by which programs look for a card: /dev/nvidia*, /proc/driver/nvidia* and
 * /sys/module/nvidia*.
 *
 * On virtual cards, RUN/card has the program's view of them, at the same paths
 * (programs/launch/devices/devices.h). The real files of these names are hidden. A file of
 * /dev/nvidia* is only a name in RUN/card: the program reaches /dev/null in its place, which is a
 * character device, as a card is. RUN/card is apart from the copies: it exists also with real
 * writes, and nothing in it counts as written.
 *
 * Other files of /dev, /proc and /sys stay real.
 */
#ifndef TIDE_SCRATCH_DEVICES_H
#define TIDE_SCRATCH_DEVICES_H

#include <stdbool.h>
#include <stddef.h>

#include "programs/scratch/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the path may be one of these files or one of their parents. Cheap, and often wrong; false
 * without a virtual card. */
bool tide_scratch_may_be_device(const char *path);

/* Whether the path is one of these files. Programs cannot change, remove or make them: -EPERM. */
bool tide_scratch_is_device(int at, const char *path);

/* The absolute path without "." and ".." of a path below the descriptor's folder, if it is one of
 * these files. They need not exist. */
bool tide_scratch_device_name(int at, const char *path, char ret_name[TIDE_SCRATCH_PATH_BYTES]);

/* The real path of the file that the program sees there. False: the path is none of these files. */
bool tide_scratch_device(int at, const char *path, char ret_path[TIDE_SCRATCH_PATH_BYTES]);

/* The folder of RUN/card that is merged into a real folder, /dev or /proc/driver or /sys/module.
 * False: the absolute path is none of these, or there is no virtual card. */
bool tide_scratch_device_parent(const char *path, char ret_path[TIDE_SCRATCH_PATH_BYTES]);

/* Whether a name in such a folder is hidden, because the card's file is at its place. */
bool tide_scratch_device_hides(const char *name);

#ifdef __cplusplus
}
#endif

#endif
