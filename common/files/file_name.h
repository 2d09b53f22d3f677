/* file_name.h - the parts of the names of snapshots.
 */
#ifndef TIDE_COMMON_FILE_NAME_H
#define TIDE_COMMON_FILE_NAME_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of a snapshot's path without the ending of its format, such as .json.gz or .pickle. */
size_t tide_file_stem_bytes(const char *path);

#ifdef __cplusplus
}
#endif

#endif
