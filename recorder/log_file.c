/* log_file.c - makes the log file under a temporary name, reserves and maps it, and gives it its
 * name.
 *
 * Several processes may start with the same log path at the same time, and the log of a crashed
 * process, which must survive, may be at the path. So the path is never opened for writing: a
 * complete file replaces the old one, after checking the old one under its lock.
 */
#define _GNU_SOURCE /* flock, realpath, O_TMPFILE */
#include "recorder/log_file_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "common/assert.h"
#include "common/text/bytes.h"
#include "common/files/checksum.h"
#include "common/clock.h"
#include "common/files/temporary_file.h"

enum { PATH_BYTES = 4096, MAX_TRIES = 8, ALIGNMENT = 64 };

/* ---- layout ---- */

static uint64_t align(uint64_t offset) {
    return (offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

tide_log_layout tide_log_layout_make(const tide_log_areas *areas) {
    tide_log_layout layout = {.magic = {'T', 'I', 'D', 'E', 'L', 'O', 'G', '\n'},
                              .version = TIDE_LOG_VERSION,
                              .header_bytes = TIDE_LOG_HEADER_BYTES,
                              .event_bytes = areas->event_bytes,
                              .scope_bytes = sizeof(tide_scope_row),
                              .byte_order = TIDE_LOG_BYTE_ORDER,
                              .full_policy = areas->full_policy,
                              .journal_offset = TIDE_LOG_HEADER_BYTES,
                              .journal_bytes = areas->journal_bytes / 8 * 8,
                              .max_scopes = areas->max_scopes,
                              .max_base = areas->max_base,
                              .max_events = areas->max_events,
                              .process_id = (uint64_t)getpid()};
    layout.scopes_offset = align(layout.journal_offset + layout.journal_bytes);
    layout.base_offset = align(layout.scopes_offset + layout.max_scopes * sizeof(tide_scope_row));
    layout.events_offset = align(layout.base_offset + layout.max_base * layout.event_bytes);
    layout.file_bytes = layout.events_offset + layout.max_events * layout.event_bytes;
    return layout;
}

/* In eighths of the file: four for events, one for the base. Our own runs open many scopes, which
 * get two; other programs open few, but refer to more stacks and names, so the journal has two and
 * a half instead of one. A log that stops needs no base; its events also get that share. */
tide_log_areas tide_log_areas_share(size_t file_bytes, size_t event_bytes, uint32_t full_policy) {
    const uint64_t most = UINT64_C(1) << 32; /* numbers of scopes have 32 bits */
    TIDE_ASSERT(file_bytes >= TIDE_LOG_MIN_BYTES && event_bytes >= sizeof(tide_event));
    uint64_t part_bytes = (file_bytes - TIDE_LOG_HEADER_BYTES - (size_t)3 * ALIGNMENT) / 8;
    uint64_t n_rows = part_bytes / event_bytes;
    bool is_ours = event_bytes == sizeof(tide_event);
    bool needs_base = full_policy != 0; /* TIDE_FULL_STOP */
    uint64_t max_scopes = (is_ours ? 2 * part_bytes : part_bytes / 2) / sizeof(tide_scope_row);
    return (tide_log_areas){.journal_bytes = is_ours ? part_bytes : 2 * part_bytes + part_bytes / 2,
                            .max_scopes = max_scopes < most ? max_scopes : most,
                            .max_base = needs_base ? n_rows : 0,
                            .max_events = (needs_base ? 4 : 5) * n_rows,
                            .event_bytes = (uint32_t)event_bytes,
                            .full_policy = full_policy};
}

/* ---- the existing file at the path ---- */

static tide_status no_log(const char *path, const char *what, tide_error *error) {
    return tide_fail(error, TIDE_IO, "the log %s cannot be made: %s: choose another file", path,
                     what);
}

/* Whether the descriptor is still the file at that path: it may have been renamed meanwhile. */
static bool is_at(int descriptor, const char *path) {
    struct stat opened;
    struct stat named;
    return fstat(descriptor, &opened) == 0 && stat(path, &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* Looks at the locked file. TIDE_OK: it is empty or a log, and *ret_is_left is true if a crash left
 * it with events in it. */
static tide_status look_at(int descriptor, const char *path, bool *ret_is_left, tide_error *error) {
    tide_log_header header;
    struct stat status;
    memset(&header, 0, sizeof(header));
    *ret_is_left = false;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
        return no_log(path, "it exists and is not a file", error);
    }
    if (status.st_size == 0) {
        return TIDE_OK;
    }
    ssize_t n_read = pread(descriptor, &header, sizeof(header), 0);
    if (n_read < (ssize_t)sizeof(header) ||
        memcmp(header.layout.magic, TIDE_LOG_MAGIC, sizeof(header.layout.magic)) != 0) {
        return no_log(path, "it exists and is no log of tidemark", error);
    }
    *ret_is_left = atomic_load(&header.counters.is_closed) == 0 &&
                   (atomic_load(&header.counters.n_written) > 0);
    return TIDE_OK;
}

/* Moves the log that a crash left to PATH.old. An older log at that path is replaced; any other
 * file is not. */
static tide_status keep(const char *path, tide_error *error) {
    char old[PATH_BYTES + 8];
    char magic[8] = "";
    (void)snprintf(old, sizeof(old), "%s.old", path);
    int descriptor = open(old, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_free = descriptor < 0 && errno == ENOENT;
    if (descriptor >= 0) {
        is_free = pread(descriptor, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
                  memcmp(magic, TIDE_LOG_MAGIC, sizeof(magic)) == 0;
        close(descriptor);
    }
    if (!is_free || rename(path, old) != 0) {
        return tide_fail(error, TIDE_IO,
                         "the log %s holds what a crash left, and it cannot be kept as %s: run "
                         "tidemark recover on it, then remove it",
                         path, old);
    }
    return TIDE_OK;
}

/* ---- the file before it has its name ---- */

/* Unnamed if the system supports it: a process that is killed now leaves nothing. */
typedef struct unfinished {
    int fd;
    bool has_name;
    tide_temporary_file named; /* if it has one */
    char self[32];             /* if unnamed: the path that leads to it */
} unfinished;

/* Returns 0 or errno. Readable only by the owner: the log contains names and paths of the
 * program. */
static int begin(const char *target, unfinished *ret) {
    char folder[PATH_BYTES];
    const char *slash = strrchr(target, '/');
    *ret = (unfinished){.fd = -1};
    (void)snprintf(folder, sizeof(folder), "%.*s", slash > target ? (int)(slash - target) : 1,
                   slash != NULL ? target : ".");
    if (access("/proc/self/fd", X_OK) == 0) {
        ret->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    }
    if (ret->fd >= 0) {
        (void)snprintf(ret->self, sizeof(ret->self), "/proc/self/fd/%d", ret->fd);
        return 0;
    }
    int reason = tide_temporary_file_open(target, S_IRUSR | S_IWUSR, &ret->named);
    ret->has_name = reason == 0;
    ret->fd = reason == 0 ? ret->named.fd : -1;
    return reason;
}

/* Replaces the file at the path. On false, errno has the reason. */
static bool replace(const unfinished *from, const char *path) {
    char name[PATH_BYTES];
    if (from->has_name) {
        return rename(from->named.path, path) == 0;
    }
    if (snprintf(name, sizeof(name), "%s.%ld", path, (long)getpid()) >= (int)sizeof(name)) {
        errno = ENAMETOOLONG;
        return false;
    }
    (void)unlink(name); /* left by an earlier process with this ID, killed between the next two
                           calls */
    return linkat(AT_FDCWD, from->self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 &&
           rename(name, path) == 0;
}

/* Unlike replace, it fails if another process put its log there meanwhile. */
static bool put(const unfinished *from, const char *path) {
    return from->has_name ? link(from->named.path, path) == 0
                          : linkat(AT_FDCWD, from->self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

static void forget(unfinished *of) {
    if (of->has_name) {
        tide_temporary_file_remove(&of->named); /* the file keeps its final name */
    }
}

/* Gives the finished file its name; by a link it then has two. *ret_again: another process was
 * faster, so the path must be checked again. */
static tide_status take_name(const unfinished *from, const char *path, bool *ret_again,
                             tide_error *error) {
    bool is_left = false;
    *ret_again = false;
    int there = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (there < 0) {
        if (errno != ENOENT) {
            return no_log(path, strerror(errno), error);
        }
        if (put(from, path)) {
            return TIDE_OK;
        }
        *ret_again = errno == EEXIST;
        return *ret_again || replace(from, path) ? TIDE_OK : no_log(path, strerror(errno), error);
    }
    tide_status status = TIDE_OK;
    /* A writer holds the lock until it ends, in whatever way: the lock is a more reliable sign of
     * use than anything written into the file. */
    if (flock(there, LOCK_EX | LOCK_NB) != 0) {
        status = no_log(path, "a running process writes it", error);
    } else if (!is_at(there, path)) {
        *ret_again = true;
    } else {
        status = look_at(there, path, &is_left, error);
        if (status == TIDE_OK && is_left) {
            status = keep(path, error);
        }
        if (status == TIDE_OK && !replace(from, path)) {
            status = no_log(path, strerror(errno), error);
        }
    }
    close(there);
    return status;
}

/* ---- the new file ---- */

/* Writes the absolute path, with the process ID for each "%p". */
static tide_status expand(const char *path, char ret_path[PATH_BYTES], tide_error *error) {
    char number[24];
    char folder[PATH_BYTES] = "";
    size_t n = 0;
    (void)snprintf(number, sizeof(number), "%" PRIu64, (uint64_t)getpid());
    if (path[0] != '/') {
        if (getcwd(folder, sizeof(folder)) == NULL) {
            return no_log(path, strerror(errno), error);
        }
        n = (size_t)snprintf(ret_path, PATH_BYTES, "%s/", folder);
    }
    for (const char *at = path; *at != '\0' && n < PATH_BYTES; at++) {
        bool is_number = at[0] == '%' && at[1] == 'p';
        n += (size_t)snprintf(ret_path + n, PATH_BYTES - n, is_number ? "%s" : "%.1s",
                              is_number ? number : at);
        at += is_number ? 1 : 0;
    }
    if (n >= PATH_BYTES - 16) {
        return no_log(path, strerror(ENAMETOOLONG), error);
    }
    char *target = realpath(ret_path, NULL); /* replace the target of a link, not the link */
    if (target != NULL && strlen(target) < PATH_BYTES - 16) {
        memcpy(ret_path, target, strlen(target) + 1);
    }
    free(target);
    return TIDE_OK;
}

static tide_status reserve(int descriptor, const char *path, size_t file_bytes, tide_error *error) {
    struct rlimit limit;
    struct statvfs disk;
    char need[TIDE_BYTES_TEXT];
    char have[TIDE_BYTES_TEXT];
    /* Beyond this limit the system would send SIGXFSZ instead of returning an error. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur < file_bytes) {
        return tide_fail(error, TIDE_IO,
                         "the log %s of %zu bytes is larger than files may be here (ulimit -f): "
                         "use a smaller log",
                         path, file_bytes);
    }
    /* A sparse file would end the program with SIGBUS when the disk is full and a row reaches a
     * hole. */
    int reason = posix_fallocate(descriptor, 0, (off_t)file_bytes);
    if (reason == 0) {
        return TIDE_OK;
    }
    int64_t free_bytes =
        fstatvfs(descriptor, &disk) == 0 ? (int64_t)(disk.f_bavail * disk.f_frsize) : -1;
    return tide_fail(error, TIDE_IO,
                     "the log %s cannot be reserved: %s: it needs %s (%zu bytes), the disk has %s "
                     "free: use a smaller log or another disk",
                     path, strerror(reason), tide_bytes_format((int64_t)file_bytes, need),
                     file_bytes, tide_bytes_format(free_bytes, have));
}

static tide_status map(tide_log_file *file, const tide_log_layout *layout, tide_error *error) {
    file->mapped_bytes = (size_t)layout->file_bytes;
    void *bytes =
        mmap(NULL, file->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file->descriptor, 0);
    if (bytes == MAP_FAILED) {
        return no_log(file->path, strerror(errno), error);
    }
    file->bytes = bytes;
    file->header = bytes;
    file->journal = file->bytes + layout->journal_offset;
    file->scopes = (tide_scope_row *)(void *)(file->bytes + layout->scopes_offset);
    file->base = (tide_event *)(void *)(file->bytes + layout->base_offset);
    file->events = (tide_event *)(void *)(file->bytes + layout->events_offset);
    file->header->layout = *layout;
    file->header->layout.created_unix_us = tide_clock_unix_us();
    file->header->layout.created_clock_ns = tide_clock_now_ns();
    file->header->layout.checksum =
        tide_crc32(0, &file->header->layout, offsetof(tide_log_layout, checksum));
    atomic_store(&file->header->counters.paused_at, TIDE_LOG_NEVER);
    return TIDE_OK;
}

static tide_status settle(const unfinished *from, const char *path, tide_error *error) {
    bool again = true;
    for (int i = 0; i < MAX_TRIES && again; i++) {
        TIDE_TRY(take_name(from, path, &again, error));
    }
    return again ? no_log(path, "other processes keep making it", error) : TIDE_OK;
}

tide_status tide_log_file_open_as(const tide_hostmem *mem, const char *path,
                                  const tide_log_layout *layout, tide_log_file *ret_file,
                                  tide_error *error) {
    char expanded[PATH_BYTES];
    unfinished from;
    tide_log_file file = {.mem = mem, .descriptor = -1};
    TIDE_TRY(expand(path, expanded, error));
    file.path = tide_hostmem_text(mem, expanded);
    if (file.path == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the log %s: no host memory", path);
    }
    tide_status status = TIDE_OK;
    int reason = begin(expanded, &from);
    if (reason != 0) {
        status = no_log(path, strerror(reason), error);
        goto fail_make;
    }
    file.descriptor = from.fd;
    (void)flock(file.descriptor, LOCK_EX | LOCK_NB); /* succeeds: no other process has opened the
                                                        file */
    status = reserve(file.descriptor, path, (size_t)layout->file_bytes, error);
    if (status != TIDE_OK) {
        goto fail_reserve;
    }
    status = map(&file, layout, error);
    if (status != TIDE_OK) {
        goto fail_reserve;
    }
    status = settle(&from, file.path, error);
    if (status != TIDE_OK) {
        goto fail_settle;
    }
    forget(&from);
    *ret_file = file;
    return TIDE_OK;

fail_settle:
    munmap(file.bytes, file.mapped_bytes);
fail_reserve:
    close(file.descriptor);
    forget(&from);
fail_make:
    mem->release(mem->ctx, file.path);
    return status;
}

tide_status tide_log_file_open(const tide_hostmem *mem, const char *path, size_t file_bytes,
                               size_t event_bytes, uint32_t full_policy, tide_log_file *ret_file,
                               tide_error *error) {
    if (file_bytes < TIDE_LOG_MIN_BYTES) {
        return tide_fail(error, TIDE_INVALID,
                         "the log %s of %zu bytes is too small: give it 1MiB at least", path,
                         file_bytes);
    }
    const tide_log_areas areas = tide_log_areas_share(file_bytes, event_bytes, full_policy);
    tide_log_layout layout = tide_log_layout_make(&areas);
    return tide_log_file_open_as(mem, path, &layout, ret_file, error);
}

tide_event_log_memory tide_log_file_memory(const tide_log_file *file) {
    const tide_log_layout *layout = &file->header->layout;
    return (tide_event_log_memory){.row_bytes = layout->event_bytes,
                                   .rows = file->events,
                                   .max_events = (size_t)layout->max_events,
                                   .base = file->base,
                                   .max_base = (size_t)layout->max_base,
                                   .counters = &file->header->counters};
}

void tide_log_file_close(tide_log_file *file) {
    if (file->bytes == NULL) {
        return;
    }
    const tide_log_layout *layout = &file->header->layout;
    atomic_store(&file->header->counters.is_closed, 1);
    if (!is_at(file->descriptor, file->path) || tide_log_file_compact(file) != TIDE_OK) {
        uint64_t n_rows = atomic_load(&file->header->counters.n_written);
        n_rows = n_rows < layout->max_events ? n_rows : layout->max_events;
        /* The unused rest only wastes disk space, so a failure to cut it off does not matter. */
        int ignored = ftruncate(file->descriptor,
                                (off_t)(layout->events_offset + n_rows * layout->event_bytes));
        (void)ignored;
    }
    munmap(file->bytes, file->mapped_bytes);
    close(file->descriptor);
    file->mem->release(file->mem->ctx, file->path);
    *file = (tide_log_file){.descriptor = -1};
}
