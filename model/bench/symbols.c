/* symbols.c - the cost of turning return addresses into functions, files, lines and inlined calls,
 * as when a snapshot is written.
 *
 * The debug information is read at the first address and stays loaded, so every sample is a
 * separate process.
 */
#define _GNU_SOURCE /* dl_iterate_phdr */
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/bench/run_internal.h"
#include "common/clock.h"
#include "common/text/strings.h"
#include "snapshot/document/symbols.h"

enum { N_ADDRESSES = 1000, N_ADDRESSES_BRIEF = 50 };

/* The program's own code. */
typedef struct code {
    uint64_t address;
    uint64_t n_bytes;
    size_t n_addresses; /* looked up in it, evenly spread */
} code;

/* The result of one process. */
typedef struct timing {
    double first_ns; /* for all addresses; debug information is read meanwhile */
    double again_ns; /* by another symboliser of the process */
    uint64_t n_frames, n_lines;
} timing;

static int take_code(struct dl_phdr_info *info, size_t n_bytes, void *data) {
    (void)n_bytes;
    code *c = data;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0) {
            c->address = info->dlpi_addr + segment->p_vaddr;
            c->n_bytes = segment->p_memsz;
        }
    }
    return 1; /* the program is the first module */
}

static tide_status resolve_all(const code *c, tide_strings *strings, double *ret_ns,
                               timing *counts) {
    tide_symbols *symbols = NULL;
    int64_t begin_ns = tide_clock_thread_ns();
    TIDE_TRY(tide_symbols_create(tide_hostmem_default(), strings, &symbols));
    tide_status status = TIDE_OK;
    counts->n_frames = 0;
    counts->n_lines = 0;
    for (size_t i = 0; i < c->n_addresses && status == TIDE_OK; i++) {
        const tide_frame_row *frames = NULL;
        size_t n_frames = 0;
        uint64_t address = c->address + 1 + i * (c->n_bytes / c->n_addresses);
        status = tide_symbols_resolve(symbols, address, &frames, &n_frames);
        counts->n_frames += n_frames;
        for (size_t f = 0; f < n_frames; f++) {
            counts->n_lines += frames[f].line > 0;
        }
    }
    tide_symbols_destroy(symbols);
    *ret_ns = (double)(tide_clock_thread_ns() - begin_ns);
    return status;
}

static tide_status measure(const code *c, timing *ret) {
    tide_strings strings;
    tide_strings_init(&strings, tide_hostmem_default());
    tide_status status = resolve_all(c, &strings, &ret->first_ns, ret);
    if (status == TIDE_OK) {
        status = resolve_all(c, &strings, &ret->again_ns, ret);
    }
    tide_strings_fini(&strings);
    return status;
}

/* Measures in a new process, which sends the result. */
static tide_status measure_apart(const code *c, timing *ret, tide_error *error) {
    int ends[2];
    if (pipe(ends) != 0) {
        return tide_fail(error, TIDE_IO, "symbols: cannot make a pipe");
    }
    pid_t child = fork();
    if (child < 0) {
        close(ends[0]);
        close(ends[1]);
        return tide_fail(error, TIDE_NO_MEMORY, "symbols: cannot start a process");
    }
    if (child == 0) {
        timing mine = {.first_ns = 0.0};
        bool is_sent = measure(c, &mine) == TIDE_OK &&
                       write(ends[1], &mine, sizeof(mine)) == (ssize_t)sizeof(mine);
        _exit(is_sent ? 0 : 1);
    }
    close(ends[1]);
    ssize_t n_read = read(ends[0], ret, sizeof(*ret)); /* small enough to arrive in one piece */
    close(ends[0]);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0 || n_read != (ssize_t)sizeof(*ret)) {
        return tide_fail(error, TIDE_NO_MEMORY, "symbols: the measuring process failed");
    }
    return TIDE_OK;
}

static tide_status run_symbols(tide_bench_run *run, tide_error *error) {
    code c = {.n_addresses = run->settings->is_brief ? N_ADDRESSES_BRIEF : N_ADDRESSES};
    (void)dl_iterate_phdr(take_code, &c);
    tide_bench_group *group =
        tide_bench_add_groups(run, "addresses", "A distinct address in ns", 1, 0);
    group->name = "this program";
    group->n_rounds = run->settings->n_rounds;
    group->variants[0].name = "again";
    group->variants[1].name = "first time";
    group->n_variants = 2;
    timing last = {.first_ns = 0.0};
    for (size_t i = 0; i < group->n_rounds; i++) {
        TIDE_TRY(measure_apart(&c, &last, error));
        group->variants[0].samples[i] = last.again_ns / (double)c.n_addresses;
        group->variants[1].samples[i] = last.first_ns / (double)c.n_addresses;
    }
    tide_bench_say(run, "program",
                   "%zu addresses in %.1f MiB of code: %llu frames, %llu "
                   "with file and line",
                   c.n_addresses, (double)c.n_bytes / (1 << 20), (unsigned long long)last.n_frames,
                   (unsigned long long)last.n_lines);
    tide_bench_add_target(run, "1,000 distinct addresses, the first time", "ms", 400.0,
                          tide_bench_min(group, 1) * N_ADDRESSES * 1e-6);
    return TIDE_OK;
}

const tide_bench tide_bench_symbols = {
    .name = "symbols",
    .summary = "function, file, line and inlined calls of the program's own addresses",
    .takes = TIDE_BENCH_TAKES_GATE,
    .run = run_symbols,
};
