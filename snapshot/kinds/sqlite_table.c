#define _POSIX_C_SOURCE 200809L
#include "snapshot/kinds/sqlite_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

enum {
    HEADER_BYTES = 100,
    MAGIC_BYTES = 16,
    LEAST_PAGE = 512,
    MOST_PAGE = 65536,
    MOST_DEPTH = 20,           /* of a tree: 2 children a page would reach 2^20 pages */
    PAYLOAD_BYTES = 16 * 1024, /* of a row; the rest is not needed */
    SQL_BYTES = 12 * 1024,
    NAME_BYTES = 128,
    LEAF = 0x0D,
    INNER = 0x05,
    COLUMN_NAME = 1, /* of the table of tables */
    COLUMN_ROOT = 3,
    COLUMN_SQL = 4
};

struct tide_sqlite {
    const tide_hostmem *mem; /* borrowed */
    const char *path;        /* borrowed */
    FILE *file;
    size_t page_bytes, usable_bytes;
    uint64_t n_pages;
    uint64_t n_visited;               /* pages of the walk: more than there are is a circle */
    unsigned char *pages[MOST_DEPTH]; /* owned; one for each level of the walk */
    unsigned char *extra;             /* owned; a page of a row that does not fit its own */
    unsigned char payload[PAYLOAD_BYTES];
    uint32_t root;       /* of the table that was found */
    char sql[SQL_BYTES]; /* that made it */
};

static tide_status damaged(const tide_sqlite *sqlite, tide_error *error) {
    return tide_fail(error, TIDE_FORMAT, "'%s' is damaged or cut off: an SQLite database",
                     sqlite->path);
}

static uint32_t big_endian(const unsigned char *bytes, size_t n) {
    uint32_t number = 0;
    for (size_t i = 0; i < n; i++) {
        number = number << 8 | bytes[i];
    }
    return number;
}

/* Returns the bytes that the number takes; 0: it is cut off. */
static size_t read_varint(const unsigned char *bytes, size_t n_bytes, uint64_t *ret_number) {
    enum { LONGEST = 9 };
    uint64_t number = 0;
    for (size_t i = 0; i < n_bytes && i < LONGEST; i++) {
        if (i == LONGEST - 1) {
            *ret_number = number << 8 | bytes[i];
            return LONGEST;
        }
        number = number << 7 | (bytes[i] & 0x7F);
        if (bytes[i] < 0x80) {
            *ret_number = number;
            return i + 1;
        }
    }
    return 0;
}

/* ---- pages ---- */

static tide_status read_page(tide_sqlite *sqlite, uint64_t number, unsigned char **buffer,
                             tide_error *error) {
    if (number == 0 || number > sqlite->n_pages || sqlite->n_visited++ > sqlite->n_pages) {
        return damaged(sqlite, error);
    }
    if (*buffer == NULL) {
        *buffer = sqlite->mem->alloc(sqlite->mem->ctx, sqlite->page_bytes);
        if (*buffer == NULL) {
            return TIDE_NO_MEMORY;
        }
    }
    if (fseeko(sqlite->file, (off_t)((number - 1) * sqlite->page_bytes), SEEK_SET) != 0 ||
        fread(*buffer, 1, sqlite->page_bytes, sqlite->file) != sqlite->page_bytes) {
        return damaged(sqlite, error);
    }
    return TIDE_OK;
}

static tide_status begin(tide_sqlite *sqlite, tide_error *error) {
    unsigned char header[HEADER_BYTES];
    sqlite->file = fopen(sqlite->path, "rb");
    if (sqlite->file == NULL) {
        return tide_fail(error, TIDE_IO, "cannot open '%s': %s", sqlite->path, strerror(errno));
    }
    if (fread(header, 1, HEADER_BYTES, sqlite->file) != HEADER_BYTES) {
        return damaged(sqlite, error);
    }
    if (memcmp(header, "SQLite format 3", MAGIC_BYTES) != 0) { /* it was known by its content */
        return tide_fail(error, TIDE_FORMAT,
                         "'%s' is a compressed SQLite database: decompress it first", sqlite->path);
    }
    sqlite->page_bytes = big_endian(header + 16, 2) == 1 ? MOST_PAGE : big_endian(header + 16, 2);
    if (sqlite->page_bytes < LEAST_PAGE || (sqlite->page_bytes & (sqlite->page_bytes - 1)) != 0 ||
        header[20] > LEAST_PAGE / 16) {
        return damaged(sqlite, error);
    }
    sqlite->usable_bytes = sqlite->page_bytes - header[20];
    if (fseeko(sqlite->file, 0, SEEK_END) != 0) {
        return damaged(sqlite, error);
    }
    sqlite->n_pages = (uint64_t)ftello(sqlite->file) / sqlite->page_bytes;
    return TIDE_OK;
}

tide_status tide_sqlite_open(const char *path, const tide_hostmem *mem, tide_sqlite **ret_sqlite,
                             tide_error *error) {
    tide_sqlite *sqlite = tide_hostmem_zeroed(mem, 1, sizeof(*sqlite));
    if (sqlite == NULL) {
        return TIDE_NO_MEMORY;
    }
    sqlite->mem = mem;
    sqlite->path = path;
    tide_status status = begin(sqlite, error);
    if (status != TIDE_OK) {
        tide_sqlite_close(sqlite);
        return status;
    }
    *ret_sqlite = sqlite;
    return TIDE_OK;
}

void tide_sqlite_close(tide_sqlite *sqlite) {
    if (sqlite == NULL) {
        return;
    }
    for (size_t i = 0; i < MOST_DEPTH; i++) {
        sqlite->mem->release(sqlite->mem->ctx, sqlite->pages[i]);
    }
    sqlite->mem->release(sqlite->mem->ctx, sqlite->extra);
    if (sqlite->file != NULL) {
        (void)fclose(sqlite->file);
    }
    sqlite->mem->release(sqlite->mem->ctx, sqlite);
}

/* ---- rows ---- */

/* The bytes of a row that are in its page; the rest is in a chain of other pages. */
static size_t local_bytes(const tide_sqlite *sqlite, uint64_t n_payload) {
    uint64_t usable = sqlite->usable_bytes;
    uint64_t least = (usable - 12) * 32 / 255 - 23;
    uint64_t most = usable - 35;
    uint64_t some = least + (n_payload - least) % (usable - 4);
    return (size_t)(n_payload <= most ? n_payload : some <= most ? some : least);
}

/* Copies a row's payload, as far as there is room. `cell` is at the payload. */
static tide_status copy_payload(tide_sqlite *sqlite, const unsigned char *cell, size_t n_cell,
                                uint64_t n_payload, tide_sqlite_row *ret_row, tide_error *error) {
    size_t n_local = local_bytes(sqlite, n_payload);
    bool goes_on = n_local < n_payload;
    if (n_local + (goes_on ? 4 : 0) > n_cell) {
        return damaged(sqlite, error);
    }
    size_t n = n_local < PAYLOAD_BYTES ? n_local : PAYLOAD_BYTES;
    memcpy(sqlite->payload, cell, n);
    uint64_t n_left = n_payload - n_local;
    uint32_t next = goes_on ? big_endian(cell + n_local, 4) : 0;
    while (n_left > 0 && n < PAYLOAD_BYTES) {
        TIDE_TRY(read_page(sqlite, next, &sqlite->extra, error));
        uint64_t n_here = sqlite->usable_bytes - 4;
        n_here = n_here < n_left ? n_here : n_left;
        size_t n_room = PAYLOAD_BYTES - n;
        size_t n_copied = n_here < n_room ? (size_t)n_here : n_room;
        memcpy(sqlite->payload + n, sqlite->extra + 4, n_copied);
        n += n_copied;
        n_left -= n_here;
        next = big_endian(sqlite->extra, 4);
    }
    *ret_row = (tide_sqlite_row){.bytes = sqlite->payload, .n_bytes = n};
    return TIDE_OK;
}

typedef struct level {
    uint32_t n_cells;
    uint32_t next;      /* cell, or n_cells: the last child */
    size_t header;      /* offset in the page */
    unsigned char kind; /* LEAF, INNER */
} level;

static tide_status enter(tide_sqlite *sqlite, uint64_t page, size_t depth, level *ret_level,
                         tide_error *error) {
    if (depth >= MOST_DEPTH) {
        return damaged(sqlite, error);
    }
    TIDE_TRY(read_page(sqlite, page, &sqlite->pages[depth], error));
    size_t header = page == 1 ? HEADER_BYTES : 0;
    const unsigned char *bytes = sqlite->pages[depth] + header;
    *ret_level = (level){.n_cells = big_endian(bytes + 3, 2), .header = header, .kind = bytes[0]};
    size_t n_header = bytes[0] == INNER ? 12 : 8;
    if ((bytes[0] != LEAF && bytes[0] != INNER) ||
        header + n_header + 2 * (size_t)ret_level->n_cells > sqlite->page_bytes) {
        return damaged(sqlite, error);
    }
    return TIDE_OK;
}

/* The offset of a cell in its page; at least 4 bytes of it are there. */
static tide_status cell_at(const tide_sqlite *sqlite, const level *of, size_t depth,
                           size_t *ret_offset, tide_error *error) {
    size_t table = of->header + (of->kind == INNER ? 12 : 8);
    *ret_offset = big_endian(sqlite->pages[depth] + table + 2 * (size_t)of->next, 2);
    return *ret_offset + 4 <= sqlite->page_bytes ? TIDE_OK : damaged(sqlite, error);
}

static tide_status read_row(tide_sqlite *sqlite, const unsigned char *cell, size_t n_cell,
                            tide_sqlite_row *ret_row, tide_error *error) {
    uint64_t n_payload = 0;
    uint64_t ignored = 0;
    size_t n_length = read_varint(cell, n_cell, &n_payload);
    size_t n_number = read_varint(cell + n_length, n_cell - n_length, &ignored);
    if (n_length == 0 || n_number == 0 || n_payload > UINT32_MAX) {
        return damaged(sqlite, error);
    }
    return copy_payload(sqlite, cell + n_length + n_number, n_cell - n_length - n_number, n_payload,
                        ret_row, error);
}

/* The page of the child that follows. */
static tide_status next_child(const tide_sqlite *sqlite, level *of, size_t depth,
                              uint64_t *ret_page, tide_error *error) {
    size_t offset = of->header + 8;
    if (of->next < of->n_cells) {
        TIDE_TRY(cell_at(sqlite, of, depth, &offset, error));
    }
    *ret_page = big_endian(sqlite->pages[depth] + offset, 4);
    of->next++;
    return TIDE_OK;
}

static tide_status walk(tide_sqlite *sqlite, uint32_t root,
                        tide_status (*each)(void *ctx, const tide_sqlite_row *row), void *ctx,
                        tide_error *error) {
    level levels[MOST_DEPTH];
    size_t depth = 0;
    sqlite->n_visited = 0;
    TIDE_TRY(enter(sqlite, root, 0, &levels[0], error));
    for (;;) {
        level *now = &levels[depth];
        if (now->kind == INNER && now->next <= now->n_cells) {
            uint64_t child = 0;
            TIDE_TRY(next_child(sqlite, now, depth, &child, error));
            depth++;
            TIDE_TRY(enter(sqlite, child, depth, &levels[depth < MOST_DEPTH ? depth : 0], error));
        } else if (now->kind == LEAF && now->next < now->n_cells) {
            size_t offset = 0;
            tide_sqlite_row row = {0};
            TIDE_TRY(cell_at(sqlite, now, depth, &offset, error));
            TIDE_TRY(read_row(sqlite, sqlite->pages[depth] + offset, sqlite->page_bytes - offset,
                              &row, error));
            TIDE_TRY(each(ctx, &row));
            now->next++;
        } else if (depth == 0) {
            return TIDE_OK;
        } else {
            depth--;
        }
    }
}

/* ---- columns ---- */

/* Bytes of a value of a serial type. */
static uint64_t bytes_of_type(uint64_t type) {
    static const unsigned char BYTES[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
    return type < sizeof(BYTES) ? BYTES[type] : (type - 12) / 2;
}

/* The place of a column's value, and its type; false: it is not there. */
static bool find_value(const tide_sqlite_row *row, int column, const unsigned char **ret_value,
                       size_t *ret_room, uint64_t *ret_type) {
    uint64_t n_header = 0;
    size_t at = read_varint(row->bytes, row->n_bytes, &n_header);
    if (at == 0 || column < 0 || n_header > row->n_bytes) {
        return false;
    }
    uint64_t offset = n_header;
    for (int i = 0; at < n_header; i++) {
        uint64_t type = 0;
        size_t n = read_varint(row->bytes + at, (size_t)n_header - at, &type);
        if (n == 0 || offset > row->n_bytes) {
            return false;
        }
        if (i == column) {
            *ret_value = row->bytes + offset;
            *ret_room = row->n_bytes - (size_t)offset;
            *ret_type = type;
            return true;
        }
        offset += bytes_of_type(type);
        at += n;
    }
    return false;
}

bool tide_sqlite_integer(const tide_sqlite_row *row, int column, int64_t *ret_integer) {
    enum { ZERO = 8, ONE = 9, LONGEST = 6 };
    const unsigned char *value = NULL;
    size_t n_room = 0;
    uint64_t type = 0;
    if (!find_value(row, column, &value, &n_room, &type) || type == 0 || type == 7 || type > ONE) {
        return false;
    }
    if (type > LONGEST) {
        *ret_integer = type == ONE;
        return true;
    }
    size_t n = (size_t)bytes_of_type(type);
    if (n > n_room) {
        return false;
    }
    uint64_t number = value[0] >= 0x80 ? UINT64_MAX : 0; /* the sign */
    for (size_t i = 0; i < n; i++) {
        number = number << 8 | value[i];
    }
    *ret_integer = (int64_t)number;
    return true;
}

bool tide_sqlite_text(const tide_sqlite_row *row, int column, char *ret_text, size_t n_room) {
    const unsigned char *value = NULL;
    size_t n_value = 0;
    uint64_t type = 0;
    if (!find_value(row, column, &value, &n_value, &type) || type < 13 || type % 2 == 0) {
        return false;
    }
    uint64_t n_text = bytes_of_type(type);
    size_t n = n_text < n_value ? (size_t)n_text : n_value;
    n = n < n_room ? n : n_room - 1;
    memcpy(ret_text, value, n);
    ret_text[n] = '\0';
    return true;
}

/* ---- tables ---- */

typedef struct search {
    tide_sqlite *sqlite;
    const char *table;
    bool found;
} search;

static tide_status look_at(void *ctx, const tide_sqlite_row *row) {
    search *for_table = ctx;
    char name[NAME_BYTES];
    int64_t root = 0;
    if (!for_table->found && tide_sqlite_text(row, COLUMN_NAME, name, sizeof(name)) &&
        strcmp(name, for_table->table) == 0 && tide_sqlite_integer(row, COLUMN_ROOT, &root) &&
        root > 0 && root <= UINT32_MAX &&
        tide_sqlite_text(row, COLUMN_SQL, for_table->sqlite->sql, SQL_BYTES)) {
        for_table->sqlite->root = (uint32_t)root;
        for_table->found = true;
    }
    return TIDE_OK;
}

tide_status tide_sqlite_find(tide_sqlite *sqlite, const char *table, bool *ret_found,
                             tide_error *error) {
    search for_table = {.sqlite = sqlite, .table = table};
    TIDE_TRY(walk(sqlite, 1, look_at, &for_table, error));
    *ret_found = for_table.found;
    return TIDE_OK;
}

/* Goes over blanks and comments. */
static const char *skip_blank(const char *at) {
    for (;;) {
        at += strspn(at, " \t\r\n");
        if (at[0] != '-' || at[1] != '-') {
            return at;
        }
        at += strcspn(at, "\n");
    }
}

/* The end of a column's definition: its comma, or the bracket of the table. */
static const char *skip_definition(const char *at) {
    size_t depth = 0;
    for (; *at != '\0'; at++) {
        if (at[0] == '-' && at[1] == '-') {
            at += strcspn(at, "\n");
            if (*at == '\0') {
                break;
            }
        } else if (depth == 0 && (*at == ',' || *at == ')')) {
            break;
        }
        depth += *at == '(';
        depth -= *at == ')';
    }
    return at;
}

int tide_sqlite_column(const tide_sqlite *sqlite, const char *column) {
    const char *at = strchr(sqlite->sql, '(');
    size_t n = strlen(column);
    for (int i = 0; at != NULL && *at != '\0' && *at != (i > 0 ? ')' : '\0'); i++) {
        at = skip_blank(at + 1);
        at += strspn(at, "\"[`");
        if (strncasecmp(at, column, n) == 0 && !isalnum((unsigned char)at[n]) && at[n] != '_') {
            return i;
        }
        at = skip_definition(at);
    }
    return -1;
}

tide_status tide_sqlite_each(tide_sqlite *sqlite,
                             tide_status (*each)(void *ctx, const tide_sqlite_row *row), void *ctx,
                             tide_error *error) {
    return walk(sqlite, sqlite->root, each, ctx, error);
}
