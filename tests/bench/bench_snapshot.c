/* bench_snapshot.c - measures the cost of writing, reading and summarising a snapshot.
 *
 * bench_snapshot [EVENTS] [FILE]: makes a recording of EVENTS events (1,000,000) with scopes, names
 * and stacks, writes, reads and summarises it, once to warm up and then five times, and prints
 * every sample and the medians. FILE is kept.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/analysis/summary.h"
#include "support/synthetic.h"

enum { REPEATS = 5 };

static int by_value(const void *left, const void *right) {
    const double *a = left;
    const double *b = right;
    return (*a > *b) - (*a < *b);
}

/* Samples in the order they were taken, then their median. */
static void print_samples(const char *what, double seconds[REPEATS]) {
    printf("%-12s", what);
    for (int i = 0; i < REPEATS; i++) {
        printf("  %.3f", seconds[i]);
    }
    qsort(seconds, REPEATS, sizeof(*seconds), by_value);
    printf("  median %.3f s\n", seconds[REPEATS / 2]);
}

static double since(int64_t start_ns) {
    return (double)(tide_clock_now_ns() - start_ns) * 1e-9;
}

/* Writes, reads and summarises `made` once. False, with a message on stderr, when something fails.
 */
static bool measure(const tide_snapshot *made, const char *path, double *ret_write_s,
                    double *ret_read_s, double *ret_summary_s) {
    tide_snapshot *read = NULL;
    tide_summary *summary = NULL;
    tide_error error = {""};
    int64_t start_ns = tide_clock_now_ns();
    tide_status status = tide_snapshot_save(made, path, &error);
    *ret_write_s = since(start_ns);
    start_ns = tide_clock_now_ns();
    if (status == TIDE_OK) {
        status = tide_snapshot_load(path, NULL, &read, &error);
    }
    *ret_read_s = since(start_ns);
    start_ns = tide_clock_now_ns();
    if (status == TIDE_OK) {
        status = tide_summary_create(read, &summary, &error);
    }
    *ret_summary_s = since(start_ns);
    tide_summary_destroy(summary);
    tide_snapshot_destroy(read);
    if (status != TIDE_OK) {
        fprintf(stderr, "%s\n", error.message);
    }
    return status == TIDE_OK;
}

int main(int argc, char **argv) {
    const char *path = argc > 2 ? argv[2] : "bench_snapshot.json.gz";
    synthetic_config config = synthetic_default();
    config.n_events = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) : 1000000;
    config.n_layers = 32;
    tide_snapshot *made = synthetic_create(&config);
    double write_s[REPEATS], read_s[REPEATS], summary_s[REPEATS];
    bool works = made != NULL && measure(made, path, write_s, read_s, summary_s);
    for (int i = 0; i < REPEATS && works; i++) {
        works = measure(made, path, &write_s[i], &read_s[i], &summary_s[i]);
    }
    struct stat info;
    if (!works || stat(path, &info) != 0) {
        tide_snapshot_destroy(made);
        return EXIT_FAILURE;
    }
    printf("%zu events, %zu scopes, %zu stacks: %.2f MB\n", made->n_events, made->n_scopes,
           made->n_stacks, (double)info.st_size * 1e-6);
    print_samples("written", write_s); /* its summary included */
    print_samples("read", read_s);
    print_samples("summarised", summary_s);
    tide_snapshot_destroy(made);
    if (argc <= 2) {
        remove(path);
    }
    return EXIT_SUCCESS;
}
