#define _POSIX_C_SOURCE 200809L
#include "programs/launch/folders.h"

#include <errno.h>
#include <stddef.h>
#include <sys/stat.h>

bool tide_folder_exists(const char *path) {
    struct stat info;
    return path != NULL && path[0] == '/' && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool make(const char *path) {
    return mkdir(path, S_IRWXU) == 0 || errno == EEXIST;
}

bool tide_folder_make_all(char *path) {
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            bool ok = make(path);
            *at = '/';
            if (!ok) {
                return false;
            }
        }
    }
    return make(path);
}
