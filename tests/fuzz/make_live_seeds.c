/* make_live_seeds.c - writes the first inputs of fuzz_live: logs of live recordings with every kind
 * of row and record.
 *
 *     make_live_seeds tests/fuzz/corpus/live
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "support/made_log.h"

#define MIB (UINT64_C(1) << 20)
#define AT (UINT64_C(0x7f00) << 32)

static const char *folder;

static void open_seed(made_log *log, const char *name, size_t max_events, size_t max_base) {
    char path[200];
    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    (void)remove(path);
    made_log_open_at(log, path, max_events, max_base);
    made_log_text(log, "software.torch", "2.14.1");
    made_log_text(log, "run.command", "python train.py");
    made_log_text(log, "environment.RANK", "1");
    made_log_text(log, "device.0.name", "NVIDIA H100");
    made_log_text(log, "device.0.total_bytes", "85899345920");
    made_log_text(log, "live.account.0.begin.bytes", "1000 total\n10 used\n");
    made_log_text(log, "live.account.0.peak.bytes",
                  "1000 total\n90 used\n9 context\n70 owner PyTorch\n5 owner cuBLAS\n");
    made_log_text(log, "live.account.0.end.bytes", "1000 total\n80 used\n70 owner PyTorch\n");
    made_log_stream(log, 0, 0, 0);
    made_log_stream(log, 1, 1, 7);
}

static tide_live_row within(tide_live_row row, uint32_t node, uint32_t module, uint32_t sequence) {
    row.node = node;
    row.module = module;
    row.sequence = sequence;
    return row;
}

/* A step with a module, a node, labels, a failed request, calls of the driver. */
static void add_step(made_log *log, uint64_t number) {
    uint32_t node = made_log_string(log, "N5torch8autograd9generated14AddmmBackward0E");
    uint32_t module = made_log_string(log, "h.0.mlp");
    tide_live_row row = within(made_row(TIDE_ACTION_ALLOC, AT, 3 * MIB), TIDE_NONE, module, 4);
    made_log_mark(log, "step begins", number);
    row.event.stack = made_log_stack(log, "forward", 2);
    made_log_add(log, row);
    made_log_label(log, AT, "parameter", "h.0.weight", TIDE_CERTAINTY_NAMED);
    made_log_label(log, AT, "input", "", TIDE_CERTAINTY_RULE);
    made_log_mark(log, "backward begins", 0);
    made_log_add(log,
                 within(made_row(TIDE_ACTION_ALLOC, AT + 3 * MIB, 2 * MIB), node, TIDE_NONE, 3));
    made_log_mark(log, "backward ends", 0);
    made_log_mark(log, "optimizer begins", 0);
    made_log_event(log, TIDE_ACTION_FREE_REQUESTED, AT + 3 * MIB, 2 * MIB);
    made_log_event(log, TIDE_ACTION_FREE_COMPLETED, AT + 3 * MIB, 2 * MIB);
    made_log_event(log, TIDE_ACTION_FREE, AT, 3 * MIB);
    made_log_event(log, TIDE_ACTION_OOM, 0, 900 * MIB);
    made_log_mark(log, "step ends", number);
    made_log_mark(log, "annotate", 0);
}

static void add_calls(made_log *log) {
    made_log_call(log, 0, AT, 20 * MIB, "cudaMalloc", "PyTorch");
    made_log_call(log, 0, 64 * MIB, MIB, "cudaMalloc", "cuBLAS");
    made_log_call(log, 2, 12345, 4096, "cudaHostAlloc", "others");
    made_log_call(log, 4, 77, 2 * MIB, "cuMemCreate", "PyTorch");
    made_log_call(log, 5, 77, 2 * MIB, "cuMemRelease", "PyTorch");
    made_log_call(log, 3, 12345, 4096, "cudaFreeHost", "others");
}

static void write_whole(void) {
    made_log log;
    open_seed(&log, "seed-whole", 64, 0);
    add_calls(&log);
    made_log_event(&log, TIDE_ACTION_SEGMENT_ALLOC, AT, 20 * MIB);
    add_step(&log, 0);
    add_step(&log, 1);
    made_log_close(&log);
}

static void write_ring(void) {
    made_log log;
    open_seed(&log, "seed-ring", 12, 24);
    add_calls(&log);
    made_log_event(&log, TIDE_ACTION_SEGMENT_ALLOC, AT, 20 * MIB);
    made_log_event(&log, TIDE_ACTION_ALLOC, AT + 8 * MIB, 2 * MIB);
    made_log_label(&log, AT + 8 * MIB, "gradient", "w.grad", TIDE_CERTAINTY_NAMED);
    add_step(&log, 6);
    add_step(&log, 7);
    made_log_close(&log);
}

static void write_mapped(void) {
    made_log log;
    open_seed(&log, "seed-mapped", 64, 0);
    made_log_text(&log, "environment.PYTORCH_CUDA_ALLOC_CONF",
                  "expandable_segments:True,roundup_power2_divisions:[256:1,>:4]");
    tide_live_row row = made_row(TIDE_ACTION_SEGMENT_MAP, AT, 20 * MIB);
    row.pool = made_log_pool(&log, 3, 0);
    row.event.device = 1;
    row.event.stream = 1;
    made_log_add(&log, row);
    row.event.action = TIDE_ACTION_ALLOC;
    row.event.requested_bytes = row.event.block_bytes = 7 * MIB;
    made_log_add(&log, row);
    made_log_event(&log, TIDE_ACTION_SEGMENT_UNMAP, AT + 10 * MIB, 4 * MIB);
    made_log_close(&log);
}

static void write_calls(void) {
    made_log log;
    open_seed(&log, "seed-calls", 64, 0);
    add_calls(&log);
    made_log_close(&log);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        return 2;
    }
    folder = argv[1];
    write_whole();
    write_ring();
    write_mapped();
    write_calls();
    return 0;
}
