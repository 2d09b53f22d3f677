#define _GNU_SOURCE /* syscall, ftruncate */
#include "programs/virtual_cuda/nccl/folder.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "programs/wire/run_account.h"
#include "common/text/setting.h"
#include "programs/virtual_cuda/process/run_folder.h"

bool tide_vc_folder_write(const char *name, const void *bytes, size_t n_bytes) {
    bool is_allowed = tide_vc_may_reach(n_bytes);
    int file = is_allowed ? tide_vc_run_open(name, O_WRONLY | O_CREAT | O_TRUNC) : -1;
    size_t n_written = 0;
    while (file >= 0 && n_written < n_bytes) {
        ssize_t n = write(file, (const char *)bytes + n_written, n_bytes - n_written);
        if (n <= 0) {
            break;
        }
        n_written += (size_t)n;
    }
    if (file >= 0) {
        (void)close(file);
    }
    if (file >= 0 && n_written < n_bytes) {
        tide_vc_folder_remove(name);
    }
    return file >= 0 && n_written == n_bytes;
}

bool tide_vc_folder_read(const char *name, void *to, size_t n_bytes) {
    int file = tide_vc_run_open(name, O_RDONLY);
    size_t n_read = 0;
    while (file >= 0 && n_read < n_bytes) {
        ssize_t n = read(file, (char *)to + n_read, n_bytes - n_read);
        if (n <= 0) {
            break;
        }
        n_read += (size_t)n;
    }
    if (file >= 0) {
        (void)close(file);
    }
    return file >= 0 && n_read == n_bytes;
}

void tide_vc_folder_remove(const char *name) {
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/%s", tide_setting(TIDE_RUN_FOLDER_VARIABLE), name);
    if (n > 0 && (size_t)n < sizeof(path)) {
        (void)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    }
}

/* All processes that share a file ask for the same length. */
void *tide_vc_folder_map(const char *name, size_t n_bytes) {
    void *at = MAP_FAILED;
    int file = tide_vc_run_open(name, O_RDWR | O_CREAT);
    if (file < 0) {
        return NULL;
    }
    if (tide_vc_may_reach(n_bytes) && ftruncate(file, (off_t)n_bytes) == 0) {
        at = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    (void)close(file);
    return at != MAP_FAILED ? at : NULL;
}

void tide_vc_folder_unmap(void *at, size_t n_bytes) {
    (void)munmap(at, n_bytes);
}
