/* devices.h - makes the files by which programs look for a card: /dev/nvidia0, /dev/nvidiactl,
 * /proc/driver/nvidia/version and so on.
 *
 * They are in FOLDER/card, at their own paths, and the view of files shows them to the program
 * (programs/scratch/devices.h). What the driver writes into a file is there as a text; the files of
 * /dev are empty.
 */
#ifndef TIDE_LAUNCH_DEVICES_H
#define TIDE_LAUNCH_DEVICES_H

#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `folder`: of the run. `cards`: of the config. TIDE_IO with the path that cannot be made. */
TIDE_NODISCARD tide_status tide_launch_make_devices(const char *folder, const char *cards,
                                                    tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
