/* place.c - the program's current line in the calling thread. */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/text/setting.h"
#include "programs/live/exports.h"
#include "programs/live/python/python_frames.h"

enum { MAX_FRAMES = 256, FILE_BYTES = 1024, FUNCTION_BYTES = 256 };

/* Files in these folders are not the program's own. */
static bool is_library(const char *file) {
    static const char *const FOLDERS[] = {"site-packages", "dist-packages", "/lib/python",
                                          "<frozen", "<string>"};
    const char *own = tide_setting("TIDEMARK_PYTHON");
    for (size_t i = 0; i < sizeof(FOLDERS) / sizeof(FOLDERS[0]); i++) {
        if (strstr(file, FOLDERS[i]) != NULL) {
            return true;
        }
    }
    return own != NULL && strncmp(file, own, strlen(own)) == 0;
}

int tidemark_live_place(char *ret_text, size_t n_text) {
    tide_python_frame frames[MAX_FRAMES];
    char file[FILE_BYTES];
    char function[FUNCTION_BYTES];
    size_t n = tide_python_frames_begin(NULL) ? tide_python_frames_walk(frames, MAX_FRAMES) : 0;
    for (size_t i = 0; i < n; i++) {
        int line =
            tide_python_frames_describe(&frames[i], file, sizeof(file), function, sizeof(function));
        if (line > 0 && !is_library(file)) {
            const char *slash = strrchr(file, '/');
            const char *name = slash != NULL ? slash + 1 : file;
            int n_used = function[0] == '<'
                             ? snprintf(ret_text, n_text, "%s:%d", name, line)
                             : snprintf(ret_text, n_text, "%s (%s:%d)", function, name, line);
            return n_used > 0 && (size_t)n_used < n_text;
        }
    }
    return 0;
}
