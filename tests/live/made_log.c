/* made_log.c - writes a log as programs/live/ does, of an imaginary training run: made_log FILE
 * N_STEPS [BLOCKS [WAIT]]
 *
 * Each step allocates BLOCKS activations (default 4) in modules, frees them, and keeps a loss.
 * Times are also made up: 10 steps a second. With WAIT, the file is left open, and the program ends
 * when its input does; else it is closed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/hostmem.h"
#include "common/lock_friend.h"
#include "recorder/log_format_friend.h"
#include "recorder/recorder_friend.h"

enum { PARAMETERS = 3, MODULES = 4, STEP_NS = 100000000 };

#define MIB (UINT64_C(1) << 20)
#define PARAMETER_BYTES (32 * MIB)
#define BLOCK_BYTES (2 * MIB)
#define PARAMETERS_AT (UINT64_C(1) << 40)
#define BLOCKS_AT (UINT64_C(2) << 40)
#define LOSSES_AT (UINT64_C(3) << 40)

typedef struct maker {
    tide_recorder *recorder;
    int64_t now_ns;
    uint32_t module; /* of the next rows */
} maker;

static void put(maker *of, tide_live_row row) {
    struct tide_lock *lock = tide_recorder_lock(of->recorder);
    tide_lock_acquire(lock);
    tide_event *to = tide_recorder_row_begin(of->recorder);
    if (to != NULL) {
        row.event.time_ns = of->now_ns;
        row.event.block_bytes = row.event.requested_bytes;
        row.event.stack = TIDE_NONE;
        row.event.scope = TIDE_NONE;
        row.event.name = row.event.name > 0 ? row.event.name - 1 : TIDE_NONE;
        row.node = row.node > 0 ? row.node - 1 : TIDE_NONE;
        row.module = of->module;
        memcpy(to, &row, sizeof(row));
        tide_recorder_row_end(of->recorder);
    }
    tide_lock_release(lock);
}

static uint32_t text(const maker *of, const char *words) {
    return tide_recorder_intern(of->recorder, words);
}

static void event(maker *of, tide_action action, uint64_t address, uint64_t n_bytes) {
    put(of,
        (tide_live_row){
            .event = {.address = address, .requested_bytes = n_bytes, .action = (uint8_t)action}});
}

static void mark(maker *of, const char *name) {
    put(of, (tide_live_row){.event = {.action = TIDE_ACTION_MARK, .name = text(of, name) + 1}});
}

static void label(maker *of, uint64_t address, const char *category, const char *name) {
    put(of, (tide_live_row){.event = {.address = address,
                                      .action = TIDE_LOG_LABEL_ACTION,
                                      .name = text(of, name) + 1,
                                      .category = TIDE_CERTAINTY_NAMED},
                            .node = text(of, category) + 1});
}

static void set_up(maker *of, uint64_t n_blocks) {
    tide_recorder_describe(of->recorder, "run.command", "python train.py --batch 8");
    tide_recorder_describe(of->recorder, "environment.RANK", "3");
    tide_recorder_describe(of->recorder, "device.0.name", "a made card");
    tide_recorder_describe(of->recorder, "device.0.total_bytes", "1073741824");
    for (uint64_t i = 0; i < PARAMETERS; i++) {
        event(of, TIDE_ACTION_SEGMENT_ALLOC, PARAMETERS_AT + i * PARAMETER_BYTES, PARAMETER_BYTES);
        event(of, TIDE_ACTION_ALLOC, PARAMETERS_AT + i * PARAMETER_BYTES, PARAMETER_BYTES);
        label(of, PARAMETERS_AT + i * PARAMETER_BYTES, "parameter", "weight");
    }
    for (uint64_t i = 0; i < n_blocks; i++) {
        event(of, TIDE_ACTION_SEGMENT_ALLOC, BLOCKS_AT + i * BLOCK_BYTES, BLOCK_BYTES);
    }
}

static void step(maker *of, uint64_t number, uint64_t n_blocks) {
    char name[32];
    mark(of, "step begins");
    mark(of, "forward begins");
    for (uint64_t i = 0; i < n_blocks; i++) {
        snprintf(name, sizeof(name), "blocks.%" PRIu64, i % MODULES);
        of->module = text(of, name);
        event(of, TIDE_ACTION_ALLOC, BLOCKS_AT + i * BLOCK_BYTES, BLOCK_BYTES);
    }
    of->module = text(of, "loss");
    event(of, TIDE_ACTION_SEGMENT_ALLOC, LOSSES_AT + number * BLOCK_BYTES, BLOCK_BYTES);
    event(of, TIDE_ACTION_ALLOC, LOSSES_AT + number * BLOCK_BYTES, BLOCK_BYTES);
    of->module = TIDE_NONE;
    mark(of, "forward ends");
    mark(of, "backward begins");
    of->now_ns += STEP_NS / 2;
    for (uint64_t i = n_blocks; i > 0; i--) {
        event(of, TIDE_ACTION_FREE, BLOCKS_AT + (i - 1) * BLOCK_BYTES, BLOCK_BYTES);
    }
    mark(of, "backward ends");
    mark(of, "optimizer begins");
    mark(of, "step ends");
    of->now_ns += STEP_NS / 2;
}

int main(int argc, char **argv) {
    tide_recorder_config config;
    maker of = {.now_ns = 1, .module = TIDE_NONE};
    tide_error error = {""};
    if (argc < 3) {
        return 2;
    }
    uint64_t n_steps = strtoull(argv[2], NULL, 10);
    uint64_t n_blocks = argc > 3 ? strtoull(argv[3], NULL, 10) : MODULES;
    tide_recorder_config_init(&config);
    config.log_path = argv[1];
    config.capture_stacks = false;
    config.row_bytes = sizeof(tide_live_row);
    config.log_bytes = n_steps * (n_blocks + 16) * 4 * sizeof(tide_live_row) + (8 << 20);
    if (tide_recorder_create(&config, &of.recorder, &error) != TIDE_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    set_up(&of, n_blocks);
    for (uint64_t i = 0; i < n_steps; i++) {
        step(&of, i, n_blocks);
    }
    if (argc > 4) {
        printf("ready\n");
        fflush(stdout);
        _exit(getchar() == EOF ? 0 : 1); /* the log stays open, as after a kill */
    }
    tide_recorder_destroy(of.recorder);
    return 0;
}
