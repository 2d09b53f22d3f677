/* sweep_fixture.h - a small grid and its rows, for the tests of sweeps and their files. */
#ifndef TIDE_TESTS_UNIT_CLI_SWEEP_FIXTURE_H
#define TIDE_TESTS_UNIT_CLI_SWEEP_FIXTURE_H

#include <stddef.h>

#include "cli/sweep/internal.h"

/* Parses a command line; the test fails if it is refused. */
void sweep_parse(int argc, char **argv, tide_sweep_options *ret);
/* 2 sizes x 2 modes x 3 contexts = 12 cells. */
void sweep_small_grid(tide_sweep_options *ret);
/* A sweep without rows. The caller finalises it. */
void sweep_begin(const tide_sweep_options *options, size_t shard, size_t n_shards, tide_sweep *ret);
/* A row with a peak of 1000 + `cell` bytes, so that no two cells have equal rows. The caller
 * destroys it. */
tide_sweep_row *sweep_make_row(const tide_sweep_options *options, size_t cell,
                               tide_outcome outcome);

#endif
