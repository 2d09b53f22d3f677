/* python_lines.c - the two formats of line tables. */
#include "programs/live/python/python_lines.h"

#include <stdbool.h>

/* A pair: a number of instruction bytes, and the change of the line before them; -128: these have
 * no line. */
int tide_python_line_of_pairs(const uint8_t *table, size_t n_table, int first_line, size_t offset) {
    int64_t line = first_line;
    size_t end = 0;
    for (size_t i = 0; i + 1 < n_table; i += 2) {
        int move = table[i + 1] < 128 ? table[i + 1] : table[i + 1] - 256;
        bool has_line = move != -128;
        if (has_line) {
            line += move;
        }
        end += table[i];
        if (offset < end) {
            return has_line && line > 0 && line <= INT32_MAX ? (int)line : 0;
        }
    }
    return 0;
}

enum {
    UNIT_BYTES = 2,    /* an instruction without its argument's extensions */
    FIRST_BYTE = 0x80, /* set only in the first byte of an entry */

    /* The line code in an entry's first byte; all codes below LOCATION_ONE_LINE: the same line as
     * before. */
    LOCATION_ONE_LINE = 10, /* to 12: moved by 0, 1 or 2 */
    LOCATION_NO_COLUMNS = 13,
    LOCATION_LONG = 14,
    LOCATION_NONE = 15
};

/* A number in groups of six bits, lowest first; bit 6 marks a continuation. Stops at the table's
 * end. */
static int64_t read_signed(const uint8_t *table, size_t n_table, size_t i) {
    uint64_t value = 0;
    unsigned shift = 0;
    for (; i < n_table && shift < 36; i++) {
        value |= (uint64_t)(table[i] & 63) << shift;
        shift += 6;
        if ((table[i] & 64) == 0) {
            break;
        }
    }
    int64_t size = (int64_t)(value >> 1);
    return (value & 1) != 0 ? -size : size;
}

int tide_python_line_of_locations(const uint8_t *table, size_t n_table, int first_line,
                                  size_t offset) {
    int64_t line = first_line;
    size_t end = 0;
    for (size_t i = 0; i < n_table;) {
        unsigned code = table[i] >> 3 & 15u;
        end += ((size_t)(table[i] & 7u) + 1) * UNIT_BYTES;
        if (code == LOCATION_LONG || code == LOCATION_NO_COLUMNS) {
            line += read_signed(table, n_table, i + 1);
        } else if (code >= LOCATION_ONE_LINE && code < LOCATION_NO_COLUMNS) {
            line += code - LOCATION_ONE_LINE;
        }
        if (offset < end) {
            return code != LOCATION_NONE && line > 0 && line <= INT32_MAX ? (int)line : 0;
        }
        do {
            i++;
        } while (i < n_table && (table[i] & FIRST_BYTE) == 0);
    }
    return 0;
}
