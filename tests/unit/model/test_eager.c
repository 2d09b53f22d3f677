/* test_eager.c - the forecast of PyTorch's memory: what forward keeps equals the closed forms to
 * the byte, for all sizes, contexts, batches, precisions and editions; peaks equal those that real
 * snapshots had, and published ones through the allocator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocator/cache.h"
#include "allocator/cards.h"
#include "allocator/device.h"
#include "model/eager.h"

typedef struct run {
    tide_device *device;
    tide_cache *cache;
    tide_eager *eager;
    tide_eager_config config;
} run;

static run open_run(const char *device, const tide_eager_config *config) {
    run r = {.config = *config};
    tide_error error = {""};
    /* What does not fit the card is asked for, too. */
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

static void close_run(run *r) {
    tide_eager_destroy(r->eager);
    tide_cache_stats stats;
    tide_cache_get_stats(r->cache, &stats);
    assert_int_equal(stats.requested_bytes[TIDE_POOL_ALL].current, 0);
    tide_cache_destroy(r->cache);
    tide_device_close(r->device);
}

static void step(run *r, tide_mode mode) {
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

static tide_eager_config config_of(const char *size, size_t context, size_t batch,
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

/* ---- what forward keeps ---- */

/* docs/pytorch-forecast.md, "What a block keeps"; a bool is 0 or 1. */
static uint64_t kept_by_forward(const tide_eager_config *config) {
    const tide_model_config *m = &config->model;
    const uint64_t S = m->context_length;
    const uint64_t T = m->batch_size * S;
    const uint64_t N = T * m->d_model;
    const uint64_t F = T * m->d_ff;
    const uint64_t rows = T * m->n_heads;
    const uint64_t A = rows * S;
    const uint64_t V = m->vocab_size;
    const uint64_t d = m->d_model;
    const uint64_t gathered = config->edition == TIDE_EDITION_2025 ? 8 * S * (d / m->n_heads) : 0;
    const uint64_t statistics = 8 * T + S * S + 12 * rows + gathered;
    if (config->precision == TIDE_PRECISION_BF16_MIXED) {
        uint64_t block = 34 * N + 10 * F + 6 * A + statistics + 2 * (4 * d * d + 3 * d * m->d_ff);
        return m->n_layers * block + 10 * N + 4 * T + 2 * T * V + 2 * V * d;
    }
    return m->n_layers * (40 * N + 20 * F + 8 * A + statistics) + 12 * N + 4 * T + 4 * T * V;
}

static void check_kept(const tide_eager_config *config) {
    run r = open_run("virtual", config);
    tide_error error = {""};
    assert_int_equal(tide_eager_forward(r.eager, &error), TIDE_OK);
    uint64_t kept = tide_eager_kept_bytes(r.eager);
    if (kept != kept_by_forward(config)) {
        fail_msg("%s, context %zu, batch %zu, %s, edition %s: %llu bytes kept, not %llu",
                 config->model.size, config->model.context_length, config->model.batch_size,
                 tide_precision_name((int)config->precision),
                 tide_edition_name((int)config->edition), (unsigned long long)kept,
                 (unsigned long long)kept_by_forward(config));
    }
    assert_int_equal(tide_eager_end_step(r.eager, &error), TIDE_OK);
    assert_int_equal(tide_eager_kept_bytes(r.eager), 0);
    close_run(&r);
}

static void test_forward_keeps_the_closed_forms(void **state) {
    (void)state;
    static const size_t CONTEXTS[] = {128, 256, 512, 1024, 2048};
    static const size_t BATCHES[] = {1, 2, 4, 7, 16};
    static const tide_precision PRECISIONS[] = {TIDE_PRECISION_FP32, TIDE_PRECISION_TF32,
                                                TIDE_PRECISION_BF16_MIXED};
    for (size_t s = 0; tide_model_preset_name(s) != NULL; s++) {
        for (size_t c = 0; c < 5; c++) {
            for (size_t b = 0; b < 5; b++) {
                for (size_t p = 0; p < 3; p++) {
                    for (int edition = 0; edition < TIDE_N_EDITIONS; edition++) {
                        tide_eager_config config =
                            config_of(tide_model_preset_name(s), CONTEXTS[c], BATCHES[b],
                                      PRECISIONS[p], (tide_edition)edition);
                        check_kept(&config);
                    }
                }
            }
        }
    }
}

/* ---- peaks above what is there before and after every step ---- */

typedef struct measured {
    const char *device; /* for the workspaces */
    const char *size;
    size_t context;
    tide_precision precision;
    tide_edition edition;
    tide_mode mode;
    double mib; /* as read off a real snapshot, three digits after the point */
} measured;

static uint64_t base_bytes(const run *r, const measured *m) {
    const tide_model_config *model = &r->config.model;
    uint64_t P = tide_model_n_parameters(model);
    uint64_t n_workspaces = m->mode == TIDE_FORWARD ? 1 : 2;
    uint64_t inputs = 4 * model->context_length * (model->d_model / model->n_heads) +
                      16 * model->batch_size * model->context_length;
    return 4 * P * (m->mode == TIDE_TRAIN ? 3 : 1) + inputs +
           n_workspaces * tide_device_get_info(r->device)->workspace_bytes;
}

static void test_peaks_of_real_snapshots(void **state) {
    (void)state;
    static const tide_precision FP32 = TIDE_PRECISION_FP32;
    static const tide_precision BF16 = TIDE_PRECISION_BF16_MIXED;
    const tide_edition Y25 = TIDE_EDITION_2025;
    const tide_edition Y26 = TIDE_EDITION_2026;
    const measured MEASURED[] = {
        {"virtual:h100-80", "2.7B", 128, FP32, Y25, TIDE_FORWARD_BACKWARD, 13113.135},
        {"virtual:h100-80", "2.7B", 128, BF16, Y25, TIDE_FORWARD_BACKWARD, 13103.369},
        {"virtual:h100-80", "2.7B", 256, FP32, Y25, TIDE_FORWARD_BACKWARD, 13141.936},
        {"virtual:h100-80", "2.7B", 256, BF16, Y25, TIDE_FORWARD_BACKWARD, 14173.953},
        {"virtual:h100-80", "2.7B", 512, FP32, Y25, TIDE_FORWARD_BACKWARD, 27987.293},
        {"virtual:h100-80", "2.7B", 512, BF16, Y25, TIDE_FORWARD_BACKWARD, 25051.730},
        {"virtual:a100-80", "medium", 128, FP32, Y26, TIDE_TRAIN, 1829.160},
        {"virtual:a100-80", "medium", 256, FP32, Y26, TIDE_TRAIN, 3822.461},
        {"virtual:a100-80", "medium", 512, BF16, Y26, TIDE_TRAIN, 6991.445},
        {"virtual:a100-80", "medium", 1024, BF16, Y26, TIDE_TRAIN, 18225.930},
        {"virtual:a100-80", "medium", 128, FP32, Y26, TIDE_FORWARD, 34.000},
        {"virtual:a100-80", "medium", 256, FP32, Y26, TIDE_FORWARD, 88.127},
        {"virtual:a100-80", "medium", 1024, FP32, Y26, TIDE_FORWARD, 1121.258},
    };
    int n_wrong = 0;
    for (size_t i = 0; i < sizeof(MEASURED) / sizeof(MEASURED[0]); i++) {
        const measured *m = &MEASURED[i];
        tide_eager_config config = config_of(m->size, m->context, 4, m->precision, m->edition);
        config.keeps_graph = m->mode != TIDE_FORWARD;
        run r = open_run(m->device, &config);
        step(&r, m->mode);
        step(&r, m->mode);
        double mib =
            (double)(tide_eager_peak_bytes(r.eager) - base_bytes(&r, m)) / (1024.0 * 1024.0);
        if (mib < m->mib - 0.0006 || mib > m->mib + 0.0006) {
            print_error("%s %zu %s: %.4f MiB above the base, measured %.3f\n", m->size, m->context,
                        tide_precision_name((int)m->precision), mib, m->mib);
            n_wrong++;
        }
        close_run(&r);
    }
    assert_int_equal(n_wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward_keeps_the_closed_forms),
        cmocka_unit_test(test_peaks_of_real_snapshots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
