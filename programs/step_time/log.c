#include "programs/step_time/log.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/event.h"

enum { MAX_TEXT_BYTES = 1 << 16, ROW_BYTES = sizeof(tide_run_launch) };

/* The file while it is read. */
typedef struct reader {
    FILE *file;
    const char *path;
    tide_time_log *log;
    uint32_t *numbers; /* of the file's texts, in the table; owned */
    size_t n_numbers, numbers_room;
    size_t rows_room;
    size_t n_read; /* rows of the file so far, including those of texts */
} reader;

static tide_status nonsense(const reader *from, const char *what, tide_error *error) {
    return tide_fail(error, TIDE_FORMAT, "%s: row %zu of the launch log: %s", from->path,
                     from->n_read, what);
}

/* The bytes of a text follow its row, padded to whole rows. */
static tide_status read_text(reader *from, uint64_t n_bytes, tide_error *error) {
    static const char CUT[] = "the file ends within a text";
    char text[MAX_TEXT_BYTES + ROW_BYTES];
    if (n_bytes > MAX_TEXT_BYTES) {
        return nonsense(from, "a text has more than 65,536 bytes", error);
    }
    size_t n_rows = ((size_t)n_bytes + ROW_BYTES - 1) / ROW_BYTES;
    if (fread(text, ROW_BYTES, n_rows, from->file) != n_rows) {
        return nonsense(from, CUT, error);
    }
    from->n_read += n_rows;
    if (memchr(text, '\0', (size_t)n_bytes) != NULL) {
        return nonsense(from, "a text has a zero in it", error);
    }
    uint32_t *numbers = tide_hostmem_grow(from->log->mem, from->numbers, &from->numbers_room,
                                          from->n_numbers + 1, sizeof(*numbers));
    if (numbers == NULL) {
        return TIDE_NO_MEMORY;
    }
    from->numbers = numbers;
    return tide_strings_intern_n(&from->log->texts, text, (size_t)n_bytes,
                                 &from->numbers[from->n_numbers++]);
}

/* Sums of such times do not overflow. */
#define LATEST_NS (INT64_MAX / 4)

/* NULL: the row makes sense; otherwise the error. */
static const char *fault_of(const reader *from, const tide_run_launch *row) {
    if (row->kind >= TIDE_RUN_N_LAUNCH_KINDS) {
        return "its kind is not known; a newer tidemark may have written it";
    }
    if (row->host_ns < 0 || row->host_ns > LATEST_NS) {
        return "its time is before the clock's start, or centuries after it";
    }
    if (row->name != TIDE_NONE && row->name >= from->n_numbers) {
        return "it names a text that does not come before it";
    }
    if (row->type >= TIDE_RUN_N_TYPES || row->out_type >= TIDE_RUN_N_TYPES) {
        return "its type of numbers is not known";
    }
    if (row->kind == TIDE_RUN_KERNEL && row->family >= TIDE_RUN_N_FAMILIES) {
        return "its kernel's family is not known";
    }
    if (row->kind == TIDE_RUN_KERNEL && row->k >= TIDE_RUN_N_VARIANTS) {
        return "its kernel's variant is not known; a newer tidemark may have written it";
    }
    bool multiplies = row->kind == TIDE_RUN_PRODUCT || row->kind == TIDE_RUN_ATTENTION ||
                      row->kind == TIDE_RUN_CONVOLUTION;
    bool is_empty = row->m == 0 || row->n == 0 || row->k == 0 || row->count == 0;
    return multiplies && is_empty ? "a product has a dimension of 0" : NULL;
}

static tide_status add(reader *from, tide_run_launch row, tide_error *error) {
    tide_time_log *log = from->log;
    const char *fault = fault_of(from, &row);
    if (fault != NULL) {
        return nonsense(from, fault, error);
    }
    tide_run_launch *rows =
        tide_hostmem_grow(log->mem, log->rows, &from->rows_room, log->n_rows + 1, sizeof(*rows));
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    row.name = row.name != TIDE_NONE ? from->numbers[row.name] : TIDE_NONE;
    log->rows = rows;
    log->rows[log->n_rows++] = row;
    return TIDE_OK;
}

static tide_status read_rows(reader *from, tide_error *error) {
    tide_run_launch row;
    size_t n = 0;
    while ((n = fread(&row, 1, sizeof(row), from->file)) == sizeof(row) &&
           row.kind != TIDE_RUN_LAUNCH_NONE) {
        from->n_read++;
        TIDE_TRY(row.kind == TIDE_RUN_TEXT ? read_text(from, row.bytes, error)
                                           : add(from, row, error));
    }
    from->log->is_cut = n > 0 && n < sizeof(row);
    return ferror(from->file) != 0
               ? tide_fail(error, TIDE_IO, "%s: it cannot be read to its end", from->path)
               : TIDE_OK;
}

static tide_status read_file(reader *from, tide_error *error) {
    tide_run_launches_header header;
    if (fread(&header, sizeof(header), 1, from->file) != 1 ||
        header.magic != TIDE_RUN_LAUNCHES_MAGIC || header.header_bytes != sizeof(header) ||
        header.row_bytes != ROW_BYTES || memchr(header.card, '\0', sizeof(header.card)) == NULL) {
        return tide_fail(error, TIDE_FORMAT,
                         "%s: this is no launch log; `tidemark run --launch-log FILE` writes one",
                         from->path);
    }
    static const char VIRTUAL[] = "virtual:"; /* the rest names the card */
    const char *name = strncmp(header.card, VIRTUAL, sizeof(VIRTUAL) - 1) == 0
                           ? header.card + sizeof(VIRTUAL) - 1
                           : header.card;
    memcpy(from->log->card, name, strlen(name) + 1);
    return read_rows(from, error);
}

tide_status tide_time_log_read(const tide_hostmem *mem, const char *path, tide_time_log *ret_log,
                               tide_error *error) {
    *ret_log = (tide_time_log){.mem = mem};
    tide_strings_init(&ret_log->texts, mem);
    reader from = {.file = fopen(path, "rbe"), .path = path, .log = ret_log};
    if (from.file == NULL) {
        return tide_fail(error, TIDE_IO, "%s: %s", path, strerror(errno));
    }
    tide_status status = read_file(&from, error);
    mem->release(mem->ctx, from.numbers);
    (void)fclose(from.file); /* was only read */
    return status;
}

bool tide_time_log_is_whole(const tide_time_log *log) {
    bool has_marks = false;
    for (size_t i = 0; i < log->n_rows; i++) {
        if (log->rows[i].kind == TIDE_RUN_LAUNCH_MARK) {
            has_marks = true;
            if (strcmp(tide_time_log_text(log, &log->rows[i]), "program ends") == 0) {
                return true;
            }
        }
    }
    return !has_marks && !log->is_cut;
}

void tide_time_log_take(tide_launch_list *list, tide_time_log *ret_log) {
    *ret_log = (tide_time_log){
        .mem = list->mem, .rows = list->rows, .n_rows = list->n_rows, .texts = list->texts};
    tide_launch_list_init(list, list->mem);
}

void tide_time_log_fini(tide_time_log *log) {
    if (log->mem != NULL) {
        log->mem->release(log->mem->ctx, log->rows);
        tide_strings_fini(&log->texts);
    }
    *log = (tide_time_log){.mem = NULL};
}

const char *tide_time_log_text(const tide_time_log *log, const tide_run_launch *row) {
    const char *text = tide_strings_text(&log->texts, row->name);
    return text != NULL ? text : "";
}
