/* Reports as text. On a terminal, tables fit its columns: texts are cut in the middle, the longest
 * first, and a table with too many columns continues below, in another part that begins with the
 * columns that distinguish its rows, or with the rows' numbers. Numbers are never cut.
 */
#include <string.h>

#include "report/table_internal.h"
#include "report/terminal.h"
#include "report/text_width.h"

enum {
    GAP = 2,          /* before each column */
    LABEL_FLOOR = 30, /* a table continues below before its rows' names get less than this, */
    TEXT_FLOOR = 18,  /* and its other texts less than this */
    SMALLEST = 7,     /* width of a text if there is no room for one column of numbers */
    MANY_ROWS = 256   /* with more rows, distinguishing columns are not searched */
};

/* How the columns of a table are laid out. */
typedef struct layout {
    const tide_table *table;                /* borrowed */
    size_t room;                            /* columns of the terminal; 0: no bound */
    const char *dots;                       /* in place of the cut part */
    size_t natural[TIDE_TABLE_MAX_COLUMNS]; /* columns of the widest cell */
    size_t widths[TIDE_TABLE_MAX_COLUMNS];  /* the width assigned to it; at most natural */
    bool is_text[TIDE_TABLE_MAX_COLUMNS];   /* may be cut */
    size_t n_labels;                        /* leading columns that every part begins with */
    size_t number_width;                    /* width of the row numbers before them; 0: none */
} layout;

/* Columns of a part: the labels, then those from first to end. */
typedef struct part {
    size_t first;
    size_t end;
} part;

static void measure(layout *of) {
    char buffer[TIDE_CELL_BYTES_TEXT];
    for (size_t i = 0; i < of->table->n_columns; i++) {
        of->natural[i] = tide_text_width(of->table->columns[i].title);
        of->is_text[i] = !of->table->columns[i].is_number;
        for (const tide_table_row *row = of->table->first; row != NULL; row = row->next) {
            const tide_cell *cell = &row->cells[i];
            size_t width = tide_text_width(tide_cell_shown(cell, buffer));
            of->natural[i] = width > of->natural[i] ? width : of->natural[i];
            of->is_text[i] =
                of->is_text[i] && (cell->kind == TIDE_CELL_TEXT || cell->kind == TIDE_CELL_NONE);
        }
        of->widths[i] = of->natural[i];
    }
}

/* The least width with which a column is not moved to a further part. */
static size_t floor_of(const layout *of, size_t i) {
    size_t floor = i == 0 ? LABEL_FLOOR : TEXT_FLOOR;
    return of->is_text[i] && of->natural[i] > floor ? floor : of->natural[i];
}

static size_t floors_of(const layout *of, size_t first, size_t end) {
    size_t sum = 0;
    for (size_t i = first; i < end; i++) {
        sum += GAP + floor_of(of, i);
    }
    return sum;
}

/* ---- the columns that distinguish rows ---- */

static bool is_same_row(const tide_table_row *a, const tide_table_row *b, size_t n_columns) {
    char text[TIDE_CELL_BYTES_TEXT];
    char other[TIDE_CELL_BYTES_TEXT];
    for (size_t i = 0; i < n_columns; i++) {
        if (strcmp(tide_cell_shown(&a->cells[i], text), tide_cell_shown(&b->cells[i], other)) !=
            0) {
            return false;
        }
    }
    return true;
}

static bool is_told_apart(const tide_table *table, size_t n_columns) {
    for (const tide_table_row *row = table->first; row != NULL; row = row->next) {
        for (const tide_table_row *other = row->next; other != NULL; other = other->next) {
            if (is_same_row(row, other, n_columns)) {
                return false;
            }
        }
    }
    return true;
}

/* The fewest leading columns in which no two rows are the same, if they leave a third of the room
 * to the others; else the first, and the rows are numbered. */
static void choose_labels(layout *of) {
    for (size_t n = 1; of->table->n_rows <= MANY_ROWS && n < of->table->n_columns; n++) {
        if (n > 1 && floors_of(of, 0, n) > of->room - of->room / 3) {
            break;
        }
        if (is_told_apart(of->table, n)) {
            of->n_labels = n;
            return;
        }
    }
    of->n_labels = 1;
    of->number_width = (size_t)snprintf(NULL, 0, "%zu", of->table->n_rows);
}

static size_t number_room(const layout *of) {
    return of->number_width > 0 ? GAP + of->number_width : 0;
}

/* ---- parts ---- */

static bool is_in(const layout *of, const part *at, size_t i) {
    return i < of->n_labels || (i >= at->first && i < at->end);
}

/* As many columns as fit in the room, at least one. */
static part next_part(const layout *of, size_t first) {
    size_t sum = number_room(of) + floors_of(of, 0, of->n_labels);
    part next = {.first = first, .end = first};
    while (next.end < of->table->n_columns) {
        sum += GAP + floor_of(of, next.end);
        if (of->room != 0 && sum > of->room && next.end > first) {
            break;
        }
        next.end++;
    }
    return next;
}

static size_t width_with(const layout *of, const part *at, size_t longest) {
    size_t sum = number_room(of);
    for (size_t i = 0; i < at->end; i++) {
        if (is_in(of, at, i)) {
            bool is_cut = of->is_text[i] && of->natural[i] > longest;
            sum += GAP + (is_cut ? longest : of->natural[i]);
        }
    }
    return sum;
}

/* Texts get one common limit, the highest with which the part fits in the room. */
static void fit_part(layout *of, const part *at) {
    size_t longest = of->room;
    while (longest > SMALLEST && width_with(of, at, longest) > of->room) {
        longest--;
    }
    for (size_t i = 0; i < at->end; i++) {
        bool is_cut = of->room != 0 && of->is_text[i] && of->natural[i] > longest;
        of->widths[i] = is_cut ? longest : of->natural[i];
    }
}

static void put_cell(const layout *of, const part *at, size_t i, const char *text, FILE *out) {
    bool is_right = of->table->columns[i].is_number;
    size_t width = tide_text_width(text);
    fprintf(out, "%*s", (int)(GAP + (is_right ? of->widths[i] - width : 0)), "");
    width = tide_text_put_cut(out, text, of->widths[i], of->dots);
    if (!is_right && i + 1 < at->end) {
        fprintf(out, "%*s", (int)(of->widths[i] - width), "");
    }
}

static void put_part(const layout *of, const part *at, FILE *out) {
    char buffer[TIDE_CELL_BYTES_TEXT];
    size_t number = 0;
    fprintf(out, "%*s", (int)number_room(of), of->number_width > 0 ? "#" : "");
    for (size_t i = 0; i < at->end; i++) {
        if (is_in(of, at, i)) {
            put_cell(of, at, i, of->table->columns[i].title, out);
        }
    }
    fputc('\n', out);
    for (const tide_table_row *row = of->table->first; row != NULL; row = row->next) {
        number++;
        if (of->number_width > 0) {
            fprintf(out, "%*zu", (int)number_room(of), number);
        }
        for (size_t i = 0; i < at->end; i++) {
            if (is_in(of, at, i)) {
                put_cell(of, at, i, tide_cell_shown(&row->cells[i], buffer), out);
            }
        }
        fputc('\n', out);
    }
}

static bool has_cut(const layout *of, const part *at) {
    for (size_t i = 0; i < at->end; i++) {
        if (is_in(of, at, i) && of->widths[i] < of->natural[i]) {
            return true;
        }
    }
    return false;
}

/* Whether a cell was cut. */
static bool put_table(layout *of, FILE *out) {
    bool is_cut = false;
    size_t n = of->table->n_columns;
    fprintf(out, "\n%s\n", of->table->title);
    if (of->table->n_rows == 0) {
        fputs("  (none)\n", out);
        return false;
    }
    measure(of);
    if (n > 1 && of->room != 0 && floors_of(of, 0, n) > of->room) {
        choose_labels(of);
    }
    for (size_t first = of->n_labels; first < n;) {
        part at = next_part(of, first);
        fit_part(of, &at);
        fputs(first > of->n_labels ? "\n" : "", out);
        put_part(of, &at, out);
        is_cut = is_cut || has_cut(of, &at);
        first = at.end;
    }
    return is_cut;
}

void tide_report_print_within(const tide_report *report, const char *table, size_t room,
                              bool is_utf8, FILE *out) {
    bool after_table = false;
    bool is_cut = false;
    for (const tide_report_item *item = report->first; item != NULL; item = item->next) {
        if (!tide_report_item_is_printed(item, table)) {
            continue;
        }
        if (item->table != NULL) {
            layout of = {
                .table = item->table, .room = room, .dots = is_utf8 ? "\xe2\x80\xa6" : "..."};
            is_cut = put_table(&of, out) || is_cut;
        } else {
            fprintf(out, "%s%s\n", after_table ? "\n" : "", item->text);
        }
        after_table = item->table != NULL;
    }
    if (is_cut) {
        fputs("\n(texts are cut to the width of this terminal; --wide shows them whole)\n", out);
    }
}

void tide_report_print_text(const tide_report *report, const tide_format *format, FILE *out) {
    size_t room = format->is_wide       ? 0
                  : format->columns > 0 ? format->columns
                                        : tide_terminal_columns(out);
    tide_report_print_within(report, format->table, room, tide_terminal_is_utf8(), out);
}
