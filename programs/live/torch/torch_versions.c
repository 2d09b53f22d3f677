/* torch_versions.c - tests/live/torch_offsets.cpp prints a row from a wheel's headers. The tracker
 * exists since PyTorch 2.2; the first 48 bytes of a TraceEntry are the same in all versions. */
#define _POSIX_C_SOURCE 200809L
#include "programs/live/torch/torch_versions.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, FILE_BYTES = 4096 };

static const tide_torch_version VERSIONS[] = {
    {"2.2", 26, 8, 0, 24, TIDE_TORCH_OWNER_SHARED},
    {"2.3", 28, 10, 0, 24, TIDE_TORCH_OWNER_SHARED},
    {"2.4", 28, 10, 0, 24, TIDE_TORCH_OWNER_SHARED},
    {"2.5", 30, 10, 0, 24, TIDE_TORCH_OWNER_SHARED},
    {"2.6", 35, 10, 0, 24, TIDE_TORCH_OWNER_SHARED},
    {"2.7", 35, 10, 0, 24, TIDE_TORCH_OWNER_SHARED},
    {"2.8", 38, 10, 48, 24, TIDE_TORCH_OWNER_SHARED},
    {"2.9", 39, 6, 48, 24, TIDE_TORCH_OWNER_SHARED},
    {"2.10", 44, 6, 48, 24, TIDE_TORCH_OWNER_SHARED},
    {"2.11", 44, 6, 48, 24, TIDE_TORCH_OWNER_SHARED},
    {"2.12", 46, 6, 48, 24, TIDE_TORCH_OWNER_SHARED},
    {"2.13", 48, 6, 48, 16, TIDE_TORCH_OWNER_INTRUSIVE},
    {"2.14", 50, 6, 48, 16, TIDE_TORCH_OWNER_INTRUSIVE},
};

const tide_torch_version *tide_torch_version_of(const char *version) {
    static const tide_torch_version UNKNOWN = {"", -1, -1, 0, 0, TIDE_TORCH_OWNER_UNKNOWN};
    for (size_t i = 0; i < sizeof(VERSIONS) / sizeof(VERSIONS[0]); i++) {
        size_t n = strlen(VERSIONS[i].name);
        if (strncmp(VERSIONS[i].name, version, n) == 0 && !isdigit((unsigned char)version[n])) {
            return &VERSIONS[i];
        }
    }
    return &UNKNOWN;
}

/* "/x/torch/lib/libc10_cuda.so" -> "/x/torch/version.py" */
static bool beside(const char *library, char ret_path[PATH_BYTES]) {
    if (snprintf(ret_path, PATH_BYTES, "%s", library) >= PATH_BYTES) {
        return false;
    }
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(ret_path, '/');
        if (slash == NULL) {
            return false;
        }
        *slash = '\0';
    }
    size_t n = strlen(ret_path);
    return snprintf(ret_path + n, PATH_BYTES - n, "/version.py") < (int)(PATH_BYTES - n);
}

bool tide_torch_read_version(const char *library, char *ret_version, size_t n_room) {
    static const char KEY[] = "__version__ = '";
    char path[PATH_BYTES];
    char text[FILE_BYTES];
    int fd = beside(library, path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return false;
    }
    ssize_t n = read(fd, text, sizeof(text) - 1);
    (void)close(fd); /* was only read */
    text[n > 0 ? n : 0] = '\0';
    const char *begin = strstr(text, KEY);
    begin = begin != NULL ? begin + strlen(KEY) : NULL;
    size_t n_version = begin != NULL ? strcspn(begin, "'\n") : 0;
    if (n_version == 0 || n_version >= n_room) {
        return false;
    }
    memcpy(ret_version, begin, n_version);
    ret_version[n_version] = '\0';
    return true;
}
