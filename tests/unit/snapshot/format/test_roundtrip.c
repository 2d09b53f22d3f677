/* test_roundtrip.c - every field that is written is read back unchanged, and a file of every
 * released version still opens. test_save.c tests how a file is written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "snapshot/explain/recorder_cost.h"
#include "snapshot/analysis/summary.h"
#include "support/event_rows.h"
#include "support/hostmem_fault.h"
#include "support/snapshot_files.h"
#include "support/synthetic.h"

static tide_snapshot *there_and_back(const tide_snapshot *snapshot) {
    char path[SNAPSHOT_PATH_BYTES];
    tide_error error = {""};
    tide_snapshot *again = NULL;
    snapshot_path(path, "roundtrip.json.gz");
    if (tide_snapshot_save(snapshot, path, &error) != TIDE_OK ||
        tide_snapshot_load(path, NULL, &again, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    snapshot_remove(path);
    return again;
}

static void assert_frames_equal(const tide_snapshot *a, const tide_snapshot *b) {
    assert_int_equal(a->n_frames, b->n_frames);
    for (size_t i = 0; i < a->n_frames; i++) {
        assert_int_equal(a->frames[i].function, b->frames[i].function);
        assert_int_equal(a->frames[i].file, b->frames[i].file);
        assert_int_equal(a->frames[i].line, b->frames[i].line);
        assert_int_equal(a->frames[i].inlined, b->frames[i].inlined);
    }
    assert_int_equal(a->n_stacks, b->n_stacks);
    for (size_t i = 0; i < a->n_stacks; i++) {
        assert_int_equal(a->stacks[i].parent, b->stacks[i].parent);
        assert_int_equal(a->stacks[i].frame, b->stacks[i].frame);
    }
}

static void assert_source_equal(const tide_snapshot *a, const tide_snapshot *b) {
    assert_int_equal(a->n_source, b->n_source);
    assert_true(a->n_source_omitted == b->n_source_omitted);
    for (size_t i = 0; i < a->n_source; i++) {
        assert_true(a->source[i].file == b->source[i].file);
        assert_true(a->source[i].line == b->source[i].line);
        assert_string_equal(a->source[i].text, b->source[i].text);
        assert_int_equal(a->source[i].is_cut, b->source[i].is_cut);
    }
}

static void assert_modes_equal(const tide_snapshot *a, const tide_snapshot *b) {
    assert_true((a->event_mode == NULL) == (b->event_mode == NULL));
    if (a->event_mode != NULL) {
        assert_memory_equal(a->event_mode, b->event_mode, a->n_events);
    }
    assert_true((a->event_variant == NULL) == (b->event_variant == NULL));
    if (a->event_variant != NULL) {
        assert_memory_equal(a->event_variant, b->event_variant, 2 * a->n_events);
    }
}

static void assert_types_equal(const tide_snapshot *a, const tide_snapshot *b) {
    assert_int_equal(a->n_parameter_types, b->n_parameter_types);
    for (size_t i = 0; i < a->n_parameter_types; i++) {
        assert_string_equal(a->parameter_types[i].name, b->parameter_types[i].name);
        assert_true(a->parameter_types[i].bytes == b->parameter_types[i].bytes);
        assert_true(a->parameter_types[i].n_tensors == b->parameter_types[i].n_tensors);
    }
}

static void assert_scopes_equal(const tide_snapshot *a, const tide_snapshot *b) {
    assert_int_equal(a->n_scopes, b->n_scopes);
    for (size_t i = 0; i < a->n_scopes; i++) {
        const tide_scope_row *x = &a->scopes[i];
        const tide_scope_row *y = &b->scopes[i];
        assert_true(x->begin_ns == y->begin_ns && x->duration_ns == y->duration_ns);
        assert_true(x->device_begin_ns == y->device_begin_ns);
        assert_true(x->device_duration_ns == y->device_duration_ns);
        assert_true(x->parent == y->parent && x->name == y->name && x->index == y->index);
        assert_true(x->thread == y->thread && x->kind == y->kind);
    }
}

static void assert_kernels_equal(const tide_snapshot *a, const tide_snapshot *b) {
    assert_int_equal(a->n_kernels, b->n_kernels);
    for (size_t i = 0; i < a->n_kernels; i++) {
        const tide_kernel_row *x = &a->kernels[i];
        const tide_kernel_row *y = &b->kernels[i];
        assert_true(x->name == y->name && x->phase == y->phase && x->path == y->path);
        assert_true(x->n_launches == y->n_launches && x->total_ns == y->total_ns);
        assert_true(x->min_ns == y->min_ns && x->max_ns == y->max_ns);
    }
}

static void assert_states_equal(const tide_segment_row *a, const tide_block_row *a_blocks, size_t n,
                                const tide_segment_row *b, const tide_block_row *b_blocks) {
    for (size_t i = 0; i < n; i++) {
        assert_true(a[i].pool == b[i].pool && a[i].is_expandable == b[i].is_expandable);
        assert_true(a[i].pool_id[0] == b[i].pool_id[0] && a[i].pool_id[1] == b[i].pool_id[1]);
        assert_true(a[i].address == b[i].address && a[i].total_bytes == b[i].total_bytes);
        assert_true(a[i].device == b[i].device && a[i].stream == b[i].stream);
        assert_int_equal(a[i].stack_after, b[i].stack_after);
        assert_int_equal(a[i].n_blocks, b[i].n_blocks);
        for (size_t j = 0; j < a[i].n_blocks; j++) {
            const tide_block_row *x = &a_blocks[a[i].first_block + j];
            const tide_block_row *y = &b_blocks[b[i].first_block + j];
            assert_true(x->offset_bytes == y->offset_bytes && x->block_bytes == y->block_bytes);
            assert_true(x->requested_bytes == y->requested_bytes && x->stack == y->stack);
            assert_true(x->scope == y->scope && x->name == y->name && x->state == y->state);
            assert_true(x->category == y->category);
        }
    }
}

static void assert_events_equal(const tide_snapshot *a, const tide_snapshot *b) {
    assert_int_equal(a->n_events, b->n_events);
    for (size_t i = 0; i < a->n_events; i++) {
        tide_event x = tide_event_at(a, i);
        const tide_event y = tide_event_at(b, i);
        if (x.action == TIDE_ACTION_OOM || x.action == TIDE_ACTION_MARK) {
            x.address = i > 0 ? b->events.address[i - 1] : 0; /* the file repeats the last one */
        }
        assert_memory_equal(&x, &y, sizeof(x));
    }
}

static void assert_runs_equal(const tide_snapshot_run *a, const tide_snapshot_run *b) {
    assert_string_equal(a->command, b->command);
    assert_string_equal(a->precision, b->precision);
    assert_string_equal(a->mode, b->mode);
    assert_string_equal(a->attention, b->attention);
    assert_string_equal(a->recompute, b->recompute);
    assert_string_equal(a->implementation, b->implementation);
    assert_string_equal(a->outcome, b->outcome);
    assert_string_equal(a->host_name, b->host_name);
    assert_string_equal(a->host_os, b->host_os);
    assert_string_equal(a->host_cpu, b->host_cpu);
    assert_string_equal(a->host_computed_by, b->host_computed_by);
    assert_true(a->started_unix_us == b->started_unix_us && a->seed == b->seed);
    assert_true(a->batch_size == b->batch_size && a->context_length == b->context_length);
    assert_true(a->memory_limit_bytes == b->memory_limit_bytes);
    assert_true(a->host_n_cpus == b->host_n_cpus && a->host_total_bytes == b->host_total_bytes);
    assert_true(a->clip_grad_norm == b->clip_grad_norm && a->keep_graph == b->keep_graph);
    assert_true((a->model.size == NULL) == (b->model.size == NULL));
    if (a->model.size != NULL) {
        assert_string_equal(a->model.size, b->model.size);
        assert_true(a->model.d_model == b->model.d_model && a->model.d_ff == b->model.d_ff);
        assert_true(a->model.n_layers == b->model.n_layers);
        assert_true(a->model.n_heads == b->model.n_heads);
        assert_true(a->model.vocab_size == b->model.vocab_size);
        assert_true(a->model.n_parameters == b->model.n_parameters);
    }
}

static void assert_timing_equal(const tide_snapshot_timing *a, const tide_snapshot_timing *b) {
    assert_true(a->warmup_steps == b->warmup_steps && a->measured_steps == b->measured_steps);
    assert_true(a->flops == b->flops && a->stated_peak_flops == b->stated_peak_flops);
    assert_true(a->recorder_ns_per_event == b->recorder_ns_per_event);
    assert_int_equal(a->n_recorder_pairs, b->n_recorder_pairs);
    for (size_t i = 0; i < a->n_recorder_pairs; i++) {
        assert_true(a->recorded_step_ms[i] == b->recorded_step_ms[i]);
        assert_true(a->unrecorded_step_ms[i] == b->unrecorded_step_ms[i]);
    }
    assert_int_equal(a->n_phases, b->n_phases);
    for (size_t i = 0; i < a->n_phases; i++) {
        assert_string_equal(a->phases[i].name, b->phases[i].name);
        assert_int_equal(a->phases[i].n_samples, b->phases[i].n_samples);
        for (size_t j = 0; j < a->phases[i].n_samples; j++) {
            assert_true(a->phases[i].host_ms[j] == b->phases[i].host_ms[j]);
            assert_true(a->phases[i].device_ms[j] == b->phases[i].device_ms[j]);
        }
    }
}

static void assert_small_parts_equal(const tide_snapshot *a, const tide_snapshot *b) {
    assert_string_equal(a->tool_version, b->tool_version);
    assert_string_equal(a->tool_build, b->tool_build);
    assert_string_equal(a->clock_source, b->clock_source);
    assert_true(a->device_uncertainty_ns == b->device_uncertainty_ns);
    assert_string_equal(a->full_policy, b->full_policy);
    assert_true(a->n_dropped == b->n_dropped);
    assert_true(a->n_scopes_dropped == b->n_scopes_dropped);
    assert_int_equal(a->n_devices, b->n_devices);
    for (size_t i = 0; i < a->n_devices; i++) {
        assert_string_equal(a->devices[i].kind, b->devices[i].kind);
        assert_string_equal(a->devices[i].name, b->devices[i].name);
        assert_true(a->devices[i].total_bytes == b->devices[i].total_bytes);
        assert_true(a->devices[i].compute_capability == b->devices[i].compute_capability);
        assert_true(a->devices[i].driver_version == b->devices[i].driver_version);
        assert_true(a->devices[i].runtime_version == b->devices[i].runtime_version);
        assert_true(a->devices[i].sm_clock_khz == b->devices[i].sm_clock_khz);
        assert_true(a->devices[i].memory_clock_khz == b->devices[i].memory_clock_khz);
    }
    assert_int_equal(a->n_streams, b->n_streams);
    for (size_t i = 0; i < a->n_streams; i++) {
        assert_true(a->streams[i].handle == b->streams[i].handle);
        assert_int_equal(a->streams[i].device, b->streams[i].device);
    }
    assert_int_equal(a->n_settings, b->n_settings);
    for (size_t i = 0; i < a->n_settings; i++) {
        assert_string_equal(a->settings[i].name, b->settings[i].name);
        assert_true((a->settings[i].text == NULL) == (b->settings[i].text == NULL));
        if (a->settings[i].text != NULL) {
            assert_string_equal(a->settings[i].text, b->settings[i].text);
        } else {
            assert_true(a->settings[i].number == b->settings[i].number);
        }
    }
    assert_int_equal(a->n_strings, b->n_strings);
    for (size_t i = 0; i < a->n_strings; i++) {
        assert_string_equal(a->strings[i], b->strings[i]);
    }
}

static void assert_equal(const tide_snapshot *a, const tide_snapshot *b) {
    assert_small_parts_equal(a, b);
    assert_runs_equal(&a->run, &b->run);
    assert_timing_equal(&a->timing, &b->timing);
    assert_frames_equal(a, b);
    assert_source_equal(a, b);
    assert_modes_equal(a, b);
    assert_types_equal(a, b);
    assert_scopes_equal(a, b);
    assert_kernels_equal(a, b);
    assert_int_equal(a->n_start_segments, b->n_start_segments);
    assert_states_equal(a->start_segments, a->start_blocks, a->n_start_segments, b->start_segments,
                        b->start_blocks);
    assert_int_equal(a->n_end_segments, b->n_end_segments);
    assert_states_equal(a->end_segments, a->end_blocks, a->n_end_segments, b->end_segments,
                        b->end_blocks);
    assert_events_equal(a, b);
}

static void everything_comes_back(void **state) {
    (void)state;
    synthetic_config config = synthetic_default();
    config.two_streams = true;
    tide_snapshot *made = synthetic_create(&config);
    made->n_dropped = 17;
    made->n_scopes_dropped = 3;
    made->timing.recorder_ns_per_event = 512.25;
    const double recorded_ms[] = {1.25, 1.5, 0.1};
    const double unrecorded_ms[] = {1.0, 1.125, 0.3};
    made->timing.recorded_step_ms = recorded_ms;
    made->timing.unrecorded_step_ms = unrecorded_ms;
    made->timing.n_recorder_pairs = 3;
    const tide_source_row source[] = {
        {0, 3, "losses.append(\"\\\")", false}, {0, 7, "x = [1, 2", true}, {1, 2, "y", false}};
    uint8_t *modes = tide_arena_alloc(&made->arena, made->n_events, sizeof(*modes));
    assert_non_null(modes);
    for (size_t i = 0; i < made->n_events; i++) {
        modes[i] = (uint8_t)(i % TIDE_N_AUTOGRAD_MODES);
    }
    made->event_mode = modes;
    uint16_t *variants = tide_arena_alloc(&made->arena, made->n_events, sizeof(*variants));
    assert_non_null(variants);
    for (size_t i = 0; i < made->n_events; i++) {
        variants[i] = (uint16_t)(i * 77);
    }
    made->event_variant = variants;
    static const tide_snapshot_type TYPES[] = {{"float32", 4096, 2}, {"int8", 512, 1}};
    made->parameter_types = TYPES;
    made->n_parameter_types = 2;
    made->source = source;
    made->n_source = 3;
    made->n_source_omitted = 5;
    made->run.clip_grad_norm = 0.1;
    made->run.keep_graph = true;
    made->run.implementation = "pytorch-eager-2026";
    tide_snapshot *read = there_and_back(made);
    assert_int_equal(read->n_events, config.n_events);
    assert_equal(made, read);
    tide_snapshot_destroy(made);
    tide_snapshot_destroy(read);
}

static void pairs_have_a_limit(void **state) {
    (void)state;
    double samples[TIDE_RECORDER_MAX_PAIRS + 1];
    synthetic_config config = synthetic_default();
    tide_snapshot *made = synthetic_create(&config);
    for (size_t i = 0; i <= TIDE_RECORDER_MAX_PAIRS; i++) {
        samples[i] = 1.0;
    }
    made->timing.recorded_step_ms = samples;
    made->timing.unrecorded_step_ms = samples;
    made->timing.n_recorder_pairs = TIDE_RECORDER_MAX_PAIRS;
    tide_snapshot_destroy(there_and_back(made));
    made->timing.n_recorder_pairs = TIDE_RECORDER_MAX_PAIRS + 1;
    char path[SNAPSHOT_PATH_BYTES];
    tide_error error = {""};
    tide_snapshot *read = NULL;
    snapshot_path(path, "pairs.json.gz");
    assert_int_equal(tide_snapshot_save(made, path, &error), TIDE_OK);
    assert_int_equal(tide_snapshot_load(path, NULL, &read, &error), TIDE_LIMIT);
    assert_non_null(strstr(error.message, "timing.recorder_pairs"));
    snapshot_remove(path);
    tide_snapshot_destroy(made);
}

static void oom_rows_and_a_start_come_back(void **state) {
    (void)state;
    synthetic_config config = synthetic_default();
    config.capacity_bytes = UINT64_C(300) << 20;
    tide_snapshot *made = synthetic_create(&config);
    assert_int_equal(made->events.action[made->n_events - 1], TIDE_ACTION_OOM);
    made->start_segments = made->end_segments;
    made->n_start_segments = made->n_end_segments;
    made->start_blocks = made->end_blocks;
    made->n_start_blocks = made->n_end_blocks;
    made->run.model.size = NULL;
    tide_snapshot *read = there_and_back(made);
    assert_equal(made, read);
    tide_snapshot_destroy(made);
    tide_snapshot_destroy(read);
}

static void an_empty_document_comes_back(void **state) {
    (void)state;
    tide_snapshot *made = NULL;
    assert_int_equal(tide_snapshot_create(NULL, &made), TIDE_OK);
    tide_snapshot *read = there_and_back(made);
    assert_equal(made, read);
    tide_snapshot_destroy(made);
    tide_snapshot_destroy(read);
}

/* Addresses that are not multiples of 512, up to 2^63 - 1, and hostile texts. */
static void odd_addresses_and_texts_come_back(void **state) {
    (void)state;
    static const char *const STRINGS[] = {"</script><b>", "a\"b\\\n\t\x01",
                                          "\xc3\xa9 \xf0\x9f\x8c\x8a"};
    tide_snapshot_device device = {"cpu", "c", -1, -1, 13010, 13000, 1980000, -1};
    tide_stream_row stream = {UINT64_MAX, 0};
    tide_event events[] = {{.address = (UINT64_C(1) << 63) - 8,
                            .requested_bytes = 7,
                            .block_bytes = 8,
                            .stack = TIDE_NONE,
                            .scope = TIDE_NONE,
                            .name = 1},
                           {.address = 3,
                            .requested_bytes = 0,
                            .block_bytes = INT64_MAX - 8,
                            .stack = TIDE_NONE,
                            .scope = TIDE_NONE,
                            .name = 2}};
    tide_snapshot *made = NULL;
    assert_int_equal(tide_snapshot_create(NULL, &made), TIDE_OK);
    made->strings = STRINGS;
    made->n_strings = 3;
    made->devices = &device;
    made->n_devices = 1;
    made->streams = &stream;
    made->n_streams = 1;
    event_rows_set(made, events, 2);
    tide_snapshot *read = there_and_back(made);
    assert_equal(made, read);
    tide_snapshot_destroy(made);
    tide_snapshot_destroy(read);
}

static void private_texts_are_stripped(void **state) {
    (void)state;
    tide_snapshot *made = synthetic_create(&(synthetic_config){
        .n_events = 50, .n_layers = 1, .element_bytes = 4, .precision = "fp32"});
    const char *strings[] = {"/home/someone/secret/main.c", "model/ops.c", "/",
                             "C:\\Users\\someone\\model.py", "step: a\\b"};
    made->strings = strings;
    tide_snapshot_setting setting = {"log", "/home/someone/log", 0.0};
    made->settings = &setting;
    made->n_settings = 1;
    made->n_strings = 5;
    assert_int_equal(tide_snapshot_strip_private(made), TIDE_OK);
    assert_string_equal(made->run.command, "");
    assert_string_equal(made->run.host_name, "");
    assert_string_equal(made->strings[0], "main.c");
    assert_string_equal(made->strings[1], "model/ops.c");
    assert_string_equal(made->strings[2], "");
    assert_string_equal(made->strings[3], "model.py");
    assert_string_equal(made->strings[4], "step: a\\b");
    assert_string_equal(made->settings[0].text, "log");
    tide_snapshot_destroy(made);
}

static void lack_of_host_memory_is_told(void **state) {
    (void)state;
    char path[SNAPSHOT_PATH_BYTES];
    tide_hostmem_fault heap;
    tide_snapshot *made = synthetic_create(&(synthetic_config){
        .n_events = 300, .n_layers = 2, .element_bytes = 4, .precision = "fp32"});
    snapshot_path(path, "lack.json.gz");
    assert_int_equal(tide_snapshot_save(made, path, NULL), TIDE_OK);
    size_t n_failures = 0;
    for (size_t n = 1;; n++) {
        tide_snapshot *read = NULL;
        tide_summary *summary = NULL;
        tide_hostmem_fault_init(&heap, n);
        tide_status status = tide_snapshot_load(path, &heap.mem, &read, NULL);
        if (status == TIDE_OK) {
            status = tide_summary_create(read, &summary, NULL);
        }
        if (status == TIDE_OK) {
            status = tide_snapshot_save(read, path, NULL);
        }
        tide_summary_destroy(summary);
        tide_snapshot_destroy(read);
        assert_int_equal(heap.n_live, 0);
        if (status == TIDE_OK) {
            break;
        }
        n_failures++;
        assert_int_equal(status, TIDE_NO_MEMORY);
        assert_int_equal(snapshot_count_files(), 1);
    }
    assert_true(n_failures > 30);
    snapshot_remove(path);
    tide_snapshot_destroy(made);
}

static void version_1_opens(void **state) {
    (void)state;
    tide_snapshot *read = NULL;
    tide_summary *summary = NULL;
    tide_error error = {""};
    if (tide_snapshot_load(TIDE_TEST_SNAPSHOTS "/version-1.json.gz", NULL, &read, &error) !=
        TIDE_OK) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(read->n_events, 400);
    assert_string_equal(read->run.precision, "fp32");
    assert_int_equal(tide_summary_create(read, &summary, NULL), TIDE_OK);
    const tide_summary_device *device = &summary->devices[0];
    assert_int_equal(device->peak.totals.allocated_bytes, TIDE_TEST_VERSION_1_PEAK);
    assert_int_equal(device->peak.event, TIDE_TEST_VERSION_1_EVENT);
    assert_string_equal(device->peak.phase, "forward");
    assert_int_equal(device->n_unmatched, 0);
    tide_summary_destroy(summary);
    tide_snapshot_destroy(read);
}

/* A stored file with every feature of version 1 is the same after it was read, written and read
 * again. */
static void each_feature_of_version_1_comes_back(void **state) {
    (void)state;
    tide_error error = {""};
    tide_snapshot *read = NULL;
    if (tide_snapshot_load(TIDE_TEST_SNAPSHOTS "/version-1-everything.json.gz", NULL, &read,
                           &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    tide_snapshot *again = there_and_back(read);
    assert_equal(read, again);
    assert_int_equal(read->n_events, 16);
    assert_int_equal(read->n_devices, 2);
    assert_int_equal(read->n_kernels, 2);
    assert_int_equal(read->n_dropped, 7);
    assert_int_equal(read->device_uncertainty_ns, 1500);
    assert_string_equal(read->origin.format, "pytorch");
    assert_true(read->origin.n_events == again->origin.n_events && read->origin.n_events == 20);
    assert_int_equal(again->origin.n_contradictions, 2);
    assert_true(read->end_segments[0].is_expandable);
    assert_int_equal(read->end_segments[0].pool, TIDE_SEGMENT_LARGE);
    assert_int_equal(read->end_segments[0].pool_id[1], 3);
    assert_int_equal(read->timing.n_recorder_pairs, 2);
    assert_int_equal(read->scopes[7].device_begin_ns, 6400);
    tide_snapshot_destroy(again);
    tide_snapshot_destroy(read);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--write-golden") == 0) {
        synthetic_config config = synthetic_default();
        config.n_events = 400;
        config.n_layers = 2;
        config.two_streams = true;
        tide_snapshot *made = synthetic_create(&config);
        tide_status status = tide_snapshot_save(made, argv[2], NULL);
        tide_snapshot_destroy(made);
        return status == TIDE_OK ? 0 : 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(pairs_have_a_limit),
        cmocka_unit_test(oom_rows_and_a_start_come_back),
        cmocka_unit_test(an_empty_document_comes_back),
        cmocka_unit_test(odd_addresses_and_texts_come_back),
        cmocka_unit_test(private_texts_are_stripped),
        cmocka_unit_test(lack_of_host_memory_is_told),
        cmocka_unit_test(version_1_opens),
        cmocka_unit_test(each_feature_of_version_1_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
