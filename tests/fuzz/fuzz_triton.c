/* fuzz_triton.c - any bytes as a Triton text are accepted or refused, and every launch of an
 * accepted text has an answer.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "programs/virtual_cuda/launches/kernels/triton_internal.h"

/* The last bytes are the grid and the arguments of the launch, and a part of the text as well, so
 * that a text alone is an input. */
enum { LAUNCH_BYTES = 16 };

/* Values of the card, as anything. */
static bool read_value(uint64_t address, size_t n_bytes, void *to) {
    uint64_t made = address * UINT64_C(0x9e3779b97f4a7c15);
    memcpy(to, &made, n_bytes);
    return (address & 1) == 0;
}

static void follow(const tide_triton_program *program, const uint8_t *data, size_t n_bytes) {
    uint64_t numbers[TIDE_TRITON_ARGUMENTS] = {0};
    void *addresses[TIDE_TRITON_ARGUMENTS];
    uint8_t launch[LAUNCH_BYTES] = {0};
    memcpy(launch, data + n_bytes - (n_bytes < LAUNCH_BYTES ? n_bytes : LAUNCH_BYTES),
           n_bytes < LAUNCH_BYTES ? n_bytes : LAUNCH_BYTES);
    tide_vc_kernel_call call = {.name = "triton", .block = {128, 1, 1}, .arguments = addresses};
    memcpy(call.grid, launch, sizeof(call.grid));
    for (size_t i = 0; i < TIDE_TRITON_ARGUMENTS; i++) {
        memcpy(&numbers[i], launch + i % (LAUNCH_BYTES - sizeof(numbers[i]) + 1),
               sizeof(numbers[i]));
        addresses[i] = &numbers[i];
    }
    tide_vc_launched_kernel launched = {.call = &call, .n_threads = 1, .read_value = read_value};
    tide_vc_arguments_find(addresses, (unsigned)program->n_arguments, &launched.arguments);
    tide_run_launch row = {.kind = TIDE_RUN_KERNEL};
    tide_triton_needs needs;
    tide_triton_key key;
    tide_triton_kept kept;
    bool is_followed = tide_triton_follow(&launched, program, &row, &needs);
    if (!is_followed && (row.bytes != 0 || row.elements != 0)) {
        abort();
    }
    if (is_followed && tide_triton_key_of(&launched, program, &key) &&
        tide_triton_keep(&launched, &key, &needs, &row, &kept) &&
        !tide_triton_holds(&kept, &launched)) {
        abort();
    }
}

/* For any text, the answer stays within the program's own tables. */
static void check(const tide_triton_program *program) {
    for (size_t i = 0; i < program->n_steps; i++) {
        const tide_triton_step *step = &program->steps[i];
        bool is_inside = step->result <= program->n_values;
        for (size_t k = 0; k < TIDE_TRITON_OPERANDS; k++) {
            is_inside = is_inside && step->operands[k] <= program->n_values;
        }
        bool is_loop = step->code == TIDE_TRITON_FOR && step->result != 0;
        is_inside = is_inside && (!is_loop || (step->low >= 0 && step->low <= step->high &&
                                               (size_t)step->high <= program->n_links));
        if (!is_inside) {
            abort();
        }
    }
    for (size_t i = 0; i < program->n_links; i++) {
        const tide_triton_link *link = &program->links[i];
        if (link->variable > program->n_values || link->first > program->n_values ||
            link->next > program->n_values) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes) {
    char *text = malloc(n_bytes + 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, n_bytes);
    text[n_bytes] = '\0';
    tide_triton_program *program = tide_triton_parse(text);
    free(text);
    if (program != NULL) {
        check(program);
        follow(program, data, n_bytes);
        tide_triton_program_free(program);
    }
    return 0;
}
