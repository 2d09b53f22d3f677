/* test_eager_peaks.c - peaks of the forecast equal those of real snapshots and, through the
 * allocator, published ones. */
#include <stdio.h>
#include <stdlib.h>

#include "eager_run.h"

/* ---- peaks above the memory held before and after every step ---- */

typedef struct measured {
    const char *device; /* for the workspaces */
    const char *size;
    size_t context;
    tide_precision precision;
    tide_edition edition;
    tide_mode mode;
    double mib; /* read from a real snapshot, three digits after the point */
} measured;

static uint64_t base_bytes(const eager_run *r, const measured *m) {
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
    char *page = eager_page_read(TIDE_DOCS_DIR "/model/pytorch-forecast.md");
    for (size_t i = 0; i < sizeof(MEASURED) / sizeof(MEASURED[0]); i++) {
        const measured *m = &MEASURED[i];
        tide_eager_config config =
            eager_run_config(m->size, m->context, 4, m->precision, m->edition);
        config.keeps_graph = m->mode != TIDE_FORWARD;
        eager_run r = eager_run_open(m->device, &config);
        eager_run_step(&r, m->mode);
        eager_run_step(&r, m->mode);
        assert_true(tide_eager_least_bytes(&config, m->mode, 2) <= tide_eager_peak_bytes(r.eager));
        double mib =
            (double)(tide_eager_peak_bytes(r.eager) - base_bytes(&r, m)) / (1024.0 * 1024.0);
        if (mib < m->mib - 0.0006 || mib > m->mib + 0.0006) {
            print_error("%s %zu %s: %.4f MiB above the base, measured %.3f\n", m->size, m->context,
                        tide_precision_name((int)m->precision), mib, m->mib);
            n_wrong++;
        }
        eager_run_close(&r);
        char row[256];
        (void)snprintf(row, sizeof(row), "| %s | %zu | %s | %s%s | %s | %.3f | %.3f |\n", m->size,
                       m->context, tide_precision_name((int)m->precision),
                       tide_mode_name((int)m->mode), m->mode == TIDE_FORWARD ? ", no graph" : "",
                       tide_edition_name((int)m->edition), m->mib, mib);
        eager_page_check_row(page, row, &n_wrong);
    }
    free(page);
    assert_int_equal(n_wrong, 0);
}

/* ---- published peaks ---- */

typedef struct published {
    const char *device;
    size_t batch, context;
    tide_mode mode; /* forward: without a graph; train: a step with the optimizer state */
    tide_precision precision;
    tide_edition edition;
    double gib; /* two digits after the point */
} published;

static double allocated_peak_gib(const published *p) {
    tide_eager_config config =
        eager_run_config("2.7B", p->context, p->batch, p->precision, p->edition);
    config.keeps_graph = p->mode != TIDE_FORWARD;
    eager_run r = eager_run_open(p->device, &config);
    eager_run_step(&r, p->mode);
    eager_run_step(&r, p->mode);
    tide_cache_stats stats;
    tide_cache_get_stats(r.cache, &stats);
    eager_run_close(&r);
    return (double)stats.allocated_bytes[TIDE_POOL_ALL].peak / (1024.0 * 1024.0 * 1024.0);
}

static void test_published_peaks_come_out(void **state) {
    (void)state;
    const tide_precision FP32 = TIDE_PRECISION_FP32;
    const tide_precision BF16 = TIDE_PRECISION_BF16_MIXED;
    const char *const H100 = "virtual:h100-80";
    const char *const B200 = "virtual:b200";
    const tide_edition Y25 = TIDE_EDITION_2025;
    const tide_edition Y26 = TIDE_EDITION_2026;
    const published PUBLISHED[] = {
        {H100, 4, 128, TIDE_FORWARD, FP32, Y25, 12.93},
        {H100, 4, 128, TIDE_FORWARD, BF16, Y25, 19.16},
        {H100, 4, 128, TIDE_TRAIN, FP32, Y25, 51.44},
        {H100, 4, 128, TIDE_TRAIN, BF16, Y25, 51.44},
        {H100, 4, 256, TIDE_FORWARD, FP32, Y25, 13.02},
        {H100, 4, 256, TIDE_FORWARD, BF16, Y25, 19.18},
        {H100, 4, 256, TIDE_TRAIN, FP32, Y25, 51.44},
        {H100, 4, 256, TIDE_TRAIN, BF16, Y25, 52.11},
        {H100, 4, 512, TIDE_FORWARD, FP32, Y25, 13.45},
        {H100, 4, 512, TIDE_FORWARD, BF16, Y25, 19.41},
        {H100, 4, 512, TIDE_TRAIN, FP32, Y25, 65.52},
        {H100, 4, 512, TIDE_TRAIN, BF16, Y25, 62.69},
        {B200, 1, 128, TIDE_FORWARD, FP32, Y26, 12.85},
        {B200, 1, 128, TIDE_FORWARD, BF16, Y26, 19.13},
        {B200, 1, 128, TIDE_TRAIN, FP32, Y26, 51.40},
        {B200, 1, 128, TIDE_TRAIN, BF16, Y26, 51.40},
        {B200, 1, 2048, TIDE_FORWARD, FP32, Y26, 14.95},
        {B200, 1, 2048, TIDE_FORWARD, BF16, Y26, 20.53},
        {B200, 1, 2048, TIDE_TRAIN, FP32, Y26, 91.15},
        {B200, 1, 2048, TIDE_TRAIN, BF16, Y26, 82.48},
    };
    int n_wrong = 0;
    char *page = eager_page_read(TIDE_DOCS_DIR "/model/pytorch-forecast.md");
    for (size_t i = 0; i < sizeof(PUBLISHED) / sizeof(PUBLISHED[0]); i++) {
        const published *p = &PUBLISHED[i];
        double gib = allocated_peak_gib(p);
        char row[256];
        (void)snprintf(row, sizeof(row), "| %zu | %zu | %s | %s | %s | %.2f | %.2f | %+.2f |\n",
                       p->batch, p->context, p->mode == TIDE_FORWARD ? "forward" : "full step",
                       tide_precision_name((int)p->precision), tide_edition_name((int)p->edition),
                       p->gib, gib, gib - p->gib);
        eager_page_check_row(page, row, &n_wrong);
        if (gib < p->gib - 0.1 || gib > p->gib + 0.1) {
            print_error("beyond 0.1 GiB: %s", row);
            n_wrong++;
        }
    }
    free(page);
    assert_int_equal(n_wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peaks_of_real_snapshots),
        cmocka_unit_test(test_published_peaks_come_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
