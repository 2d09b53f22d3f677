/* The file of a sweep: one line for the grid and one for each finished row. A row is on disk before
 * the next cell begins. */
#define _DEFAULT_SOURCE /* flock */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/sweep/internal.h"
#include "common/files/output_file.h"
#include "common/files/text_file.h"

static const size_t MAX_FILE_BYTES = (size_t)1 << 31;

/* ---- reading ---- */

/* Adds the row. It replaces an earlier row of the cell that failed or crashed, because the cell was
 * tried again. */
static tide_status add_row(tide_sweep *sweep, tide_sweep_row *row, tide_error *error) {
    if (row->cell < sweep->n_cells && sweep->rows[row->cell] != NULL &&
        tide_sweep_is_failed(sweep->rows[row->cell])) {
        tide_sweep_row_destroy(sweep->rows[row->cell]);
        sweep->rows[row->cell] = NULL;
        sweep->n_rows--;
    }
    return tide_sweep_add(sweep, row, error);
}

static tide_status take_line(const char *line, size_t number, tide_sweep *sweep,
                             tide_error *error) {
    const char *end = NULL;
    cJSON *json = cJSON_ParseWithOpts(line, &end, true);
    if (number == 1) {
        return json == NULL ? tide_fail(error, TIDE_FORMAT, "it is not the file of a sweep")
                            : tide_sweep_init(sweep, json, error);
    }
    tide_sweep_row *row = NULL;
    tide_status status =
        json == NULL ? tide_fail(error, TIDE_FORMAT,
                                 "it is not JSON: delete the line, or start without --resume")
                     : tide_sweep_row_from_json(json, &row, error);
    cJSON_Delete(json);
    /* A row that was read is not NULL; clang's analyzer does not always follow that. */
    if (status == TIDE_OK && row != NULL) {
        status = add_row(sweep, row, error);
    }
    if (status != TIDE_OK) {
        tide_sweep_row_destroy(row);
    }
    return status;
}

tide_status tide_sweep_read(const char *path, tide_sweep *ret_sweep, size_t *ret_good_bytes,
                            bool *ret_was_cut, tide_error *error) {
    char *text = NULL;
    size_t n_bytes = 0;
    *ret_sweep = (tide_sweep){.header = NULL};
    TIDE_TRY(tide_text_file_read(path, MAX_FILE_BYTES, &text, &n_bytes, error));
    tide_status status = TIDE_OK;
    size_t number = 0;
    size_t at = 0;
    while (status == TIDE_OK && at < n_bytes) {
        char *end = memchr(text + at, '\n', n_bytes - at);
        if (end == NULL) {
            break; /* its writer was interrupted in the middle of the line */
        }
        *end = '\0';
        number++;
        status = take_line(text + at, number, ret_sweep, error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "%s: line %zu", path, number);
        }
        at = (size_t)(end - text) + 1;
    }
    if (status == TIDE_OK && number == 0) {
        status = tide_fail(error, TIDE_FORMAT,
                           "%s has no complete line, so it is not the file of a sweep", path);
    }
    *ret_good_bytes = at;
    *ret_was_cut = at < n_bytes;
    tide_hostmem_default()->release(tide_hostmem_default()->ctx, text);
    return status;
}

/* ---- writing ---- */

/* Writes the whole line, and returns once it is on disk; on failure, no part of it remains. */
static tide_status write_line(int fd, const char *path, const cJSON *json, tide_error *error) {
    char *text = json != NULL ? cJSON_PrintUnformatted(json) : NULL;
    off_t start = lseek(fd, 0, SEEK_END);
    if (text == NULL || start < 0) {
        cJSON_free(text);
        return tide_fail(error, text == NULL ? TIDE_NO_MEMORY : TIDE_IO,
                         "%s: a row could not be written", path);
    }
    size_t n_bytes = strlen(text);
    text[n_bytes++] = '\n'; /* replaces the NUL, so one write has the whole line */
    size_t n_written = 0;
    while (n_written < n_bytes) {
        ssize_t n = write(fd, text + n_written, n_bytes - n_written);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        n_written += (size_t)n;
    }
    bool is_written = n_written == n_bytes;
    int reason = errno;
    if (is_written && fdatasync(fd) != 0 && errno != EINVAL) {
        is_written = false;
        reason = errno;
    }
    cJSON_free(text);
    if (!is_written) {
        (void)!ftruncate(fd, start); /* if this also fails, the reader skips the half line */
        return tide_fail(error, TIDE_IO,
                         "%s: a row could not be written: %s; the cell counts as not run", path,
                         strerror(reason));
    }
    return TIDE_OK;
}

static tide_status write_json(tide_output_file *file, cJSON *json, tide_error *error) {
    char *text = json != NULL ? cJSON_PrintUnformatted(json) : NULL;
    if (text == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "%s: a row could not be written", file->path);
    }
    (void)tide_output_file_write(file, text,
                                 strlen(text)); /* an error is kept and reported by the commit */
    (void)tide_output_file_write(file, "\n", 1);
    cJSON_free(text);
    return TIDE_OK;
}

static tide_status not_ours(const char *path, const char *what, tide_error *error) {
    return tide_fail(error, TIDE_FORMAT,
                     "%s: %s; the file was not changed: name another file with -o", path, what);
}

/* Whether the shorter text is a prefix of the other. */
static bool is_beginning(const char *text, size_t n_text, const char *whole) {
    size_t n = strlen(whole);
    return memcmp(text, whole, n_text < n ? n_text : n) == 0;
}

/* Bytes after the last whole line may be cut off only if they are the beginning of a row of this
 * grid, which its writer could not finish. */
static tide_status check_half_row(const char *path, int fd, size_t at, const tide_sweep *sweep,
                                  tide_error *error) {
    char text[TIDE_RUN_NAME_BYTES + 64];
    char row[TIDE_RUN_NAME_BYTES + 64];
    ssize_t n = pread(fd, text, sizeof(text) - 1, (off_t)at);
    if (n < 0) {
        return tide_fail(error, TIDE_IO, "%s: %s", path, strerror(errno));
    }
    for (size_t i = 0; i < sweep->n_cells; i++) {
        (void)snprintf(row, sizeof(row), "{\"cell\":%zu,\"name\":\"%s%s", i,
                       sweep->names[i] != NULL ? sweep->names[i] : "",
                       sweep->names[i] != NULL ? "\"," : "");
        if (is_beginning(text, (size_t)n, row)) {
            return TIDE_OK;
        }
    }
    return not_ours(path, "its last line has no end and is not the beginning of a row", error);
}

/* Moves all rows into a sweep of the same grid, which has none. */
static tide_status move_rows(tide_sweep *into, tide_sweep *from, tide_error *error) {
    for (size_t i = 0; i < from->n_cells; i++) {
        if (from->rows[i] != NULL) {
            TIDE_TRY(tide_sweep_add(into, from->rows[i], error));
            from->rows[i] = NULL;
            from->n_rows--;
        }
    }
    return TIDE_OK;
}

tide_status tide_sweep_look(const char *path, tide_sweep *sweep, tide_error *error) {
    struct stat there;
    tide_sweep found;
    size_t n_good_bytes = 0;
    bool was_cut = false;
    if (stat(path, &there) != 0 && errno == ENOENT) {
        return TIDE_OK;
    }
    tide_status status = tide_sweep_read(path, &found, &n_good_bytes, &was_cut, error);
    if (status == TIDE_OK) {
        status = tide_sweep_check_same(sweep, &found, error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "%s is of another grid", path);
        }
    }
    if (status == TIDE_OK) {
        status = move_rows(sweep, &found, error);
    }
    tide_sweep_fini(&found);
    return status;
}

/* Moves the rows of the existing file into the sweep. */
static tide_status take_over(const char *path, int fd, tide_sweep *sweep, tide_error *error) {
    tide_sweep found;
    size_t n_good_bytes = 0;
    bool was_cut = false;
    tide_status status = tide_sweep_read(path, &found, &n_good_bytes, &was_cut, error);
    if (status == TIDE_OK) {
        status = tide_sweep_check_same(sweep, &found, error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "%s is of another grid", path);
        }
    }
    if (status == TIDE_OK && (found.shard != sweep->shard || found.n_shards != sweep->n_shards)) {
        status = tide_fail(error, TIDE_INVALID,
                           "%s is of another part: of %zu/%zu there and %zu/%zu here", path,
                           found.shard, found.n_shards, sweep->shard, sweep->n_shards);
    }
    if (status == TIDE_OK && was_cut) {
        status = check_half_row(path, fd, n_good_bytes, sweep, error);
    }
    if (status == TIDE_OK && was_cut) {
        tide_cli_note(
            "sweep",
            "%s: the incomplete row at its end is left out, because its writer was interrupted",
            path);
        status = ftruncate(fd, (off_t)n_good_bytes) == 0
                     ? TIDE_OK
                     : tide_fail(error, TIDE_IO, "%s: %s", path, strerror(errno));
    }
    if (status == TIDE_OK) {
        status = move_rows(sweep, &found, error);
    }
    tide_sweep_fini(&found);
    return status;
}

/* ret_is_half: the file contains only a prefix of this sweep's first line: its writer was
 * interrupted before anything was measured. TIDE_FORMAT if it contains no complete line and not
 * such a prefix. */
static tide_status look_for_header(const char *path, const tide_sweep *sweep, bool *ret_is_half,
                                   tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    char *text = NULL;
    size_t n_bytes = 0;
    tide_status status = tide_text_file_read(path, MAX_FILE_BYTES, &text, &n_bytes, error);
    if (status != TIDE_OK || text == NULL) {
        return status;
    }
    char *header = cJSON_PrintUnformatted(sweep->header);
    *ret_is_half = memchr(text, '\n', n_bytes) == NULL;
    if (header == NULL) {
        status = tide_fail(error, TIDE_NO_MEMORY, "there is no host memory to read %s", path);
    } else if (*ret_is_half && (n_bytes > strlen(header) || !is_beginning(text, n_bytes, header))) {
        status = not_ours(path, "it is not the file of a sweep", error);
    }
    cJSON_free(header);
    mem->release(mem->ctx, text);
    return status;
}

/* Continues a file that exists and may be empty. */
static tide_status go_on(const char *path, bool resumes, int fd, tide_sweep *sweep,
                         tide_error *error) {
    struct stat there;
    bool is_half = true;
    if (fstat(fd, &there) != 0 || !S_ISREG(there.st_mode)) {
        return tide_fail(error, TIDE_IO, "%s is not a regular file: name another one with -o",
                         path);
    }
    if (there.st_size > 0 && !resumes) {
        return tide_fail(
            error, TIDE_INVALID,
            "%s already exists: continue with it by --resume, or name another file with -o", path);
    }
    if (there.st_size > 0) {
        TIDE_TRY(look_for_header(path, sweep, &is_half, error));
    }
    if (!is_half) {
        return take_over(path, fd, sweep, error);
    }
    if (there.st_size > 0) {
        tide_cli_note(
            "sweep",
            "%s has no complete line, because its writer was interrupted: it is begun anew", path);
        if (ftruncate(fd, 0) != 0) {
            return tide_fail(error, TIDE_IO, "%s: %s", path, strerror(errno));
        }
    }
    return write_line(fd, path, sweep->header, error);
}

/* Makes a file with only the header. If that cannot be written, no file is left. */
static tide_status make_file(const char *path, const tide_sweep *sweep, tide_error *error) {
    tide_output_file file;
    TIDE_TRY(tide_output_file_open(path, &file, error));
    tide_status status = write_json(&file, sweep->header, error);
    if (status != TIDE_OK) {
        tide_output_file_abandon(&file);
        return status;
    }
    return tide_output_file_commit_new(&file, error);
}

tide_status tide_sweep_file_open(const char *path, bool resumes, tide_sweep *sweep,
                                 tide_sweep_file *ret_file, tide_error *error) {
    struct stat there;
    bool is_new = stat(path, &there) != 0 && errno == ENOENT;
    *ret_file = (tide_sweep_file){.fd = -1, .path = path};
    if (is_new) {
        TIDE_TRY(make_file(path, sweep, error));
    }
    int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return tide_fail(error, TIDE_IO, "%s cannot be written: %s: name another file with -o",
                         path, strerror(errno));
    }
    tide_status status = TIDE_OK;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        status = tide_fail(error, TIDE_INVALID,
                           "%s: another sweep is writing it: name another file with -o", path);
    } else if (!is_new) {
        status = go_on(path, resumes, fd, sweep, error);
    }
    if (status != TIDE_OK) {
        (void)close(fd); /* nothing was written that could be lost */
        return status;
    }
    ret_file->fd = fd;
    return TIDE_OK;
}

tide_status tide_sweep_file_append(tide_sweep_file *file, const tide_sweep_row *row,
                                   tide_error *error) {
    cJSON *json = tide_sweep_row_to_json(row);
    tide_status status = write_line(file->fd, file->path, json, error);
    cJSON_Delete(json);
    return status;
}

void tide_sweep_file_close(tide_sweep_file *file) {
    if (file->fd >= 0) {
        (void)close(file->fd); /* every row is already on disk */
        file->fd = -1;
    }
}

static tide_status write_rows(tide_output_file *file, const tide_sweep *sweep, tide_error *error) {
    TIDE_TRY(write_json(file, sweep->header, error));
    for (size_t i = 0; i < sweep->n_cells; i++) {
        if (sweep->rows[i] != NULL) {
            cJSON *json = tide_sweep_row_to_json(sweep->rows[i]);
            tide_status status = write_json(file, json, error);
            cJSON_Delete(json);
            TIDE_TRY(status);
        }
    }
    return TIDE_OK;
}

tide_status tide_sweep_write(const char *path, const tide_sweep *sweep, tide_error *error) {
    tide_output_file file;
    TIDE_TRY(tide_output_file_open(path, &file, error));
    tide_status status = write_rows(&file, sweep, error);
    if (status != TIDE_OK) {
        tide_output_file_abandon(&file);
        return status;
    }
    return tide_output_file_commit_new(&file, error);
}
