#include "eager_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

eager_run eager_run_open(const char *device, const tide_eager_config *config) {
    eager_run r = {.config = *config};
    tide_error error = {""};
    const tide_device_options options = {.capacity_bytes = UINT64_C(1) << 42};
    assert_int_equal(tide_device_open(device, &options, &r.device, &error), TIDE_OK);
    assert_int_equal(tide_cache_create(r.device, NULL, NULL, &r.cache, &error), TIDE_OK);
    tide_status status = tide_eager_create(config, r.cache, NULL, &r.eager, &error);
    if (status != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(tide_eager_setup(r.eager, &error), TIDE_OK);
    return r;
}

void eager_run_close(eager_run *r) {
    tide_eager_destroy(r->eager);
    tide_cache_stats stats;
    tide_cache_get_stats(r->cache, &stats);
    assert_int_equal(stats.requested_bytes[TIDE_POOL_ALL].current, 0);
    tide_cache_destroy(r->cache);
    tide_device_close(r->device);
}

void eager_run_step(eager_run *r, tide_mode mode) {
    tide_error error = {""};
    tide_status status = tide_eager_forward(r->eager, &error);
    if (status == TIDE_OK && mode != TIDE_FORWARD) {
        status = tide_eager_loss(r->eager, &error);
        status = status == TIDE_OK ? tide_eager_backward(r->eager, &error) : status;
    }
    if (status == TIDE_OK && mode == TIDE_TRAIN) {
        status = tide_eager_optimize(r->eager, &error);
    }
    status = status == TIDE_OK ? tide_eager_end_step(r->eager, &error) : status;
    if (status != TIDE_OK) {
        fail_msg("%s", error.message);
    }
}

tide_eager_config eager_run_config(const char *size, size_t context, size_t batch,
                                   tide_precision precision, tide_edition edition) {
    tide_eager_config config = {.edition = edition,
                                .precision = precision,
                                .attention = TIDE_ATTENTION_NAIVE,
                                .keeps_graph = true};
    assert_int_equal(tide_model_config_preset(size, &config.model, NULL), TIDE_OK);
    config.model.context_length = context;
    config.model.batch_size = batch;
    return config;
}

char *eager_page_read(const char *path) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    assert_int_equal(fclose(file), 0);
    return text;
}

void eager_page_check_row(const char *page, const char *row, int *n_wrong) {
    if (strstr(page, row) == NULL) {
        print_error("docs/model/pytorch-forecast.md lacks\n%s", row);
        (*n_wrong)++;
    }
}
