#define _DEFAULT_SOURCE /* flock */
#include "model/commands/record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/hostmem.h"
#include "common/files/output_file.h"

/* ---- the lock ---- */

/* A file that only this process may replace. */
typedef struct locked_file {
    const char *path; /* borrowed; as the caller wrote it */
    int fd;           /* owned; the file that `path` leads to, locked */
    size_t n_bytes;   /* its size */
} locked_file;

static tide_status cannot(const char *path, const char *what, tide_error *error) {
    return tide_fail(error, TIDE_IO, "%s cannot be %s: %s; name another file", path, what,
                     strerror(errno));
}

/* *ret_is_there: false if the file does not exist. O_NONBLOCK keeps a pipe of that name from
 * blocking the open; it is refused below. */
static tide_status open_file(locked_file *file, bool *ret_is_there, tide_error *error) {
    struct stat info;
    file->fd = open(file->path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    *ret_is_there = file->fd >= 0 || errno != ENOENT;
    if (file->fd < 0) {
        return *ret_is_there ? cannot(file->path, "opened", error) : TIDE_OK;
    }
    if (fstat(file->fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(file->fd);
        return tide_fail(error, TIDE_IO,
                         "%s is not a regular file, which records need; name another file",
                         file->path);
    }
    return TIDE_OK;
}

/* Waits for its turn. *ret_again: another writer replaced the file meanwhile, so the lock is on a
 * file without a name; open the new one and wait again. */
static tide_status wait_for_lock(locked_file *file, bool *ret_again, tide_error *error) {
    struct stat mine;
    struct stat named;
    int result;
    do {
        result = flock(file->fd, LOCK_EX);
    } while (result != 0 && errno == EINTR);
    if (result != 0 || fstat(file->fd, &mine) != 0) {
        tide_status status = cannot(file->path, "locked", error);
        close(file->fd);
        return status;
    }
    *ret_again =
        stat(file->path, &named) != 0 || named.st_dev != mine.st_dev || named.st_ino != mine.st_ino;
    file->n_bytes = (size_t)mine.st_size;
    if (*ret_again) {
        close(file->fd);
    }
    return TIDE_OK;
}

/* *ret_is_there: false if there is no file, so nothing is locked. */
static tide_status lock_file(const char *path, locked_file *ret_file, bool *ret_is_there,
                             tide_error *error) {
    locked_file file = {.path = path};
    bool again = true;
    while (again) {
        TIDE_TRY(open_file(&file, ret_is_there, error));
        if (!*ret_is_there) {
            return TIDE_OK;
        }
        TIDE_TRY(wait_for_lock(&file, &again, error));
    }
    *ret_file = file;
    return TIDE_OK;
}

/* ---- reading ---- */

/* One record of the file, without the line break that ends it. */
typedef struct record {
    const char *begin, *end; /* in the file's text */
    size_t n_fields;         /* at least 1 */
    size_t line;             /* counted from 1 */
} record;

/* Reads the whole file and adds a NUL. The caller releases the text. */
static tide_status read_file(const locked_file *file, char **ret_text, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    size_t n_read = 0;
    if (file->n_bytes > TIDE_RECORD_MAX_BYTES) {
        return tide_fail(error, TIDE_LIMIT,
                         "%s has more than the limit of %d bytes; begin another file", file->path,
                         (int)TIDE_RECORD_MAX_BYTES);
    }
    char *text = tide_hostmem_zeroed(mem, file->n_bytes + 1, 1);
    if (text == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "there is no host memory to read %s", file->path);
    }
    while (n_read < file->n_bytes) {
        ssize_t n = pread(file->fd, text + n_read, file->n_bytes - n_read, (off_t)n_read);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            tide_status status = cannot(file->path, "read", error);
            mem->release(mem->ctx, text);
            return status;
        }
        n_read += (size_t)n;
    }
    if (memchr(text, '\0', file->n_bytes) != NULL) {
        mem->release(mem->ctx, text);
        return tide_fail(error, TIDE_FORMAT,
                         "%s is not a CSV file: it holds a NUL byte; name another file",
                         file->path);
    }
    *ret_text = text;
    return TIDE_OK;
}

static const char *skip_mark(const char *text) {
    return strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? text + 3 : text; /* a byte order mark */
}

/* One past the field's last character; NULL if the closing quote is missing, or text follows it. */
static const char *field_end(const char *at, size_t *line) {
    if (*at != '"') {
        return at + strcspn(at, ",\r\n");
    }
    for (at++; *at != '\0'; at++) {
        if (*at == '"' && at[1] == '"') {
            at++;
        } else if (*at == '"') {
            at++;
            return *at == '\0' || strchr(",\r\n", *at) != NULL ? at : NULL;
        }
        *line += *at == '\n';
    }
    return NULL;
}

/* Reads the next record, skipping empty lines; *ret_found is false at the end of the file. *at and
 * *line move from its beginning to that of the next one. */
static tide_status next_record(const char *path, const char **at, size_t *line, record *ret_record,
                               bool *ret_found, tide_error *error) {
    const char *from = *at;
    *ret_found = false;
    *ret_record = (record){.begin = NULL};
    for (; *from == '\n' || *from == '\r'; from++) {
        *line += *from == '\n';
    }
    if (*from == '\0') {
        return TIDE_OK;
    }
    record read = {.begin = from, .n_fields = 1, .line = *line};
    for (;;) {
        from = field_end(from, line);
        if (from == NULL) {
            return tide_fail(error, TIDE_FORMAT,
                             "%s, line %zu: the quotes of field %zu do not enclose it; repair the "
                             "line, or name another file",
                             path, read.line, read.n_fields);
        }
        if (*from != ',') {
            break;
        }
        read.n_fields++;
        from++;
    }
    read.end = from;
    *at = from;
    *ret_found = true;
    *ret_record = read;
    return TIDE_OK;
}

/* ---- the header ---- */

/* The places of the rows' columns in the file. */
typedef struct header {
    record names;                           /* the file's header; begin NULL: the file is empty */
    size_t n_old;                           /* columns that the file has */
    size_t places[TIDE_RECORD_MAX_COLUMNS]; /* place in the file of each of the rows' columns */
    size_t n_all;                           /* columns of the file afterwards, old and new */
} header;

/* Whether the field of the file at `begin` .. `end`, quoted or not, has this text. */
static bool is_field(const char *begin, const char *end, const char *text) {
    bool is_quoted = begin < end && *begin == '"';
    begin += is_quoted;
    end -= is_quoted;
    while (begin < end && *text == *begin) {
        begin += is_quoted && *begin == '"' ? 2 : 1;
        text++;
    }
    return begin >= end && *text == '\0';
}

/* Place of the column in the file's header; n_fields if it is missing. */
static size_t find_column(const record *names, const char *column) {
    const char *at = skip_mark(names->begin);
    size_t line = 0;
    for (size_t i = 0; i < names->n_fields; i++) {
        const char *end = field_end(at, &line);
        if (is_field(at, end, column)) {
            return i;
        }
        at = end + 1;
    }
    return names->n_fields;
}

static tide_status match_columns(const char *path, const tide_record_rows *rows, header *of,
                                 tide_error *error) {
    size_t n_shared = 0;
    of->n_old = of->names.begin != NULL ? of->names.n_fields : 0;
    of->n_all = of->n_old;
    for (size_t i = 0; i < rows->n_columns; i++) {
        size_t place = of->n_old > 0 ? find_column(&of->names, rows->columns[i]) : 0;
        n_shared += place < of->n_old;
        of->places[i] = place < of->n_old ? place : of->n_all++;
    }
    if (of->n_old > 0 && n_shared == 0) {
        return tide_fail(error, TIDE_FORMAT,
                         "%s, line 1: there is no column '%s', so the file holds other rows and "
                         "was not changed; name another file",
                         path, rows->columns[0]);
    }
    if (of->n_all > TIDE_RECORD_MAX_COLUMNS) {
        return tide_fail(error, TIDE_LIMIT,
                         "%s would have %zu columns, more than the limit of %d; begin another file",
                         path, of->n_all, (int)TIDE_RECORD_MAX_COLUMNS);
    }
    return TIDE_OK;
}

/* ---- writing ----
 * The output file remembers the first error and reports it at the commit, so single writes need not
 * be checked. */

static void put(tide_output_file *out, const char *begin, size_t n_bytes) {
    (void)tide_output_file_write(out, begin, n_bytes);
}

static void put_text(tide_output_file *out, const char *text) {
    put(out, text, strlen(text));
}

/* Quotes the field only if CSV requires it, so rows stay readable. */
static void put_field(tide_output_file *out, const char *text) {
    size_t n = strlen(text);
    bool is_bare =
        strpbrk(text, ",\"\r\n") == NULL && n > 0 && text[0] != ' ' && text[n - 1] != ' ';
    if (is_bare) {
        put(out, text, n);
        return;
    }
    put_text(out, "\"");
    for (; *text != '\0'; text++) {
        put(out, text, 1);
        if (*text == '"') {
            put(out, text, 1);
        }
    }
    put_text(out, "\"");
}

static void put_header(tide_output_file *out, const tide_record_rows *rows, const header *of) {
    if (of->n_old > 0) {
        put(out, of->names.begin, (size_t)(of->names.end - of->names.begin));
    }
    for (size_t i = 0; i < rows->n_columns; i++) {
        if (of->places[i] >= of->n_old) { /* in the order in which they were given places */
            put_text(out, of->places[i] > 0 ? "," : "");
            put_field(out, rows->columns[i]);
        }
    }
    put_text(out, "\n");
}

static void put_row(tide_output_file *out, const tide_record_rows *rows, const header *of,
                    size_t row) {
    for (size_t place = 0; place < of->n_all; place++) {
        const char *text = "0";
        for (size_t i = 0; i < rows->n_columns; i++) {
            text = of->places[i] == place ? rows->cells[row * rows->n_columns + i] : text;
        }
        put_text(out, place > 0 ? "," : "");
        put_field(out, text);
    }
    put_text(out, "\n");
}

/* Copies every record after the header and fills it up with zeros. */
static tide_status put_old_rows(tide_output_file *out, const char *path, const header *of,
                                const char *at, size_t line, tide_error *error) {
    record old;
    bool found = true;
    for (;;) {
        TIDE_TRY(next_record(path, &at, &line, &old, &found, error));
        if (!found) {
            return TIDE_OK;
        }
        if (old.n_fields > of->n_old) {
            return tide_fail(error, TIDE_FORMAT,
                             "%s, line %zu has %zu fields, but the header has %zu; repair the "
                             "line, or name another file",
                             path, old.line, old.n_fields, of->n_old);
        }
        put(out, old.begin, (size_t)(old.end - old.begin));
        for (size_t i = old.n_fields; i < of->n_all; i++) {
            put_text(out, ",0");
        }
        put_text(out, "\n");
    }
}

static tide_status put_all(tide_output_file *out, const char *path, const char *text,
                           const tide_record_rows *rows, tide_error *error) {
    header of = {.n_old = 0};
    const char *at = text;
    size_t line = 1;
    bool found = false;
    TIDE_TRY(next_record(path, &at, &line, &of.names, &found, error));
    TIDE_TRY(match_columns(path, rows, &of, error));
    put_header(out, rows, &of);
    TIDE_TRY(put_old_rows(out, path, &of, at, line, error));
    for (size_t row = 0; row < rows->n_rows; row++) {
        put_row(out, rows, &of, row);
    }
    return TIDE_OK;
}

/* Rewrites the file: its current `text`, then the rows. Without `keeps`, everything is done except
 * the final rename, so a check finds the errors that an append would. `is_new`: the file does not
 * exist yet, and none may be replaced. */
static tide_status rewrite(const char *path, const char *text, const tide_record_rows *rows,
                           bool keeps, bool is_new, tide_error *error) {
    tide_output_file out;
    TIDE_TRY(tide_output_file_open(path, &out, error));
    tide_status status = put_all(&out, path, text, rows, error);
    if (status != TIDE_OK || !keeps) {
        tide_output_file_abandon(&out);
        return status;
    }
    return is_new ? tide_output_file_commit_new(&out, error) : tide_output_file_commit(&out, error);
}

static tide_status rewrite_locked(locked_file *file, const tide_record_rows *rows, bool keeps,
                                  tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    char *text = NULL;
    tide_status status = read_file(file, &text, error);
    if (status == TIDE_OK && text != NULL) {
        status = rewrite(file->path, text, rows, keeps, false, error);
    }
    mem->release(mem->ctx, text);
    close(file->fd); /* this releases the lock */
    return status;
}

static tide_status lock_and_rewrite(const char *path, const tide_record_rows *rows, bool keeps,
                                    tide_error *error) {
    locked_file file;
    bool is_there = false;
    if (path[0] == '\0') {
        return tide_fail(error, TIDE_INVALID, "the file for records has no name: give it one");
    }
    TIDE_TRY(lock_file(path, &file, &is_there, error));
    if (!is_there) {
        tide_status status = rewrite(path, "", rows, keeps, true, error);
        if (status != TIDE_INVALID) {
            return status;
        }
        TIDE_TRY(lock_file(path, &file, &is_there, error)); /* another writer made it first */
        if (!is_there) {
            return status; /* and it has been removed since */
        }
    }
    return rewrite_locked(&file, rows, keeps, error);
}

tide_status tide_record_append(const char *path, const tide_record_rows *rows, tide_error *error) {
    return lock_and_rewrite(path, rows, true, error);
}

tide_status tide_record_check(const char *path, tide_error *error) {
    static const char *const COLUMN[] = {"name"};
    const tide_record_rows none = {COLUMN, 1, NULL, 0};
    return lock_and_rewrite(path, &none, false, error);
}
