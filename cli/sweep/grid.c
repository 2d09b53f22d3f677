/* The grid that a command line names: its description and its parts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/own_model.h"
#include "cli/sweep/internal.h"

tide_status tide_sweep_parse_shard(const char *text, size_t *ret_shard, size_t *ret_n_shards,
                                   tide_error *error) {
    unsigned long long shard = 1;
    unsigned long long n_shards = 1;
    int n_read = 0;
    if (text != NULL && (strspn(text, "0123456789/") != strlen(text) || strlen(text) > 16 ||
                         sscanf(text, "%llu/%llu%n", &shard, &n_shards, &n_read) != 2 ||
                         (size_t)n_read != strlen(text) || shard < 1 || shard > n_shards)) {
        return tide_fail(error, TIDE_INVALID, "--shard %.64s: must be I/N, part I of N: 1/4 to 4/4",
                         text);
    }
    *ret_shard = (size_t)shard;
    *ret_n_shards = (size_t)n_shards;
    return TIDE_OK;
}

tide_status tide_sweep_parse_cell(const char *text, size_t n_cells, size_t *ret_shard,
                                  size_t *ret_n_shards, tide_error *error) {
    size_t n = strlen(text);
    size_t cell = n > 0 && n < 10 && strspn(text, "0123456789") == n
                      ? (size_t)strtoul(text, NULL, 10)
                      : n_cells;
    if (cell >= n_cells) {
        return tide_fail(error, TIDE_INVALID, "--cell %.64s: must be 0 to %zu, as --list has it",
                         text, n_cells - 1);
    }
    *ret_shard = cell + 1;
    *ret_n_shards = n_cells;
    return TIDE_OK;
}

size_t tide_sweep_n_once(const tide_sweep_options *options) {
    return options->program.arguments != NULL ? tide_program_n_cells(&options->program)
                                              : tide_own_model_here->n_runs(&options->grid);
}

size_t tide_sweep_n_cells(const tide_sweep_options *options) {
    return tide_sweep_n_once(options) * (size_t)options->n_repeats; /* both were checked */
}

tide_status tide_sweep_check_repeats(size_t n_once, uint64_t n_repeats, tide_error *error) {
    if (n_repeats == 0) {
        return tide_fail(error, TIDE_INVALID, "--repeat 0: must be at least 1");
    }
    if (n_repeats > 1 && n_repeats > TIDE_SWEEP_MAX_CELLS / n_once) {
        return tide_fail(error, TIDE_LIMIT,
                         "--repeat %llu: %zu cells, each run so often, are more than the limit "
                         "of %d: split the grid",
                         (unsigned long long)n_repeats, n_once, (int)TIDE_SWEEP_MAX_CELLS);
    }
    return TIDE_OK;
}

void tide_sweep_name_cell(const tide_sweep_options *options, size_t cell,
                          const tide_run_workload *workload, char ret_name[TIDE_RUN_NAME_BYTES]) {
    tide_run_workload_name(workload, ret_name);
    if (options->n_repeats > 1) {
        tide_sweep_name_repeat(ret_name, cell / tide_sweep_n_once(options) + 1);
    }
}

/* ---- the header ---- */

bool tide_sweep_add_repeats(cJSON *grid, uint64_t n_repeats) {
    return n_repeats == 1 || cJSON_AddNumberToObject(grid, "repeats", (double)n_repeats) != NULL;
}

tide_status tide_sweep_header(const tide_sweep_options *options, const char *device, size_t shard,
                              size_t n_shards, cJSON **ret_header, tide_error *error) {
    if (options->program.arguments != NULL) {
        return tide_sweep_program_header(options, shard, n_shards, ret_header, error);
    }
    return tide_own_model_here->sweep_header(options, device, shard, n_shards, ret_header, error);
}
