#define _POSIX_C_SOURCE 200809L
#include "support/made_log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/hostmem.h"

enum { JOURNAL_BYTES = 1 << 20, MAX_FRAMES = 64 };

void made_log_open_at(made_log *log, const char *path, size_t max_events, size_t max_base) {
    tide_error error = {""};
    const tide_log_areas areas = {.journal_bytes = JOURNAL_BYTES,
                                  .max_scopes = 1,
                                  .max_base = max_base,
                                  .max_events = max_events,
                                  .event_bytes = sizeof(tide_live_row),
                                  .full_policy = max_base > 0};
    const tide_log_layout layout = tide_log_layout_make(&areas);
    const tide_hostmem *mem = tide_hostmem_default();
    *log = (made_log){.time_ns = 0};
    (void)snprintf(log->path, sizeof(log->path), "%s", path);
    if (tide_log_file_open_as(mem, path, &layout, &log->file, &error) != TIDE_OK) {
        fail_msg("%s", error.message);
    }
    const tide_event_log_memory memory = tide_log_file_memory(&log->file);
    tide_event_log_init_in(&log->log, mem, &memory, max_base > 0);
    assert_int_equal(tide_journal_create(mem, &log->file, &log->journal), TIDE_OK);
}

void made_log_open(made_log *log, size_t max_events, size_t max_base) {
    char path[] = "/tmp/tidemark-log-XXXXXX";
    int file = mkstemp(path); /* a file of no bytes is replaced */
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
    made_log_open_at(log, path, max_events, max_base);
}

static void finish(made_log *log) {
    tide_journal_destroy(log->journal);
    tide_event_log_fini(&log->log);
}

void made_log_close(made_log *log) {
    finish(log);
    tide_log_file_close(&log->file);
}

void made_log_kill(made_log *log) {
    finish(log);
    tide_log_file_abandon(&log->file);
    log->file.mem->release(log->file.mem->ctx, log->file.path);
}

void made_log_remove(const made_log *log) {
    assert_int_equal(unlink(log->path), 0);
}

void made_log_text(made_log *log, const char *key, const char *value) {
    tide_journal_text(log->journal, key, value);
}

uint32_t made_log_string(made_log *log, const char *text) {
    tide_journal_string(log->journal, log->n_strings, text);
    return log->n_strings++;
}

uint16_t made_log_pool(made_log *log, uint64_t first, uint64_t second) {
    const tide_log_pool record = {.number = ++log->n_pools, .id = {first, second}};
    tide_journal_record(log->journal, TIDE_LOG_POOL, &record, sizeof(record));
    return log->n_pools;
}

uint32_t made_log_stack(made_log *log, const char *function, size_t n_frames) {
    uint64_t pcs[MAX_FRAMES];
    char name[128];
    uint32_t file = made_log_string(log, "train.py");
    assert_true(n_frames <= MAX_FRAMES);
    for (size_t i = 0; i < n_frames; i++) {
        (void)snprintf(name, sizeof(name), "%s.%zu", function, i);
        const tide_log_python_frame frame = {.number = log->n_frames++,
                                             .line = (uint32_t)(10 + i),
                                             .file = file,
                                             .function = made_log_string(log, name)};
        tide_journal_record(log->journal, TIDE_LOG_PYTHON_FRAME, &frame, sizeof(frame));
        pcs[i] = TIDE_LOG_PYTHON_BIT | frame.number;
    }
    tide_journal_stack(log->journal, log->n_stacks, pcs, n_frames);
    return log->n_stacks++;
}

uint32_t made_log_stack_at(made_log *log, const char *file, uint32_t line) {
    const tide_log_python_frame frame = {.number = log->n_frames++,
                                         .line = line,
                                         .file = made_log_string(log, file),
                                         .function = made_log_string(log, "forward")};
    uint64_t pc = TIDE_LOG_PYTHON_BIT | frame.number;
    tide_journal_record(log->journal, TIDE_LOG_PYTHON_FRAME, &frame, sizeof(frame));
    tide_journal_stack(log->journal, log->n_stacks, &pc, 1);
    return log->n_stacks++;
}

void made_log_stream(made_log *log, uint8_t number, uint8_t device, uint64_t handle) {
    tide_journal_stream(log->journal, number, device, handle);
}

tide_live_row made_row(int action, uint64_t address, uint64_t n_bytes) {
    return (tide_live_row){.event = {.address = address,
                                     .requested_bytes = n_bytes,
                                     .block_bytes = n_bytes,
                                     .stack = TIDE_NONE,
                                     .scope = TIDE_NONE,
                                     .name = TIDE_NONE,
                                     .action = (uint8_t)action},
                           .node = TIDE_NONE,
                           .module = TIDE_NONE};
}

void made_log_add(made_log *log, tide_live_row row) {
    tide_event *to = tide_event_log_row_begin(&log->log);
    log->time_ns += 1000;
    row.event.time_ns = log->time_ns;
    if (to != NULL) {
        memcpy(to, &row, sizeof(row));
        tide_event_log_row_end(&log->log);
    }
}

void made_log_event(made_log *log, int action, uint64_t address, uint64_t n_bytes) {
    made_log_add(log, made_row(action, address, n_bytes));
}

void made_log_mark(made_log *log, const char *name, uint64_t number) {
    tide_live_row row = made_row(TIDE_ACTION_MARK, 0, 0);
    row.event.requested_bytes = number;
    row.event.name = made_log_string(log, name);
    made_log_add(log, row);
}

void made_log_label(made_log *log, uint64_t address, const char *category, const char *name,
                    int certainty) {
    tide_live_row row = made_row(TIDE_LOG_LABEL_ACTION, address, 0);
    row.event.name = made_log_string(log, name);
    row.event.category = (uint8_t)certainty;
    row.node = made_log_string(log, category);
    made_log_add(log, row);
}

void made_log_call(made_log *log, int action, uint64_t address, uint64_t n_bytes,
                   const char *function, const char *owner) {
    tide_live_row row = made_row(TIDE_LOG_DRIVER_FIRST + action, address, n_bytes);
    row.event.name = made_log_string(log, function);
    row.node = made_log_string(log, owner);
    made_log_add(log, row);
}
