#include "live/python_lines.h"

enum { UNIT_BYTES = 2 };

/* Kinds of entries that say more than columns. */
enum { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS = 13, LONG = 14, NO_LOCATION = 15 };

typedef struct cursor {
    const unsigned char *at, *end;
} cursor;

static unsigned next(cursor *from) {
    return from->at < from->end ? *from->at++ : 0u;
}

/* Six bits a byte, the lowest first; bit 6 says that more follow. */
static unsigned varint(cursor *from) {
    unsigned value = 0;
    unsigned shift = 0;
    unsigned byte = 0;
    do {
        byte = next(from);
        value |= shift < 30 ? (byte & 63u) << shift : 0u;
        shift += 6;
    } while ((byte & 64u) != 0);
    return value;
}

static int signed_varint(cursor *from) {
    unsigned value = varint(from);
    return (value & 1u) != 0 ? -(int)(value >> 1) : (int)(value >> 1);
}

/* Reads the rest of an entry of this kind. Returns by how much the line changes. */
static int read_entry(cursor *from, unsigned kind) {
    int change = 0;
    if (kind == LONG) {
        change = signed_varint(from);
        (void)varint(from); /* end line, column, end column */
        (void)varint(from);
        (void)varint(from);
    } else if (kind == NO_COLUMNS) {
        change = signed_varint(from);
    } else if (kind >= ONE_LINE_0 && kind <= ONE_LINE_2) {
        change = (int)kind - ONE_LINE_0;
        (void)next(from); /* columns */
        (void)next(from);
    } else if (kind < ONE_LINE_0) {
        (void)next(from);
    }
    return change;
}

int tide_python_line(const unsigned char *table, size_t n_bytes, int first_line, size_t offset) {
    cursor from = {table, table + n_bytes};
    size_t end = 0; /* of the entry's instructions, in bytes */
    int line = first_line;
    while (from.at < from.end) {
        unsigned head = next(&from);
        unsigned kind = head >> 3 & 15u;
        line += read_entry(&from, kind);
        end += ((size_t)(head & 7u) + 1) * UNIT_BYTES;
        if (offset < end) {
            return kind == NO_LOCATION ? 0 : line;
        }
    }
    return 0;
}

int tide_python_line_310(const unsigned char *table, size_t n_bytes, int first_line,
                         size_t offset) {
    enum { NO_LINE = -128 };
    size_t end = 0;
    int line = first_line;
    for (size_t i = 0; i + 1 < n_bytes; i += 2) {
        int change = table[i + 1] < 128 ? table[i + 1] : table[i + 1] - 256;
        line += change == NO_LINE ? 0 : change;
        end += table[i];
        if (offset < end) {
            return change == NO_LINE ? 0 : line;
        }
    }
    return 0;
}
