/* test_eager_events.c - the events of the forecast are those that PyTorch records of the same run:
 * their number, their sizes in order, and what stays; and the rows of GradScaler one by one. */
#include <stdio.h>
#include <string.h>

#include "eager_run.h"
#include "recorder/recorder.h"

/* A run with a log of its events. */
typedef struct recorded {
    tide_recorder *recorder;
    eager_run run;
} recorded;

static tide_eager_config odd_config(tide_precision precision, tide_edition edition,
                                    bool keeps_graph) {
    tide_eager_config config = eager_run_config("small", 33, 4, precision, edition);
    config.model.d_model = 96;
    config.model.d_ff = 200;
    config.model.n_layers = 2;
    config.model.n_heads = 6;
    config.model.vocab_size = 777;
    config.keeps_graph = keeps_graph;
    return config;
}

static recorded open_recorded(const char *device, const tide_eager_config *config) {
    recorded r = {.run = {.config = *config}};
    tide_recorder_config recording;
    tide_error error = {""};
    tide_recorder_config_init(&recording);
    recording.capture_stacks = false;
    recording.log_path = "";
    assert_int_equal(tide_device_open(device, NULL, &r.run.device, &error), TIDE_OK);
    assert_int_equal(tide_recorder_create(&recording, &r.recorder, &error), TIDE_OK);
    assert_int_equal(tide_cache_create(r.run.device, r.recorder, NULL, &r.run.cache, &error),
                     TIDE_OK);
    assert_int_equal(tide_eager_create(config, r.run.cache, r.recorder, &r.run.eager, &error),
                     TIDE_OK);
    assert_int_equal(tide_eager_setup(r.run.eager, &error), TIDE_OK);
    return r;
}

static void close_recorded(recorded *r) {
    tide_eager_destroy(r->run.eager);
    tide_cache_destroy(r->run.cache);
    tide_recorder_destroy(r->recorder);
    tide_device_close(r->run.device);
}

static void take_steps(recorded *r, tide_mode mode, int n) {
    for (int i = 0; i < n; i++) {
        eager_run_step(&r->run, mode);
    }
}

static tide_cache_state copy_of(const recorded *r) {
    tide_cache_state copy;
    assert_int_equal(tide_cache_copy_state(r->run.cache, tide_hostmem_default(), &copy, NULL),
                     TIDE_OK);
    assert_int_equal(copy.recording.n_dropped, 0);
    return copy;
}

/* ---- counts ---- */

/* A summary of a history. */
typedef struct history {
    uint64_t n_allocs, n_frees, allocated_bytes; /* all that was ever requested */
    uint64_t peak_bytes, end_bytes;              /* requested and alive */
    uint64_t segment_bytes;
    uint64_t order; /* FNV-1a over each request's size and the number of releases before it */
} history;

static uint64_t mixed_in(uint64_t hash, uint64_t value) {
    return (hash ^ value) * UINT64_C(0x100000001b3);
}

static history history_of(const tide_recording *recording) {
    history h = {.order = UINT64_C(0xcbf29ce484222325)};
    for (size_t i = 0; i < recording->n_events; i++) {
        const tide_event *event = &recording->events[i];
        if (event->action == TIDE_ACTION_ALLOC) {
            h.order = mixed_in(mixed_in(h.order, event->requested_bytes), h.n_frees);
            h.n_allocs++;
            h.allocated_bytes += event->requested_bytes;
            h.end_bytes += event->requested_bytes;
            h.peak_bytes = h.end_bytes > h.peak_bytes ? h.end_bytes : h.peak_bytes;
        } else if (event->action == TIDE_ACTION_FREE) {
            h.n_frees++;
            h.end_bytes -= event->requested_bytes;
        } else if (event->action == TIDE_ACTION_SEGMENT_ALLOC) {
            h.segment_bytes += event->block_bytes;
        }
    }
    return h;
}

/* The histories of PyTorch 2.14.1 (torch.cuda.memory._record_memory_history) of three steps on the
 * virtual card h100-80, by tests/pytorch/plain_training.py: width 96, feed-forward 200, 2 blocks,
 * 6 heads, vocabulary 777, context 33, batch 4. */
static void test_counts_are_those_of_pytorch(void **state) {
    (void)state;
    const tide_precision FP32 = TIDE_PRECISION_FP32;
    const tide_precision BF16 = TIDE_PRECISION_BF16_MIXED;
    const tide_precision FP16 = TIDE_PRECISION_FP16_MIXED;
    const tide_edition Y25 = TIDE_EDITION_2025;
    const tide_edition Y26 = TIDE_EDITION_2026;
    const struct {
        tide_precision precision;
        tide_edition edition;
        tide_mode mode;
        bool keeps_graph;
        history of_pytorch;
    } RECORDED[] = {
        {FP32,
         Y26,
         TIDE_TRAIN,
         true,
         {1916, 1825, 185398177, 75483686, 72940820, 77594624, UINT64_C(0x3196d8e200d7fe12)}},
        {FP32,
         Y26,
         TIDE_FORWARD_BACKWARD,
         true,
         {1034, 985, 128514721, 72774950, 70232084, 73400320, UINT64_C(0x6ceb65b498e06169)}},
        {FP32,
         Y26,
         TIDE_FORWARD,
         false,
         {367, 342, 51090638, 35639849, 34913024, 37748736, UINT64_C(0x3145ec7cd342c2cc)}},
        {FP32,
         Y26,
         TIDE_FORWARD,
         true,
         {367, 342, 51090638, 37987106, 34913024, 39845888, UINT64_C(0x9d79230ed1cac7c1)}},
        {BF16,
         Y26,
         TIDE_TRAIN,
         true,
         {2177, 2086, 183962041, 75200250, 72735692, 77594624, UINT64_C(0x3306993827ecf0bb)}},
        {BF16,
         Y26,
         TIDE_FORWARD_BACKWARD,
         true,
         {1295, 1246, 127078585, 72491514, 70026956, 73400320, UINT64_C(0x31061dc8035150c4)}},
        {BF16,
         Y26,
         TIDE_FORWARD,
         false,
         {469, 444, 50073194, 35771912, 34913024, 37748736, UINT64_C(0x5c6442456e594a5b)}},
        {BF16,
         Y26,
         TIDE_FORWARD,
         true,
         {469, 444, 50073194, 37549754, 34913024, 37748736, UINT64_C(0x9563d96d87c9b42d)}},
        {FP16,
         Y26,
         TIDE_TRAIN,
         true,
         {2203, 2110, 183962169, 75200262, 72735700, 77594624, UINT64_C(0x0415eefbb28cffd1)}},
        {FP16,
         Y26,
         TIDE_FORWARD_BACKWARD,
         true,
         {1303, 1252, 127078617, 72491526, 70026964, 73400320, UINT64_C(0xb400caf3d37ed39d)}},
        {FP16,
         Y26,
         TIDE_FORWARD,
         false,
         {469, 444, 50073194, 35771912, 34913024, 37748736, UINT64_C(0x5c6442456e594a5b)}},
        {FP16,
         Y26,
         TIDE_FORWARD,
         true,
         {469, 444, 50073194, 37549754, 34913024, 37748736, UINT64_C(0x9563d96d87c9b42d)}},
        {FP32,
         Y25,
         TIDE_TRAIN,
         true,
         {1937, 1846, 186320209, 75492134, 72940820, 77594624, UINT64_C(0x9aac74ea1da30d7a)}},
        {FP32,
         Y25,
         TIDE_FORWARD_BACKWARD,
         true,
         {1055, 1006, 129436753, 72783398, 70232084, 73400320, UINT64_C(0xb15db2a189b4979d)}},
        {FP32,
         Y25,
         TIDE_FORWARD,
         false,
         {385, 360, 51117566, 35589425, 34913024, 37748736, UINT64_C(0x2bffcb53acd7e339)}},
        {FP32,
         Y25,
         TIDE_FORWARD,
         true,
         {385, 360, 51117566, 37995554, 34913024, 39845888, UINT64_C(0x5da76bbb6409c9a8)}},
        {BF16,
         Y25,
         TIDE_TRAIN,
         true,
         {2198, 2107, 184884073, 75208698, 72735692, 77594624, UINT64_C(0xa00cdf8c8fee9444)}},
        {BF16,
         Y25,
         TIDE_FORWARD_BACKWARD,
         true,
         {1316, 1267, 128000617, 72499962, 70026956, 73400320, UINT64_C(0x8c6824b6add9c9cb)}},
        {BF16,
         Y25,
         TIDE_FORWARD,
         false,
         {487, 462, 50100122, 35721224, 34913024, 37748736, UINT64_C(0xd3933cab8ea4a7c1)}},
        {BF16,
         Y25,
         TIDE_FORWARD,
         true,
         {487, 462, 50100122, 37558202, 34913024, 37748736, UINT64_C(0xe4d03fe93adbd26c)}},
        {FP16,
         Y25,
         TIDE_TRAIN,
         true,
         {2224, 2131, 184884201, 75208710, 72735700, 77594624, UINT64_C(0x095a358189ddccd7)}},
        {FP16,
         Y25,
         TIDE_FORWARD_BACKWARD,
         true,
         {1324, 1273, 128000649, 72499974, 70026964, 73400320, UINT64_C(0xe39d242352fef761)}},
        {FP16,
         Y25,
         TIDE_FORWARD,
         false,
         {487, 462, 50100122, 35721224, 34913024, 37748736, UINT64_C(0xd3933cab8ea4a7c1)}},
        {FP16,
         Y25,
         TIDE_FORWARD,
         true,
         {487, 462, 50100122, 37558202, 34913024, 37748736, UINT64_C(0xe4d03fe93adbd26c)}},
    };
    int n_wrong = 0;
    for (size_t i = 0; i < sizeof(RECORDED) / sizeof(RECORDED[0]); i++) {
        const tide_eager_config config =
            odd_config(RECORDED[i].precision, RECORDED[i].edition, RECORDED[i].keeps_graph);
        recorded r = open_recorded("virtual:h100-80", &config);
        take_steps(&r, RECORDED[i].mode, 3);
        tide_cache_state copy = copy_of(&r);
        const history own = history_of(&copy.recording);
        if (memcmp(&own, &RECORDED[i].of_pytorch, sizeof(own)) != 0) {
            print_error("row %zu: %llu allocations, %llu releases, %llu bytes in all, peak %llu, "
                        "end %llu, segments %llu, order %016llx\n",
                        i, (unsigned long long)own.n_allocs, (unsigned long long)own.n_frees,
                        (unsigned long long)own.allocated_bytes, (unsigned long long)own.peak_bytes,
                        (unsigned long long)own.end_bytes, (unsigned long long)own.segment_bytes,
                        (unsigned long long)own.order);
            n_wrong++;
        }
        tide_cache_state_fini(&copy);
        close_recorded(&r);
    }
    assert_int_equal(n_wrong, 0);
}

/* ---- GradScaler ---- */

static bool is_of_scaler(const char *name) {
    return strncmp(name, "grad_scaler.", 12) == 0 || strncmp(name, "loss.scaled", 11) == 0 ||
           strcmp(name, "loss.grad") == 0;
}

/* Lines "+ name bytes" of what GradScaler's calls request, "- name bytes" of what they release, and
 * "..." for other rows in between. */
static void rows_of_scaler(const tide_recording *recording, char *text, size_t n_bytes) {
    bool skips = false;
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; i < recording->n_events; i++) {
        const tide_event *event = &recording->events[i];
        const char *name = event->name == TIDE_NONE ? "" : recording->strings[event->name];
        bool is_row = is_of_scaler(name);
        if (is_row) {
            n += (size_t)snprintf(text + n, n_bytes - n, "%s%c %s %llu\n", skips ? "...\n" : "",
                                  event->action == TIDE_ACTION_ALLOC ? '+' : '-', name,
                                  (unsigned long long)event->requested_bytes);
        }
        skips = !is_row;
        assert_true(n < n_bytes);
    }
}

/* As in PyTorch's history: the scale and its counter are made by the first scaled loss, and the
 * flag lives from unscale_ to update, with the whole step of AdamW in between. */
#define UNSCALE                                                                                    \
    "+ grad_scaler.scale.fp64 8\n"                                                                 \
    "+ grad_scaler.inverse_scale.fp64 8\n"                                                         \
    "- grad_scaler.scale.fp64 8\n"                                                                 \
    "+ grad_scaler.inverse_scale 4\n"                                                              \
    "- grad_scaler.inverse_scale.fp64 8\n"                                                         \
    "+ grad_scaler.found_inf 4\n"                                                                  \
    "+ grad_scaler.found_inf.copy 4\n"                                                             \
    "+ grad_scaler.inverse_scale.copy 4\n"                                                         \
    "- grad_scaler.inverse_scale.copy 4\n"                                                         \
    "- grad_scaler.inverse_scale 4\n"                                                              \
    "- grad_scaler.found_inf 4\n"                                                                  \
    "...\n"                                                                                        \
    "- grad_scaler.found_inf.copy 4\n"
#define SCALED_BACKWARD                                                                            \
    "+ loss.scaled 4\n"                                                                            \
    "+ loss.scaled.grad 4\n"                                                                       \
    "+ loss.grad 4\n"                                                                              \
    "...\n"                                                                                        \
    "- loss.grad 4\n"                                                                              \
    "...\n"                                                                                        \
    "- loss.scaled.grad 4\n"                                                                       \
    "- loss.scaled 4\n"

static void check_scaler(tide_mode mode, const char *expected) {
    const tide_eager_config config = odd_config(TIDE_PRECISION_FP16_MIXED, TIDE_EDITION_2026, true);
    char text[4096];
    recorded r = open_recorded("virtual:h100-80", &config);
    take_steps(&r, mode, 2);
    tide_cache_state copy = copy_of(&r);
    rows_of_scaler(&copy.recording, text, sizeof(text));
    assert_string_equal(text, expected);
    tide_cache_state_fini(&copy);
    close_recorded(&r);
}

static void test_rows_of_the_scaler(void **state) {
    (void)state;
    check_scaler(
        TIDE_TRAIN,
        "...\n+ grad_scaler.scale 4\n+ grad_scaler.growth_tracker 4\n" SCALED_BACKWARD UNSCALE
        "...\n" SCALED_BACKWARD UNSCALE);
    check_scaler(TIDE_FORWARD_BACKWARD,
                 "...\n+ grad_scaler.scale 4\n+ grad_scaler.growth_tracker 4\n" SCALED_BACKWARD
                 "...\n" SCALED_BACKWARD);
}

/* Between the steps of a run in fp16-mixed its scale and counter are alive, as optimizer state. */
static void test_state_of_the_scaler_stays(void **state) {
    (void)state;
    static const tide_precision PRECISIONS[] = {TIDE_PRECISION_FP16_MIXED,
                                                TIDE_PRECISION_BF16_MIXED};
    static const size_t N_MORE[] = {2, 0};
    for (size_t p = 0; p < 2; p++) {
        const tide_eager_config config = odd_config(PRECISIONS[p], TIDE_EDITION_2026, true);
        recorded r = open_recorded("virtual:h100-80", &config);
        take_steps(&r, TIDE_TRAIN, 2);
        tide_cache_state copy = copy_of(&r);
        size_t n_state = 0;
        for (size_t i = 0; i < copy.n_blocks; i++) {
            n_state += copy.blocks[i].state == TIDE_BLOCK_ALLOCATED &&
                       copy.blocks[i].category == TIDE_OPTIMIZER_STATE;
        }
        assert_int_equal(n_state, 2 * tide_model_n_tensors(&config.model) + N_MORE[p]);
        tide_cache_state_fini(&copy);
        close_recorded(&r);
    }
}

/* ---- sums over rows ---- */

static uint64_t first_request(const tide_recording *recording, const char *name) {
    for (size_t i = 0; i < recording->n_events; i++) {
        const tide_event *event = &recording->events[i];
        if (event->action == TIDE_ACTION_ALLOC && event->name != TIDE_NONE &&
            strcmp(recording->strings[event->name], name) == 0) {
            return event->requested_bytes;
        }
    }
    return 0;
}

/* The scratch of the last norm's gradient, from PyTorch's histories on virtual cards. In the a100's
 * third row the card's multiprocessors limit the number of parts. */
static void test_scratch_of_sums(void **state) {
    (void)state;
    const struct {
        const char *device;
        size_t batch, context, d_model, n_heads;
        uint64_t buffer, semaphores;
    } RECORDED[] = {
        {"virtual:a100-40", 3, 512, 768, 12, 9437184, 24},
        {"virtual:h100-80", 32, 512, 512, 2, 67108864, 16},
        {"virtual:a100-40", 64, 512, 2560, 2, 114032640, 80},
        {"virtual:h100-80", 64, 320, 198, 3, 8110080, 16},
        {"virtual:h100-80", 4, 33, 96, 6, 0, 0},
        {"virtual", 3, 512, 768, 12, 0, 0}, /* no card, so its processor is unknown */
    };
    for (size_t i = 0; i < sizeof(RECORDED) / sizeof(RECORDED[0]); i++) {
        tide_eager_config config = odd_config(TIDE_PRECISION_FP32, TIDE_EDITION_2026, true);
        config.model.batch_size = RECORDED[i].batch;
        config.model.context_length = RECORDED[i].context;
        config.model.d_model = RECORDED[i].d_model;
        config.model.n_heads = RECORDED[i].n_heads;
        config.model.n_layers = 1;
        recorded r = open_recorded(RECORDED[i].device, &config);
        take_steps(&r, TIDE_FORWARD_BACKWARD, 1);
        tide_cache_state copy = copy_of(&r);
        assert_int_equal(first_request(&copy.recording, "ln_final.weight.grad.parts"),
                         RECORDED[i].buffer);
        assert_int_equal(first_request(&copy.recording, "ln_final.weight.grad.semaphores"),
                         RECORDED[i].semaphores);
        tide_cache_state_fini(&copy);
        close_recorded(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_are_those_of_pytorch),
        cmocka_unit_test(test_rows_of_the_scaler),
        cmocka_unit_test(test_state_of_the_scaler_stays),
        cmocka_unit_test(test_scratch_of_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
