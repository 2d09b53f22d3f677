/* test_memory_model.c - requested bytes of runs on the virtual device equal the closed forms of
 * docs/model/memory-model.md, to the byte: at the peak, over all sizes, contexts, modes,
 * precisions, attentions and recompute settings, and after forward. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "allocator/cache.h"
#include "device/device.h"
#include "model/memory/memory_model.h"
#include "model/layers/transformer.h"
#include "model/workload/workload.h"

enum { N_STEPS = 2 };

/* The peak of requested bytes from the start to the end of each step. */
typedef struct peaks {
    tide_cache *cache;
    int64_t bytes[N_STEPS];
} peaks;

static bool note_peak(void *ctx, size_t n_done, size_t n_total) {
    peaks *peaks_of_run = ctx;
    (void)n_total;
    tide_cache_stats stats;
    tide_cache_get_stats(peaks_of_run->cache, &stats);
    peaks_of_run->bytes[n_done - 1] = stats.requested_bytes[TIDE_POOL_ALL].peak;
    return true;
}

static tide_memory_model_run run_of(const tide_workload_config *config, size_t n_steps) {
    return (tide_memory_model_run){
        .model = config->model,
        .mode = config->mode,
        .keep_graph = config->keep_graph,
        .precision = config->precision,
        .attention = config->attention,
        .recompute = config->recompute,
        .clips = config->clip_grad_norm > 0,
        .is_captured = config->cuda_graph,
        .n_steps = n_steps,
    };
}

static void describe(const tide_workload_config *config, char text[256]) {
    const tide_model_config *model = &config->model;
    (void)snprintf(text, 256,
                   "%s C %zu F %zu L %zu H %zu V %zu, context %zu, batch %zu, %s%s, %s, "
                   "%s, recompute %s, clip %g%s",
                   model->size, model->d_model, model->d_ff, model->n_layers, model->n_heads,
                   model->vocab_size, model->context_length, model->batch_size,
                   tide_mode_name((int)config->mode), config->keep_graph ? " --keep-graph" : "",
                   tide_precision_name((int)config->precision),
                   tide_attention_name((int)config->attention),
                   tide_recompute_name((int)config->recompute), config->clip_grad_norm,
                   model->no_head ? ", no head" : "");
}

/* Instants that set a peak somewhere; the tests name those that never did. */
typedef struct seen {
    const char *instants[64];
    size_t n_instants;
} seen;

static void note_instant(seen *seen_so_far, const char *instant) {
    for (size_t i = 0; i < seen_so_far->n_instants; i++) {
        if (strcmp(seen_so_far->instants[i], instant) == 0) {
            return;
        }
    }
    assert_true(seen_so_far->n_instants < 64);
    seen_so_far->instants[seen_so_far->n_instants++] = instant;
}

/* Two steps on the virtual device: the peak of the first, and of both. As a graph the second one is
 * captured and then replayed. */
static void check_run(tide_device *device, tide_workload_config *config, seen *seen_so_far) {
    tide_cache *cache = NULL;
    tide_workload *workload = NULL;
    tide_workload_result result;
    peaks measured = {0};
    assert_int_equal(tide_cache_create(device, NULL, NULL, &cache, NULL), TIDE_OK);
    measured.cache = cache;
    config->warmup_steps = config->cuda_graph ? 1 : 0;
    config->steps = N_STEPS - config->warmup_steps;
    config->progress = note_peak;
    config->progress_ctx = &measured;
    assert_int_equal(tide_workload_create(config, cache, NULL, &workload, NULL), TIDE_OK);
    assert_int_equal(tide_workload_run(workload, &result, NULL), TIDE_OK);
    tide_workload_result_fini(&result);
    tide_workload_destroy(workload);
    tide_cache_stats stats;
    tide_cache_get_stats(cache, &stats);
    assert_true(stats.allocated_bytes[TIDE_POOL_ALL].current == 0);
    tide_cache_destroy(cache);
    for (size_t step = 0; step < N_STEPS; step++) {
        const tide_memory_model_run run = run_of(config, step + 1);
        tide_memory_model model;
        tide_memory_model_derive(&run, &model);
        note_instant(seen_so_far, model.peak_instant);
        if ((uint64_t)measured.bytes[step] != model.peak_bytes) {
            char text[256];
            describe(config, text);
            fail_msg("%s, step %zu: measured %lld, derived %llu (%s, layer %lld)", text, step,
                     (long long)measured.bytes[step], (unsigned long long)model.peak_bytes,
                     model.peak_instant, (long long)model.peak_layer);
        }
    }
}

/* All combinations of mode, attention and recompute for one shape and precision. */
static void check_modes(tide_device *device, const tide_model_config *model,
                        tide_precision precision, seen *seen_so_far) {
    for (int variant = 0; variant < 16; variant++) {
        tide_workload_config config;
        tide_workload_config_init(&config);
        config.model = *model;
        config.model.no_head = false;
        config.precision = precision;
        config.mode = (variant & 3) == 3 ? TIDE_FORWARD : (tide_mode)(variant & 3);
        config.keep_graph = (variant & 3) == 3;
        config.attention = (variant & 4) != 0 ? TIDE_ATTENTION_NAIVE : TIDE_ATTENTION_FLASH;
        config.recompute = (variant & 8) != 0 ? TIDE_RECOMPUTE_BLOCK : TIDE_RECOMPUTE_NONE;
        check_run(device, &config, seen_so_far);
        if (config.mode == TIDE_FORWARD) {
            config.model.no_head = true;
            check_run(device, &config, seen_so_far);
        }
        if (config.mode == TIDE_TRAIN) {
            config.clip_grad_norm = 1;
            check_run(device, &config, seen_so_far);
        }
        if (precision == TIDE_PRECISION_BF16_MIXED) {
            config.cuda_graph = true;
            check_run(device, &config, seen_so_far);
        }
    }
}

static tide_device *open_virtual(void) {
    tide_device *device = NULL;
    assert_int_equal(tide_device_open("virtual", NULL, &device, NULL), TIDE_OK);
    return device;
}

static void peaks_are_as_derived(void **state) {
    (void)state;
    seen seen_so_far = {.n_instants = 0};
    tide_device *device = open_virtual();
    for (size_t s = 0; tide_model_preset_name(s) != NULL; s++) {
        tide_model_config model;
        assert_int_equal(tide_model_config_preset(tide_model_preset_name(s), &model, NULL),
                         TIDE_OK);
        for (model.context_length = 64; model.context_length <= 2048; model.context_length *= 2) {
            for (int precision = 0; precision < TIDE_N_PRECISIONS; precision++) {
                model.batch_size = 1;
                check_modes(device, &model, (tide_precision)precision, &seen_so_far);
                model.batch_size = 4;
                check_modes(device, &model, (tide_precision)precision, &seen_so_far);
            }
        }
    }
    tide_device_close(device);
}

/* Shapes far from the presets, chosen to peak at instants where no preset does. */
static void peaks_of_odd_shapes_are_as_derived(void **state) {
    (void)state;
    seen seen_so_far = {.n_instants = 0};
    tide_device *device = open_virtual();
    enum { N_SHAPES = 4 * 5 * 4 * 4 };
    static const size_t WIDTHS[] = {2, 30, 64, 258};
    static const size_t CONTEXTS[] = {1, 7, 130, 1000, 9000};
    static const size_t HIDDEN[] = {1, 40, 300, 5000};
    static const size_t VOCABULARIES[] = {1, 17, 3000, 100003};
    for (size_t i = 0; i < N_SHAPES; i++) {
        tide_model_config model = {
            .size = "custom",
            .d_model = WIDTHS[i % 4],
            .context_length = CONTEXTS[i / 4 % 5],
            .d_ff = HIDDEN[i / 20 % 4],
            .vocab_size = VOCABULARIES[i / 80],
            .n_layers = 1 + i % 3,
            .n_heads = 1,
            .batch_size = 1 + i % 2,
            .rope_theta = 10000,
        };
        for (int precision = 0; precision < TIDE_N_PRECISIONS; precision++) {
            check_modes(device, &model, (tide_precision)precision, &seen_so_far);
        }
    }
    /* Each instant that can set a peak did so in some run. */
    static const char *const INSTANTS[] = {"q, k, v projections",
                                           "attention",
                                           "gate and up projections",
                                           "swiglu",
                                           "down projection",
                                           "lm_head",
                                           "cross-entropy",
                                           "lm_head backward",
                                           "ln_final backward",
                                           "down projection backward",
                                           "swiglu backward",
                                           "up projection backward",
                                           "attention backward",
                                           "v projection backward",
                                           "ln1 backward",
                                           "embedding backward",
                                           "clipping",
                                           "adamw"};
    for (size_t i = 0; i < sizeof(INSTANTS) / sizeof(INSTANTS[0]); i++) {
        size_t n_before = seen_so_far.n_instants;
        note_instant(&seen_so_far, INSTANTS[i]);
        if (seen_so_far.n_instants != n_before) {
            fail_msg("no peak was seen at: %s", INSTANTS[i]);
        }
    }
    tide_device_close(device);
}

static int64_t requested_now(tide_cache *cache) {
    tide_cache_stats stats;
    tide_cache_get_stats(cache, &stats);
    return stats.requested_bytes[TIDE_POOL_ALL].current;
}

/* The bytes that forward leaves alive with `n_layers` layers. */
static int64_t kept_by_forward(tide_device *device, tide_transformer_config config,
                               size_t n_layers) {
    tide_cache *cache = NULL;
    tide_transformer *transformer = NULL;
    assert_int_equal(tide_cache_create(device, NULL, NULL, &cache, NULL), TIDE_OK);
    config.model.n_layers = n_layers;
    assert_int_equal(tide_transformer_create(&config, cache, NULL, &transformer, NULL), TIDE_OK);
    assert_int_equal(tide_transformer_setup(transformer, NULL), TIDE_OK);
    int64_t before = requested_now(cache);
    assert_int_equal(tide_transformer_forward(transformer, NULL), TIDE_OK);
    int64_t kept = requested_now(cache) - before;
    tide_transformer_destroy(transformer);
    assert_true(requested_now(cache) == 0);
    tide_cache_destroy(cache);
    return kept;
}

/* The formula of the page, written out: e (8N + 3F) + 8T + 4BHS and so on. */
static int64_t per_block(const tide_transformer_config *config) {
    const tide_model_config *m = &config->model;
    bool mixed = config->precision == TIDE_PRECISION_BF16_MIXED ||
                 config->precision == TIDE_PRECISION_FP16_MIXED;
    int64_t e = mixed || config->precision == TIDE_PRECISION_BF16_TRUE ? 2 : 4;
    int64_t rows = (int64_t)(m->batch_size * m->context_length);
    int64_t N = rows * (int64_t)m->d_model;
    int64_t F = rows * (int64_t)m->d_ff;
    int64_t heads = rows * (int64_t)m->n_heads;
    int64_t A = heads * (int64_t)m->context_length;
    int64_t copies =
        mixed ? 2 * (4 * (int64_t)(m->d_model * m->d_model) + 3 * (int64_t)(m->d_model * m->d_ff))
              : 0;
    if (config->recompute == TIDE_RECOMPUTE_BLOCK) {
        return (mixed ? 4 : e) * N + copies;
    }
    int64_t attention = config->attention == TIDE_ATTENTION_FLASH ? 4 * heads : e * A;
    return e * (8 * N + 3 * F) + 8 * rows + attention + (mixed ? 4 * N : 0) + copies;
}

/* The bytes alive after forward by the closed forms, without those allocated in setup. */
static int64_t after_forward(const tide_transformer_config *config, bool keep_graph) {
    const tide_memory_model_run run = {
        .model = config->model,
        .mode = TIDE_FORWARD,
        .keep_graph = keep_graph,
        .precision = config->precision,
        .attention = config->attention,
        .recompute = config->recompute,
        .n_steps = 1,
    };
    tide_memory_model model;
    tide_memory_model_derive(&run, &model);
    return (int64_t)(model.after_forward_bytes - model.input_bytes - model.parameter_bytes);
}

static void blocks_keep_what_the_page_says(void **state) {
    (void)state;
    tide_device *device = open_virtual();
    for (int variant = 0; variant < 4 * TIDE_N_PRECISIONS; variant++) {
        tide_transformer_config config;
        tide_transformer_config_init(&config);
        assert_int_equal(tide_model_config_preset("medium", &config.model, NULL), TIDE_OK);
        config.model.context_length = 256;
        config.precision = (tide_precision)(variant / 4);
        config.attention = (variant & 1) != 0 ? TIDE_ATTENTION_NAIVE : TIDE_ATTENTION_FLASH;
        config.recompute = (variant & 2) != 0 ? TIDE_RECOMPUTE_BLOCK : TIDE_RECOMPUTE_NONE;
        int64_t one = kept_by_forward(device, config, 1);
        int64_t three = kept_by_forward(device, config, 3);
        assert_true(three - one == 2 * per_block(&config));
        config.model.n_layers = 3;
        assert_true(three == after_forward(&config, true));
        config.keep_for_backward = false;
        int64_t logits = kept_by_forward(device, config, 3);
        assert_true(logits == after_forward(&config, false));
        config.model.no_head = true; /* the output of the last norm is alive in their place */
        assert_true(kept_by_forward(device, config, 3) == after_forward(&config, false));
        config.keep_for_backward = true;
        assert_true(kept_by_forward(device, config, 3) == after_forward(&config, true));
        int64_t e = config.precision >= TIDE_PRECISION_BF16_MIXED ? 2 : 4;
        assert_true(logits == e * 4 * 256 * 10000);
    }
    tide_device_close(device);
}

/* MiB of the published table for 2.7B at context 512, batch 4: 400.27 flash, 528.02 naive, fp32. */
static void published_figures_are_met(void **state) {
    (void)state;
    tide_memory_model_run run = {.mode = TIDE_TRAIN, .n_steps = 2};
    assert_int_equal(tide_model_config_preset("2.7B", &run.model, NULL), TIDE_OK);
    run.model.context_length = 512;
    tide_memory_model model;
    tide_memory_model_derive(&run, &model);
    assert_true(model.saved_per_block_bytes == UINT64_C(400) * 1048576 + 16384 + 262144);
    /* The worked example of docs/model/memory-model.md. */
    assert_true(model.peak_bytes == UINT64_C(54708592644));
    assert_string_equal(model.peak_instant, "swiglu backward");
    assert_int_equal(model.peak_layer, 31);
    run.attention = TIDE_ATTENTION_NAIVE;
    tide_memory_model_derive(&run, &model);
    assert_true(model.saved_per_block_bytes == UINT64_C(528) * 1048576 + 16384);
    assert_true(model.parameter_bytes == UINT64_C(13627238400));
    assert_true(model.optimizer_state_bytes == 2 * UINT64_C(13627238400));
}

/* The text of a file of the project. The caller frees it. */
static char *read_text(const char *path) {
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    assert_int_equal(fseek(stream, 0, SEEK_END), 0);
    long n_bytes = ftell(stream);
    assert_true(n_bytes > 0);
    rewind(stream);
    char *text = malloc((size_t)n_bytes + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)n_bytes, stream), n_bytes);
    assert_int_equal(fclose(stream), 0);
    text[n_bytes] = '\0';
    return text;
}

/* "| small | fp32 | flash | none | 1.918 embedding backward | ...": a row of the page's table. */
static void winners_row(tide_memory_model_run *run, char *row, size_t row_bytes) {
    size_t n = (size_t)snprintf(row, row_bytes, "\n| %s | %s | %s | %s |", run->model.size,
                                tide_precision_name((int)run->precision),
                                tide_attention_name((int)run->attention),
                                tide_recompute_name((int)run->recompute));
    for (run->model.context_length = 128; run->model.context_length <= 2048;
         run->model.context_length *= 4) {
        tide_memory_model model;
        tide_memory_model_derive(run, &model);
        n += (size_t)snprintf(row + n, row_bytes - n, " %.3f %s",
                              (double)model.peak_bytes / (1024.0 * 1024.0 * 1024.0),
                              model.peak_instant);
        if (model.peak_layer >= 0) {
            n += (size_t)snprintf(row + n, row_bytes - n, " (%lld)", (long long)model.peak_layer);
        }
        n += (size_t)snprintf(row + n, row_bytes - n, " |");
    }
    (void)snprintf(row + n, row_bytes - n, "\n");
}

static void the_table_of_winners_is_as_derived(void **state) {
    (void)state;
    static const char *const SIZES[] = {"small", "2.7B"};
    char *page = read_text(TIDE_DOCS_DIR "/model/memory-model.md");
    for (size_t i = 0; i < 16; i++) {
        tide_memory_model_run run = {
            .mode = TIDE_TRAIN,
            .precision = (i & 4) != 0 ? TIDE_PRECISION_BF16_MIXED : TIDE_PRECISION_FP32,
            .attention = (i & 2) != 0 ? TIDE_ATTENTION_NAIVE : TIDE_ATTENTION_FLASH,
            .recompute = (i & 1) != 0 ? TIDE_RECOMPUTE_BLOCK : TIDE_RECOMPUTE_NONE,
            .n_steps = 2,
        };
        char row[512];
        assert_int_equal(tide_model_config_preset(SIZES[i / 8], &run.model, NULL), TIDE_OK);
        winners_row(&run, row, sizeof(row));
        if (strstr(page, row) == NULL) {
            fail_msg("docs/model/memory-model.md has no row%s", row);
        }
    }
    free(page);
    /* The text below the table states where the backward pass of lm_head sets the peak. */
    tide_memory_model_run run = {.mode = TIDE_TRAIN, .n_steps = 2};
    assert_int_equal(tide_model_config_preset("small", &run.model, NULL), TIDE_OK);
    for (run.model.context_length = 256; run.model.context_length <= 2048;
         run.model.context_length *= 2) {
        tide_memory_model model;
        tide_memory_model_derive(&run, &model);
        assert_string_equal(model.peak_instant, "lm_head backward");
    }
}

static void a_card_s_workspace_is_counted(void **state) {
    (void)state;
    tide_memory_model_run run = {.mode = TIDE_FORWARD, .n_steps = 1};
    assert_int_equal(tide_model_config_preset("small", &run.model, NULL), TIDE_OK);
    tide_memory_model without;
    tide_memory_model with;
    tide_memory_model_derive(&run, &without);
    run.workspace_bytes = 33554432;
    tide_memory_model_derive(&run, &with);
    assert_true(with.peak_bytes == without.peak_bytes + 33554432);
    assert_true(with.input_bytes == without.input_bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_keep_what_the_page_says),
        cmocka_unit_test(published_figures_are_met),
        cmocka_unit_test(the_table_of_winners_is_as_derived),
        cmocka_unit_test(a_card_s_workspace_is_counted),
        cmocka_unit_test(peaks_of_odd_shapes_are_as_derived),
        cmocka_unit_test(peaks_are_as_derived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
