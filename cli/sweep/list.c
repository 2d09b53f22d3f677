/* The cells of a grid to run, for programs that start a process for each. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/sweep/internal.h"

tide_status tide_sweep_list(const tide_sweep *sweep, FILE *out, tide_error *error) {
    for (size_t i = 0; i < sweep->n_cells; i++) {
        if (!tide_sweep_owns(sweep, i) || sweep->rows[i] != NULL) {
            continue;
        }
        const char *name = tide_sweep_cell_name(sweep, i);
        if (fprintf(out, "%zu%s%s\n", i, name[0] != '\0' ? "\t" : "", name) < 0) {
            return tide_fail(error, TIDE_IO, "the list could not be written: %s", strerror(errno));
        }
    }
    return TIDE_OK;
}
