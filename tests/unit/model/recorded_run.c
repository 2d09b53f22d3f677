#include "recorded_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

void recorded_run_start(recorded_run *run, const char *device, const tide_workload_config *config,
                        size_t limit_bytes, tide_status expected) {
    tide_error error = {""};
    tide_cache_config cache_config;
    tide_workload *workload = NULL;
    tide_cache_config_init(&cache_config);
    cache_config.memory_limit_bytes = limit_bytes;
    assert_int_equal(tide_device_open(device, NULL, &run->device, &error), TIDE_OK);
    assert_int_equal(tide_recorder_create(NULL, &run->recorder, &error), TIDE_OK);
    assert_int_equal(
        tide_cache_create(run->device, run->recorder, &cache_config, &run->cache, &error), TIDE_OK);
    assert_int_equal(tide_workload_create(config, run->cache, run->recorder, &workload, &error),
                     TIDE_OK);
    tide_status status = tide_workload_run(workload, &run->result, &error);
    if (status != expected) {
        fail_msg("%s: %s", tide_status_text(status), error.message);
    }
    assert_int_equal(tide_cache_copy_state(run->cache, tide_hostmem_default(), &run->state, &error),
                     TIDE_OK);
    tide_workload_destroy(workload);
}

void recorded_runs_start(recorded_run *runs, const char *const *devices, size_t n_runs,
                         const tide_workload_config *config) {
    for (size_t i = 0; i < n_runs; i++) {
        recorded_run_start(&runs[i], devices[i], config, TIDE_UNLIMITED, TIDE_OK);
    }
}

void recorded_run_end(recorded_run *run) {
    tide_cache_state_fini(&run->state);
    tide_workload_result_fini(&run->result);
    tide_cache_destroy(run->cache);
    tide_recorder_destroy(run->recorder);
    tide_device_close(run->device);
}

void scope_path(const tide_recording *recording, uint32_t scope, char path[SCOPE_PATH]) {
    char tail[SCOPE_PATH] = "";
    path[0] = '\0';
    while (scope != TIDE_NONE) {
        const tide_scope_row *row = &recording->scopes[scope];
        const char *slash = tail[0] == '\0' ? "" : "/";
        const char *name = recording->strings[row->name];
        if (row->index >= 0) {
            (void)snprintf(path, SCOPE_PATH, "%s %d%s%s", name, row->index, slash, tail);
        } else {
            (void)snprintf(path, SCOPE_PATH, "%s%s%s", name, slash, tail);
        }
        memcpy(tail, path, SCOPE_PATH);
        scope = row->parent;
    }
}

size_t find_event(const tide_recording *recording, tide_action action, const char *name, size_t n) {
    for (size_t i = 0; i < recording->n_events; i++) {
        const tide_event *event = &recording->events[i];
        if (event->action == (uint8_t)action && event->name != TIDE_NONE &&
            strcmp(recording->strings[event->name], name) == 0 && n-- == 0) {
            return i;
        }
    }
    return recording->n_events;
}

tide_model_config tiny_model(void) {
    return (tide_model_config){.size = "custom",
                               .vocab_size = 97,
                               .d_model = 24,
                               .d_ff = 56,
                               .n_layers = 2,
                               .n_heads = 3,
                               .context_length = 10,
                               .batch_size = 2,
                               .rope_theta = 10000};
}
