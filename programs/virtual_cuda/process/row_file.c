#define _GNU_SOURCE /* fallocate, ftruncate, mmap */
#include "programs/virtual_cuda/process/row_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "programs/virtual_cuda/process/run_folder.h"

/* One piece of the file is mapped at a time. It begins at a whole page, at or before the first byte
 * that is asked for, so rows never cross two pieces. */
enum { PAGE_BYTES = 65536, PIECE_BYTES = 16 * PAGE_BYTES };

_Static_assert(PAGE_BYTES + TIDE_VC_ROW_FILE_MOST_BYTES <= PIECE_BYTES,
               "a piece holds any request");

/* Extends the file to that length. Its blocks are allocated now: touching a page without a block on
 * a full disk would end the program.
 */
static bool extend(int fd, off_t end) {
    if (!tide_vc_may_reach((uint64_t)end)) {
        return false;
    }
    if (fallocate(fd, 0, 0, end) == 0) {
        return true;
    }
    return errno != ENOSPC && errno != EDQUOT && ftruncate(fd, end) == 0;
}

static void unmap(tide_vc_row_file *file) {
    if (file->mapped != NULL) {
        (void)munmap(file->mapped, PIECE_BYTES);
        file->mapped = NULL;
    }
}

static bool next_piece(tide_vc_row_file *file) {
    size_t at = file->n_bytes / PAGE_BYTES * PAGE_BYTES;
    unmap(file);
    if (!extend(file->fd, (off_t)(at + PIECE_BYTES))) {
        return false;
    }
    void *mapped = mmap(NULL, PIECE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file->fd, (off_t)at);
    if (mapped == MAP_FAILED) {
        return false;
    }
    file->mapped = mapped;
    file->mapped_at = at;
    return true;
}

static bool begin(tide_vc_row_file *file) {
    char name[64];
    (void)snprintf(name, sizeof(name), "%ld%s", (long)getpid(), file->suffix);
    file->fd = tide_vc_run_open(name, O_RDWR | O_CREAT | O_TRUNC);
    file->is_open = file->fd >= 0;
    file->n_bytes = 0;
    if (!file->is_open || !next_piece(file)) {
        return false;
    }
    memcpy(file->mapped, file->header, file->header_bytes);
    file->n_bytes = file->header_bytes;
    return true;
}

void *tide_vc_row_file_next(tide_vc_row_file *file, size_t n_bytes) {
    /* The environment is searched only once: this is called for each launch. */
    if (file->has_failed || (!file->is_open && !tide_vc_has_run_folder()) ||
        n_bytes > TIDE_VC_ROW_FILE_MOST_BYTES) {
        return NULL;
    }
    bool is_ready = file->is_open || begin(file);
    if (is_ready && file->n_bytes + n_bytes > file->mapped_at + PIECE_BYTES) {
        is_ready = next_piece(file);
    }
    if (!is_ready) {
        file->has_failed = true;
        return NULL;
    }
    void *next = file->mapped + (file->n_bytes - file->mapped_at);
    file->n_bytes += n_bytes;
    return next;
}

void tide_vc_row_file_forget(tide_vc_row_file *file) {
    unmap(file);
    if (file->is_open) {
        (void)close(file->fd);
    }
    file->is_open = false;
}
