/* python_lines.h - the line of an instruction, from the table of lines of its code object.
 */
#ifndef TIDE_LIVE_PYTHON_LINES_H
#define TIDE_LIVE_PYTHON_LINES_H

#include <stddef.h>

/* The line of the instruction that begins at byte `offset` of the code; 0: it has none. The table
 * is the one of Python 3.11 and later (co_linetable, PEP 657's location table). */
int tide_python_line(const unsigned char *table, size_t n_bytes, int first_line, size_t offset);

/* The same with the table of Python 3.10 (PEP 626). */
int tide_python_line_310(const unsigned char *table, size_t n_bytes, int first_line, size_t offset);

#endif
