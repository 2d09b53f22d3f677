/* bench_log.c - measures the cost of appending an event: in anonymous memory, in a mapped file, and
 * in both once they are full and overwrite their oldest rows.
 *
 * bench_log FILE [EVENTS]: each of 9 rounds appends EVENTS events (2,000,000), allocs and releases
 * of 2,000 live blocks, to a new log of each kind, in turn; prints ns per event, every sample, and
 * the least. FILE is the log of the file kinds; its contents are replaced as by a recorder.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "recorder/log_file_internal.h"
#include "support/event_log.h"

enum { N_ROUNDS = 9, N_LIVE = 2000, N_KINDS = 4 };

static const char *const KINDS[N_KINDS] = {"anonymous", "file", "anonymous, full", "file, full"};

static int64_t append_all(tide_event_log *log, size_t n_events) {
    int64_t begin_ns = tide_clock_now_ns();
    for (size_t i = 0; i < n_events; i++) {
        size_t block = i / 2 % N_LIVE;
        bool is_alloc = i / 2 / N_LIVE % 2 == 0;
        tide_event event = {.time_ns = (int64_t)i,
                            .address = (uint64_t)(i % 2 * N_LIVE + block) << 12,
                            .requested_bytes = 4000,
                            .block_bytes = 4096,
                            .stack = 7,
                            .scope = 3,
                            .name = 1,
                            .action = is_alloc ? TIDE_ACTION_ALLOC : TIDE_ACTION_FREE};
        append_event(log, &event);
    }
    return tide_clock_now_ns() - begin_ns;
}

/* ns per event; negative on failure. Kinds 2 and 3 have room for an eighth. */
static double measure(int kind, const char *path, size_t n_events) {
    const tide_hostmem *mem = tide_hostmem_default();
    size_t n_rows = kind < 2 ? n_events : n_events / 8;
    tide_event_log log;
    tide_log_file file;
    tide_error error = {""};
    bool has_file = kind % 2 == 1;
    tide_status status = TIDE_OK;
    if (has_file) {
        tide_log_layout layout = tide_log_layout_make(
            &(tide_log_areas){1 << 16, 1, (uint64_t)4 * N_LIVE, n_rows, sizeof(tide_event), 1});
        status = tide_log_file_open_as(mem, path, &layout, &file, &error);
        if (status == TIDE_OK) {
            tide_event_log_memory memory = tide_log_file_memory(&file);
            tide_event_log_init_in(&log, mem, &memory, true);
        }
    } else {
        status = tide_event_log_init(&log, mem, n_rows * sizeof(tide_event), true, &error);
    }
    if (status != TIDE_OK) {
        fprintf(stderr, "bench_log: %s\n", error.message);
        return -1.0;
    }
    double ns = (double)append_all(&log, n_events) / (double)n_events;
    bool is_whole = tide_event_log_has_newest(&log);
    tide_event_log_fini(&log);
    if (has_file) {
        tide_log_file_close(&file);
    }
    return is_whole ? ns : -1.0;
}

int main(int argc, char **argv) {
    size_t n_events = argc > 2 ? (size_t)strtoull(argv[2], NULL, 10) : 2000000;
    double samples[N_KINDS][N_ROUNDS];
    if (argc < 2 || n_events < (size_t)8 * N_LIVE) {
        fprintf(stderr, "usage: bench_log FILE [EVENTS, 16000 at least]\n");
        return 2;
    }
    for (int round = 0; round < N_ROUNDS; round++) {
        for (int i = 0; i < N_KINDS; i++) {
            int kind = (i + round) % N_KINDS;
            samples[kind][round] = measure(kind, argv[1], n_events);
            if (samples[kind][round] < 0.0) {
                return 1;
            }
        }
    }
    for (int kind = 0; kind < N_KINDS; kind++) {
        double least = samples[kind][0];
        printf("%-16s", KINDS[kind]);
        for (int round = 0; round < N_ROUNDS; round++) {
            printf(" %6.1f", samples[kind][round]);
            least = samples[kind][round] < least ? samples[kind][round] : least;
        }
        printf("   least %.1f ns per event\n", least);
    }
    return remove(argv[1]) == 0 ? 0 : 1;
}
