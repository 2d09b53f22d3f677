/* python_lines.h - the line of an instruction, from the tables that CPython's compiler writes.
 *
 * The tables are read in place, and never outside their bounds, whatever they hold.
 */
#ifndef TIDE_LIVE_PYTHON_LINES_H
#define TIDE_LIVE_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Python 3.10 (PEP 626): pairs of bytes. `offset` is the instruction's, in bytes. 0: it has no
 * line. */
int tide_python_line_of_pairs(const uint8_t *table, size_t n_table, int first_line, size_t offset);

/* Python 3.11 and later: the table of locations (Objects/locations.md in CPython). */
int tide_python_line_of_locations(const uint8_t *table, size_t n_table, int first_line,
                                  size_t offset);

#ifdef __cplusplus
}
#endif

#endif
