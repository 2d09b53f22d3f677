/* Values as cells, and cells as people and programs read them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/text/bytes.h"
#include "report/table_internal.h"

/* ---- values ---- */

static tide_cell integer_cell(tide_cell_kind kind, int64_t integer) {
    return (tide_cell){.kind = kind, .integer = integer};
}

static tide_cell real_cell(tide_cell_kind kind, double real) {
    return (tide_cell){.kind = kind, .real = real};
}

/* A quantity that is measured or counted: unknown below 0. */
static tide_cell known_real(tide_cell_kind kind, double real) {
    return real_cell(real < 0.0 ? TIDE_CELL_NONE : kind, real);
}

static tide_cell known_integer(tide_cell_kind kind, int64_t integer) {
    return integer_cell(integer < 0 ? TIDE_CELL_NONE : kind, integer);
}

tide_cell tide_as_text(const char *text) {
    return (tide_cell){.kind = TIDE_CELL_TEXT, .text = text, .exact = text};
}

tide_cell tide_as_words(const char *text) {
    return text == NULL || text[0] == '\0' ? tide_as_none() : tide_as_text(text);
}

tide_cell tide_as_bytes(int64_t n_bytes) {
    return known_integer(TIDE_CELL_BYTES, n_bytes);
}

tide_cell tide_as_count(int64_t count) {
    return integer_cell(TIDE_CELL_COUNT, count);
}

tide_cell tide_as_change(int64_t n_bytes) {
    return integer_cell(TIDE_CELL_CHANGE, n_bytes);
}

tide_cell tide_as_percent(double percent) {
    return real_cell(TIDE_CELL_PERCENT, percent);
}

tide_cell tide_as_share(double part, double whole) {
    return tide_as_percent(whole > 0.0 ? 100.0 * part / whole : 0.0);
}

tide_cell tide_as_ms(double ms) {
    return known_real(TIDE_CELL_MS, ms);
}

tide_cell tide_as_ratio(double ratio) {
    return known_real(TIDE_CELL_RATIO, ratio);
}

tide_cell tide_as_real(double number) {
    return known_real(TIDE_CELL_REAL, number);
}

tide_cell tide_as_ns(double ns) {
    return known_real(TIDE_CELL_NS, ns);
}

tide_cell tide_as_loss(double loss) {
    return real_cell(TIDE_CELL_LOSS, loss);
}

tide_cell tide_as_error(double error) {
    return real_cell(TIDE_CELL_ERROR, error);
}

tide_cell tide_as_none(void) {
    return (tide_cell){.kind = TIDE_CELL_NONE};
}

/* A figure of a run that has the type double. */
static tide_cell double_cell(tide_field_kind kind, double value) {
    if (value < 0.0) {
        return tide_as_none();
    }
    switch (kind) {
    case TIDE_FIELD_MS:
        return tide_as_ms(value);
    case TIDE_FIELD_RATE:
        return tide_as_count((int64_t)(value + 0.5));
    case TIDE_FIELD_TERA:
        return tide_as_ratio(value * 1e-12);
    default:
        return tide_as_percent(100.0 * value);
    }
}

/* Members are copied byte by byte: the compiler cannot know their types from an offset. */
tide_cell tide_as_field(const tide_field *field, const void *row) {
    const char *member = (const char *)row + field->offset;
    const char *text = NULL;
    int64_t integer = 0;
    double real = 0.0;
    switch (field->kind) {
    case TIDE_FIELD_TEXT:
        memcpy(&text, member, sizeof(text));
        return text != NULL ? tide_as_text(text) : tide_as_none();
    case TIDE_FIELD_CHARS:
        return tide_as_words(member);
    case TIDE_FIELD_BYTES:
        memcpy(&integer, member, sizeof(integer));
        return tide_as_bytes(integer);
    case TIDE_FIELD_COUNT:
        memcpy(&integer, member, sizeof(integer));
        return known_integer(TIDE_CELL_COUNT, integer);
    default:
        memcpy(&real, member, sizeof(real));
        return double_cell(field->kind, real);
    }
}

/* ---- printed ---- */

/* "+1.93 GiB", "-512 B", "0 B" */
static const char *change_text(int64_t n_bytes, char buffer[TIDE_CELL_BYTES_TEXT]) {
    char size[TIDE_BYTES_TEXT];
    tide_bytes_format(n_bytes < 0 ? -n_bytes : n_bytes, size);
    snprintf(buffer, TIDE_CELL_BYTES_TEXT, "%s%s",
             n_bytes < 0   ? "-"
             : n_bytes > 0 ? "+"
                           : "",
             size);
    return buffer;
}

const char *tide_cell_shown(const tide_cell *cell, char buffer[TIDE_CELL_BYTES_TEXT]) {
    switch (cell->kind) {
    case TIDE_CELL_TEXT:
        return cell->text;
    case TIDE_CELL_BYTES:
        return tide_bytes_format(cell->integer, buffer);
    case TIDE_CELL_COUNT:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, "%" PRId64, cell->integer);
        return buffer;
    case TIDE_CELL_CHANGE:
        return change_text(cell->integer, buffer);
    case TIDE_CELL_PERCENT:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, "%.1f %%", cell->real);
        return buffer;
    case TIDE_CELL_MS:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, "%.3f ms", cell->real);
        return buffer;
    case TIDE_CELL_RATIO:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, cell->real < 1000.0 ? "%.3f" : ">999", cell->real);
        return buffer;
    case TIDE_CELL_REAL:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, cell->real < 1e12 ? "%.3f" : "%.3e", cell->real);
        return buffer;
    case TIDE_CELL_NS:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, "%.1f", cell->real);
        return buffer;
    case TIDE_CELL_LOSS:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, isnan(cell->real) ? "nan" : "%.6f", cell->real);
        return buffer;
    case TIDE_CELL_ERROR:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, isnan(cell->real) ? "nan" : "%.1e", cell->real);
        return buffer;
    case TIDE_CELL_NONE:
        break;
    }
    return "-";
}

const char *tide_cell_plain(const tide_cell *cell, char buffer[TIDE_CELL_BYTES_TEXT]) {
    switch (cell->kind) {
    case TIDE_CELL_TEXT:
        return cell->exact;
    case TIDE_CELL_BYTES:
    case TIDE_CELL_COUNT:
    case TIDE_CELL_CHANGE:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, "%" PRId64, cell->integer);
        return buffer;
    case TIDE_CELL_PERCENT:
    case TIDE_CELL_MS:
    case TIDE_CELL_RATIO:
    case TIDE_CELL_REAL:
    case TIDE_CELL_NS:
    case TIDE_CELL_LOSS:
    case TIDE_CELL_ERROR:
        snprintf(buffer, TIDE_CELL_BYTES_TEXT, isnan(cell->real) ? "nan" : "%.9g", cell->real);
        return buffer;
    case TIDE_CELL_NONE:
        break;
    }
    return "";
}

/* ---- printing ---- */
