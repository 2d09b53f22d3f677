/* table.h - reports: figures, tables and sentences, printed as text, Markdown, CSV, LaTeX or JSON
 * with the same rows in the same order.
 *
 * Text, Markdown and LaTeX are for people: bytes are shown as "1.93 GiB", and figures are omitted,
 * because sentences and tables contain them. CSV and JSON are for programs: bytes are integers,
 * columns have the names of keys, and docs/reference/json.md lists all names. CSV is one table;
 * JSON is everything. Texts may come from an unchecked file: characters with a meaning in the
 * format are escaped, and those that a terminal would obey are replaced (harmless.h), except in the
 * cells of CSV and JSON written to a file or pipe, which are exact. On a terminal the tables of
 * text fit its width, unless the format is wide. A failed allocation is remembered;
 * tide_report_print returns it.
 */
#ifndef TIDE_REPORT_TABLE_H
#define TIDE_REPORT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/arena.h"
#include "common/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_TABLE_MAX_COLUMNS = 272 }; /* further ones are left out */

typedef enum tide_format_kind {
    TIDE_FORMAT_TEXT = 0,
    TIDE_FORMAT_MARKDOWN,
    TIDE_FORMAT_CSV,
    TIDE_FORMAT_LATEX,
    TIDE_FORMAT_JSON,
    TIDE_N_FORMATS
} tide_format_kind;

/* How a report is printed. Zero means the whole report as text. */
typedef struct tide_format {
    tide_format_kind kind;
    bool is_wide;      /* text with every cell complete, also on a narrow terminal */
    const char *table; /* the one table to print, borrowed; NULL: all, in CSV the first */
    size_t columns;    /* maximal width of text, on any output; 0: that of the terminal, if the
                          output is one */
} tide_format;

/* "text", "markdown", ...; NULL past the last: the choices of an option. */
const char *tide_format_name(size_t i);
/* The number of a name, or -1. */
int tide_format_from_name(const char *name);

/* Whether the format is for programs, which get columns that people do not need. */
bool tide_format_is_for_programs(tide_format format);

typedef enum tide_cell_kind {
    TIDE_CELL_NONE = 0, /* "-"; empty in CSV, null in JSON */
    TIDE_CELL_TEXT,
    TIDE_CELL_BYTES,   /* integer; below 0: none */
    TIDE_CELL_COUNT,   /* integer */
    TIDE_CELL_CHANGE,  /* integer, bytes: "+1.93 GiB" */
    TIDE_CELL_PERCENT, /* real: 12.5 is "12.5 %" */
    TIDE_CELL_MS,      /* real, milliseconds: 12.5 is "12.500 ms"; below 0: none */
    TIDE_CELL_RATIO,   /* real: 0.5 is "0.500"; below 0: none */
    TIDE_CELL_REAL,    /* real, of any unit: 99999 is "99999.000"; below 0: none */
    TIDE_CELL_NS,   /* real, a figure whose unit is in the column's title: 61.34 is "61.3"; below 0:
                       none */
    TIDE_CELL_LOSS, /* real: 9.28 is "9.280000"; NaN is "nan", null in JSON */
    TIDE_CELL_ERROR /* real: 2.5e-7 is "2.5e-07"; NaN is "nan", null in JSON */
} tide_cell_kind;

typedef struct tide_cell {
    tide_cell_kind kind; /* determines which of the others is valid */
    const char *text;    /* of a cell in a table: in the report's arena; harmless */
    const char *exact;   /* the same, as given */
    int64_t integer;
    double real;
} tide_cell;

typedef struct tide_column {
    const char *key;   /* in CSV and JSON */
    const char *title; /* for people */
    bool is_number;    /* set to the right */
} tide_column;

/* How a column shows a member of a struct, and what type the member has. Text is aligned left,
 * numbers right. */
typedef enum tide_field_kind {
    TIDE_FIELD_TEXT = 0, /* const char *; NULL: none */
    TIDE_FIELD_CHARS,    /* char[]; "": none */
    TIDE_FIELD_BYTES,    /* int64_t; below 0: none */
    TIDE_FIELD_COUNT,    /* int64_t; below 0: none */
    TIDE_FIELD_MS,       /* double; below 0: none, as in all below */
    TIDE_FIELD_RATE,     /* double, rounded to a whole number */
    TIDE_FIELD_TERA,     /* double, in units of 10^12 */
    TIDE_FIELD_SHARE     /* double: 0.125 is "12.5 %" */
} tide_field_kind;

/* A column of a table whose rows are structs: an array of fields describes the whole table. */
typedef struct tide_field {
    const char *key;   /* in CSV and JSON */
    const char *title; /* for people */
    tide_field_kind kind;
    size_t offset; /* of the member, in the struct */
} tide_field;

/* An array with the number of its items, as two arguments. */
#define TIDE_ITEMS(array) (array), sizeof(array) / sizeof((array)[0])

typedef struct tide_table_row tide_table_row;
struct tide_table_row {
    tide_table_row *next; /* in the arena */
    size_t n_cells;       /* filled so far; the others are NONE */
    tide_cell *cells;     /* as many as columns */
};

typedef struct tide_report tide_report;

typedef struct tide_table {
    tide_report *report; /* it belongs to */
    const char *key;     /* for --table and in JSON; tables of one key are parts of one table */
    const char *title;   /* for people */
    tide_column columns[TIDE_TABLE_MAX_COLUMNS];
    size_t n_columns;
    tide_table_row *first, *last; /* rows in the arena; NULL while empty */
    size_t n_rows;
} tide_table;

/* A report for one command. */
struct tide_report {
    const char *command;                /* its name; borrowed */
    tide_arena arena;                   /* figures, tables, rows and texts */
    bool no_memory;                     /* something is missing */
    struct tide_report_figure *figures; /* in the order they were added; in the arena */
    struct tide_report_figure *last_figure;
    struct tide_report_item *first; /* in the order they were added; in the arena */
    struct tide_report_item *last;
};

/* `command` must outlive the report. */
void tide_report_init(tide_report *report, const char *command);
void tide_report_fini(tide_report *report);

/* Texts for the report, such as parts of a sentence, a title, a cell: valid until it ends. ""
 * without memory. */
const char *tide_report_text(tide_report *report, const char *format, ...) TIDE_PRINTF(2, 3);
/* "1.93 GiB" */
const char *tide_report_bytes(tide_report *report, int64_t n_bytes);

/* A sentence. `key`: its name in JSON, such as "peak"; several may have the same. */
void tide_report_say(tide_report *report, const char *key, const char *format, ...)
    TIDE_PRINTF(3, 4);

/* A main figure of the report under a stable name; only JSON prints it. An unknown value (below 0;
 * NULL or "") is null there. */
void tide_report_figure_bytes(tide_report *report, const char *key, int64_t n_bytes);
void tide_report_figure_count(tide_report *report, const char *key, int64_t count);
void tide_report_figure_ns(tide_report *report, const char *key, int64_t ns);
/* The same of milliseconds, rounded to whole nanoseconds. */
void tide_report_figure_ns_of_ms(tide_report *report, const char *key, double ms);
void tide_report_figure_real(tide_report *report, const char *key, double number);
void tide_report_figure_text(tide_report *report, const char *key, const char *text);

/* An empty table; NULL without memory, which the functions below accept. Titles, keys and texts are
 * copied. */
tide_table *tide_report_table(tide_report *report, const char *key, const char *title);
/* Columns, before the first row. */
void tide_table_column(tide_table *table, const char *key, const char *title, bool is_number);
void tide_table_columns(tide_table *table, const tide_column *columns, size_t n);
void tide_table_fields(tide_table *table, const tide_field *fields, size_t n);
/* TIDE_COLUMNS(table, TIDE_TEXT("name", "name"), TIDE_NUMBER("bytes", "size"), ...) adds columns of
 * these keys and titles; texts are aligned left, numbers right. */
#define TIDE_TEXT(key, title)                                                                      \
    { (key), (title), false }
#define TIDE_NUMBER(key, title)                                                                    \
    { (key), (title), true }
#define TIDE_COLUMNS(table, ...)                                                                   \
    tide_table_columns((table), (const tide_column[]){__VA_ARGS__},                                \
                       sizeof((const tide_column[]){__VA_ARGS__}) / sizeof(tide_column))
void tide_table_row_begin(tide_table *table);

/* Cells as values. A text is borrowed until the cell is in a table. */
tide_cell tide_as_text(const char *text);
tide_cell tide_as_words(const char *text); /* NULL or "": none */
tide_cell tide_as_bytes(int64_t n_bytes);
tide_cell tide_as_count(int64_t count);
tide_cell tide_as_change(int64_t n_bytes);
tide_cell tide_as_percent(double percent);
tide_cell tide_as_share(double part, double whole); /* in percent; 0 if `whole` is 0 */
tide_cell tide_as_ms(double ms);
tide_cell tide_as_ratio(double ratio);
tide_cell tide_as_real(double number);
tide_cell tide_as_ns(double ns);
tide_cell tide_as_loss(double loss);
tide_cell tide_as_error(double error);
tide_cell tide_as_none(void);
/* The struct member of a field, as a cell. */
tide_cell tide_as_field(const tide_field *field, const void *row);

/* The next cells of the current row. Cells beyond the last column are dropped. */
void tide_table_cells(tide_table *table, const tide_cell *cells, size_t n);
/* The next cells of the current row: the fields of a struct. */
void tide_table_cells_of(tide_table *table, const tide_field *fields, size_t n, const void *row);

/* TIDE_CELLS(table, tide_as_text(name), tide_as_bytes(n_bytes), ...) adds cells to the current row;
 * TIDE_ROW begins a new row. */
#define TIDE_CELLS(table, ...)                                                                     \
    tide_table_cells((table), (const tide_cell[]){__VA_ARGS__},                                    \
                     sizeof((const tide_cell[]){__VA_ARGS__}) / sizeof(tide_cell))
#define TIDE_ROW(table, ...) (tide_table_row_begin(table), TIDE_CELLS(table, __VA_ARGS__))

/* The i-th key among those of the tables, and the i-th sentence of that key; NULL past the last. */
const char *tide_report_table_key(const tide_report *report, size_t i);
const char *tide_report_sentence(const tide_report *report, const char *key, size_t i);

/* How many sentences the texts of the report have. */
size_t tide_report_count_sentences(const tide_report *report);

/* Takes the last text with this key out of the report if more than `n_kept` have it; NULL: the last
 * text of all. False: there was none to take out. */
bool tide_report_drop(tide_report *report, const char *key, size_t n_kept);

/* The i-th of all sentences, and its key; NULL past the last. */
const char *tide_report_sentence_at(const tide_report *report, size_t i, const char **ret_key);

/* Prints the report. With CSV, `out` gets one table, and `notes` the sentences and the names of the
 * other tables, each after "tidemark COMMAND: ". TIDE_NO_MEMORY if the report is incomplete, and
 * TIDE_INVALID if it has no table of the requested name: then nothing is printed. The caller checks
 * `out` for errors. */
TIDE_NODISCARD tide_status tide_report_print(const tide_report *report, tide_format format,
                                             FILE *out, FILE *notes, tide_error *error);

#ifdef __cplusplus
}
#endif

#endif
