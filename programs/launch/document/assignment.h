/* assignment.h - the variable of a Python program that a line assigns the result of a call to.
 *
 * Only what the text shows plainly is an answer: a statement `name = a.b(..)` with one name, whose
 * value is the result of its last call and nothing else. Everything else has none.
 */
#ifndef TIDE_LAUNCH_ASSIGNMENT_H
#define TIDE_LAUNCH_ASSIGNMENT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The name that the statement around a line of a file gives its value. `source`: the whole file;
 * line: 1 for the first. *ret_name points into the source. False: there is no such name. */
bool tide_assigned_name(const char *source, int line, const char **ret_name, size_t *ret_n_bytes);

#ifdef __cplusplus
}
#endif

#endif
