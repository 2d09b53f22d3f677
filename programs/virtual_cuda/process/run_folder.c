#define _GNU_SOURCE /* syscall */
#include "programs/virtual_cuda/process/run_folder.h"

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "programs/wire/run_account.h"
#include "common/text/setting.h"

bool tide_vc_has_run_folder(void) {
    const char *folder = tide_setting(TIDE_RUN_FOLDER_VARIABLE);
    return folder != NULL && folder[0] != '\0';
}

int tide_vc_run_open(const char *name, int flags) {
    char path[PATH_MAX];
    if (!tide_vc_has_run_folder()) {
        return -1;
    }
    int n = snprintf(path, sizeof(path), "%s/%s", tide_setting(TIDE_RUN_FOLDER_VARIABLE), name);
    if (n < 0 || (size_t)n >= sizeof(path)) {
        return -1;
    }
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
}

bool tide_vc_may_reach(uint64_t n_bytes) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           limit.rlim_cur >= n_bytes;
}
