/* path_text_friend.h - paths of source files of any system, for comparisons.
 */
#ifndef TIDE_SNAPSHOT_PATH_TEXT_FRIEND_H
#define TIDE_SNAPSHOT_PATH_TEXT_FRIEND_H

#include <string.h>

enum { TIDE_PATH_TEXT = 512 }; /* bytes, with the terminating NUL */

/* The path with '/' between folders; if it is too long, its end. */
static inline void tide_path_text(const char *path, char ret_text[TIDE_PATH_TEXT]) {
    size_t n = strlen(path);
    const char *from = n >= TIDE_PATH_TEXT ? path + (n - TIDE_PATH_TEXT + 1) : path;
    size_t i = 0;
    for (; from[i] != '\0'; i++) {
        ret_text[i] = from[i] == '\\' ? '/' : from[i];
    }
    ret_text[i] = '\0';
}

#endif
