/* bench_triton.c - measures what the launch log adds to a launch of a Triton kernel: following its
 * text, and finding the row of a former launch.
 *
 * bench_triton TEXT.ttir...: of each text, 9 rounds of both in turn; prints the median in ns. The
 * numbers of the launch are 1024, and the card's values are 4.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "programs/virtual_cuda/launches/kernels/triton_internal.h"

enum { N_ROUNDS = 9, N_LAUNCHES = 50, MOST_BYTES = 4 << 20, NUMBER = 1024, VALUE = 4 };

static bool read_value(uint64_t address, size_t n_bytes, void *to) {
    int64_t value = VALUE;
    (void)address;
    memcpy(to, &value, n_bytes);
    return true;
}

static tide_triton_program *program_of(const char *path) {
    FILE *file = fopen(path, "rb");
    char *text = file != NULL ? calloc(1, MOST_BYTES) : NULL;
    tide_triton_program *made = NULL;
    if (text != NULL && fread(text, 1, MOST_BYTES - 1, file) > 0) {
        made = tide_triton_parse(text);
    }
    free(text);
    if (file != NULL) {
        (void)fclose(file);
    }
    return made;
}

static int by_value(const void *a, const void *b) {
    return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static double median(double *of) {
    qsort(of, N_ROUNDS, sizeof(*of), by_value);
    return of[N_ROUNDS / 2];
}

static double follow_ns(const tide_vc_launched_kernel *launched, const tide_triton_program *program,
                        const tide_triton_key *key, tide_triton_kept *kept) {
    int64_t begin_ns = tide_clock_now_ns();
    for (int i = 0; i < N_LAUNCHES; i++) {
        tide_triton_needs needs;
        tide_run_launch row = {.kind = TIDE_RUN_KERNEL};
        (void)tide_triton_follow(launched, program, &row, &needs);
        (void)tide_triton_keep(launched, key, &needs, &row, kept);
    }
    return (double)(tide_clock_now_ns() - begin_ns) / N_LAUNCHES;
}

static double find_ns(const tide_vc_launched_kernel *launched, const tide_triton_program *program,
                      const tide_triton_kept *kept, size_t *n_found) {
    int64_t begin_ns = tide_clock_now_ns();
    for (int i = 0; i < N_LAUNCHES; i++) {
        tide_triton_key key;
        tide_triton_kept copy = *kept;
        *n_found += tide_triton_key_of(launched, program, &key) &&
                    memcmp(&copy.key, &key, sizeof(key)) == 0 && tide_triton_holds(&copy, launched);
    }
    return (double)(tide_clock_now_ns() - begin_ns) / N_LAUNCHES;
}

static void measure(const char *path, const tide_triton_program *program) {
    static tide_triton_kept kept;
    uint64_t numbers[TIDE_TRITON_ARGUMENTS];
    void *addresses[TIDE_TRITON_ARGUMENTS];
    double follow[N_ROUNDS];
    double find[N_ROUNDS];
    size_t n_found = 0;
    tide_triton_key key;
    tide_vc_kernel_call call = {
        .name = "k", .grid = {NUMBER, 1, 1}, .block = {128, 1, 1}, .arguments = addresses};
    tide_vc_launched_kernel launched = {.call = &call, .read_value = read_value};
    for (size_t i = 0; i < TIDE_TRITON_ARGUMENTS; i++) {
        numbers[i] = NUMBER;
        addresses[i] = &numbers[i];
    }
    tide_vc_arguments_find(addresses, (unsigned)program->n_arguments, &launched.arguments);
    (void)tide_triton_key_of(&launched, program, &key);
    for (size_t i = 0; i < N_ROUNDS; i++) {
        follow[i] = follow_ns(&launched, program, &key, &kept);
        find[i] = find_ns(&launched, program, &kept, &n_found);
    }
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    (void)printf("%-60.60s %5zu steps: followed %10.0f ns, found %7.0f ns%s\n", name,
                 program->n_steps, median(follow), median(find),
                 n_found == (size_t)N_ROUNDS * N_LAUNCHES ? "" : " (not kept)");
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        tide_triton_program *program = program_of(argv[i]);
        if (program == NULL) {
            (void)fprintf(stderr, "bench_triton: %s cannot be followed\n", argv[i]);
            return 1;
        }
        measure(argv[i], program);
        tide_triton_program_free(program);
    }
    return 0;
}
