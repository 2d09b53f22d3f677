/* folders.h - folders of the user's in which tidemark keeps something between runs. */
#ifndef TIDE_LAUNCH_FOLDERS_H
#define TIDE_LAUNCH_FOLDERS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the absolute path, which may be NULL, leads to a folder. Some accounts have a home that
 * does not exist, which root could make. */
bool tide_folder_exists(const char *path);

/* Makes the folder and those above it, each for this user alone. False: one cannot be made. The
 * path is the same afterwards. */
bool tide_folder_make_all(char *path);

#ifdef __cplusplus
}
#endif

#endif
