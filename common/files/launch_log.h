/* launch_log.h - how a launch log begins, the file that programs/wire/run_launches.h describes.
 *
 * Readers of other files recognise it by this, and name it in their errors.
 */
#ifndef TIDE_COMMON_LAUNCH_LOG_H
#define TIDE_COMMON_LAUNCH_LOG_H

#include <stdint.h>

/* The first 8 bytes, little-endian: "tidelau2". The last digit is the version. */
#define TIDE_RUN_LAUNCHES_MAGIC UINT64_C(0x3275616c65646974)

/* The same as text. */
#define TIDE_RUN_LAUNCHES_TEXT "tidelau2"

#endif
