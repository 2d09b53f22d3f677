/* bench_snapshot.c - what it costs to write, read and summarise a snapshot.
 *
 * bench_snapshot [EVENTS] [FILE]: makes a recording of EVENTS events (1,000,000) with scopes, names
 * and stacks, writes, reads and summarises it five times, and prints the medians. FILE is kept.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "snapshot/snapshot.h"
#include "snapshot/summary.h"
#include "support/synthetic.h"

enum { REPEATS = 5 };

static int by_value(const void *left, const void *right) {
    const double *a = left;
    const double *b = right;
    return (*a > *b) - (*a < *b);
}

static double median(double seconds[REPEATS]) {
    qsort(seconds, REPEATS, sizeof(*seconds), by_value);
    return seconds[REPEATS / 2];
}

static double since(int64_t start_ns) {
    return (double)(tide_clock_now_ns() - start_ns) * 1e-9;
}

int main(int argc, char **argv) {
    const char *path = argc > 2 ? argv[2] : "bench_snapshot.json.gz";
    synthetic_config config = synthetic_default();
    config.n_events = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 1000000;
    config.n_layers = 32;
    tide_snapshot *made = synthetic_create(&config);
    double write_s[REPEATS], read_s[REPEATS], summary_s[REPEATS];
    tide_error error = {""};
    for (int i = 0; i < REPEATS && made != NULL; i++) {
        tide_snapshot *read = NULL;
        tide_summary *summary = NULL;
        int64_t start_ns = tide_clock_now_ns();
        if (tide_snapshot_save(made, path, &error) != TIDE_OK) {
            fprintf(stderr, "%s\n", error.message);
            return EXIT_FAILURE;
        }
        write_s[i] = since(start_ns);
        start_ns = tide_clock_now_ns();
        if (tide_snapshot_load(path, NULL, &read, &error) != TIDE_OK) {
            fprintf(stderr, "%s\n", error.message);
            return EXIT_FAILURE;
        }
        read_s[i] = since(start_ns);
        start_ns = tide_clock_now_ns();
        if (tide_summary_create(read, &summary, &error) != TIDE_OK) {
            fprintf(stderr, "%s\n", error.message);
            return EXIT_FAILURE;
        }
        summary_s[i] = since(start_ns);
        tide_summary_destroy(summary);
        tide_snapshot_destroy(read);
    }
    struct stat info;
    if (made == NULL || stat(path, &info) != 0) {
        return EXIT_FAILURE;
    }
    printf("%zu events, %zu scopes, %zu stacks: %.2f MB; median of %d: written in %.3f s (its "
           "summary included), read in %.3f s, summarised in %.3f s\n",
           made->n_events, made->n_scopes, made->n_stacks, (double)info.st_size * 1e-6, REPEATS,
           median(write_s), median(read_s), median(summary_s));
    tide_snapshot_destroy(made);
    if (argc <= 2) {
        remove(path);
    }
    return EXIT_SUCCESS;
}
