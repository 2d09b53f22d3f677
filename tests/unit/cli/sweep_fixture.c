#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sweep_fixture.h"

#include "model/commands/options/model_options.h"

void sweep_parse(int argc, char **argv, tide_sweep_options *ret) {
    tide_operands operands;
    tide_error error = {""};
    *ret = (tide_sweep_options){.n_repeats = 1};
    tide_model_options_init(&ret->grid);
    tide_status status = tide_options_parse(tide_sweep_table(), argc, argv, ret, &operands, &error);
    assert_string_equal(error.message, "");
    assert_int_equal(status, TIDE_OK);
}

void sweep_small_grid(tide_sweep_options *ret) {
    static char *argv[] = {"sweep",     "--size",  "small,medium", "--mode", "forward,train",
                           "--context", "16,8,32", "--steps",      "2"};
    sweep_parse(sizeof(argv) / sizeof(argv[0]), argv, ret);
}

void sweep_begin(const tide_sweep_options *options, size_t shard, size_t n_shards,
                 tide_sweep *ret) {
    cJSON *header = NULL;
    assert_int_equal(tide_sweep_header(options, "virtual", shard, n_shards, &header, NULL),
                     TIDE_OK);
    assert_int_equal(tide_sweep_init(ret, header, NULL), TIDE_OK);
}

tide_sweep_row *sweep_make_row(const tide_sweep_options *options, size_t cell,
                               tide_outcome outcome) {
    tide_run_config config;
    assert_int_equal(tide_run_options_configure(&options->grid, cell, "virtual", &config, NULL),
                     TIDE_OK);
    tide_sweep_row *row = tide_sweep_row_create(cell, &config.workload);
    assert_non_null(row);
    row->result.outcome = outcome;
    row->result.memory.requested_peak_bytes = 1000 + (int64_t)cell;
    return row;
}
