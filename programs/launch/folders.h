/* folders.h - the user's folders in which tidemark keeps files between runs. */
#ifndef TIDE_LAUNCH_FOLDERS_H
#define TIDE_LAUNCH_FOLDERS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether the absolute path, which may be NULL, is a folder. Some accounts have a home that does
 * not exist, and root could create it. */
bool tide_folder_exists(const char *path);

/* Makes the folder and its parents, accessible only to this user. False: one cannot be made. The
 * path is unchanged afterwards. */
bool tide_folder_make_all(char *path);

#ifdef __cplusplus
}
#endif

#endif
