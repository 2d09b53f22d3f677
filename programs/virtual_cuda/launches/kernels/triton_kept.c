/* triton_kept.c - which arguments of a kernel decide what it accesses, and whether a former launch
 * had the same. Rates of an optimizer, the seed of a dropout and the like change with each launch
 * and decide nothing. */
#include <stdlib.h>
#include <string.h>

#include "programs/virtual_cuda/launches/kernels/triton_internal.h"

/* ---- what matters ---- */

/* What a step needs if its result matters. */
static void mark_operands(const tide_triton_step *step, bool *matters) {
    for (size_t i = 0; i < TIDE_TRITON_OPERANDS; i++) {
        matters[step->operands[i]] = true;
    }
}

/* Places do not decide what a program does, only loops and ifs. */
static void mark(const tide_triton_program *program, const tide_triton_step *step, bool has_places,
                 bool *matters) {
    switch (step->code) {
    case TIDE_TRITON_IF:
        matters[step->operands[0]] = true;
        break;
    case TIDE_TRITON_STORE:
        matters[step->operands[0]] = matters[step->operands[0]] || has_places; /* not the value */
        break;
    case TIDE_TRITON_LOAD:
    case TIDE_TRITON_ATOMIC:
        matters[step->operands[0]] =
            matters[step->operands[0]] || has_places || matters[step->result];
        break;
    case TIDE_TRITON_FOR:
        mark_operands(step, matters);
        for (int64_t i = step->low; step->result != 0 && i < step->high; i++) {
            const tide_triton_link *link = &program->links[i];
            if (matters[link->variable]) {
                matters[link->first] = matters[link->next] = true;
            }
        }
        break;
    default:
        if (step->result != 0 && matters[step->result]) {
            mark_operands(step, matters);
        }
    }
}

static size_t count(const bool *matters, size_t n) {
    size_t found = 0;
    for (size_t i = 1; i <= n; i++) { /* without value 0, which has no name */
        found += matters[i];
    }
    return found;
}

/* From the last step to the first, and once more for what loops carry from one turn to the next,
 * until nothing new matters. */
static void mark_all(const tide_triton_program *program, bool has_places, bool *matters) {
    size_t before = 0;
    size_t now = 1;
    while (now > before) {
        before = now;
        for (size_t i = program->n_steps; i > 0; i--) {
            matters[0] = false;
            mark(program, &program->steps[i - 1], has_places, matters);
        }
        now = 1 + count(matters, program->n_values);
    }
}

void tide_triton_find_what_matters(tide_triton_program *program) {
    bool *matters = calloc(program->n_values + 1, sizeof(*matters));
    for (size_t i = 0; i < program->n_arguments; i++) {
        program->arguments[i].matters = true;
    }
    if (matters == NULL) {
        return;
    }
    mark_all(program, false, matters);
    for (size_t i = 0; i < program->n_steps; i++) {
        tide_triton_step *step = &program->steps[i];
        step->decides = step->code == TIDE_TRITON_LOAD && step->is_integer && matters[step->result];
    }
    mark_all(program, true, matters);
    for (size_t i = 0; i < program->n_arguments; i++) {
        program->arguments[i].matters = matters[i + 1];
    }
    free(matters);
}

/* ---- former launches ---- */

bool tide_triton_key_of(const tide_vc_launched_kernel *launched, const tide_triton_program *program,
                        tide_triton_key *ret_key) {
    *ret_key = (tide_triton_key){.grid = {0}};
    (void)memcpy(ret_key->grid, launched->call->grid, sizeof(ret_key->grid));
    (void)memcpy(ret_key->block, launched->call->block, sizeof(ret_key->block));
    for (size_t i = 0; i < program->n_arguments; i++) {
        bool is_number = program->arguments[i].pointed_bytes == 0;
        uint32_t n_bytes = program->arguments[i].n_bytes;
        if (is_number && program->arguments[i].matters &&
            (n_bytes > sizeof(uint64_t) ||
             !tide_vc_argument(launched, i, 0, &ret_key->numbers[i], n_bytes))) {
            return false;
        }
    }
    return true;
}

static uint64_t allocated_from(const tide_vc_launched_kernel *launched, size_t i) {
    uint64_t address = 0;
    bool has_address =
        launched->bytes_from != NULL && tide_vc_argument(launched, i, 0, &address, sizeof(address));
    return has_address ? launched->bytes_from(address) : 0;
}

bool tide_triton_keep(const tide_vc_launched_kernel *launched, const tide_triton_key *key,
                      const tide_triton_needs *needs, const tide_run_launch *row,
                      tide_triton_kept *ret_kept) {
    if (needs->reads.n > TIDE_TRITON_READS) {
        return false;
    }
    *ret_kept = (tide_triton_kept){.key = *key, .needs = *needs, .row = *row};
    for (size_t i = 0; i < TIDE_TRITON_ARGUMENTS; i++) {
        ret_kept->allocated[i] = needs->unknown_bytes[i] > 0.0 ? allocated_from(launched, i) : 0;
    }
    return true;
}

/* Whether unknown bytes have room in both allocations, or the same room. An allocation of 0 bytes
 * is unknown and bounds nothing. */
static bool is_same_room(double unknown_bytes, uint64_t before, uint64_t now) {
    bool had_room = before == 0 || (double)before >= unknown_bytes;
    bool has_room = now == 0 || (double)now >= unknown_bytes;
    return before == now || (had_room && has_room);
}

bool tide_triton_holds(const tide_triton_kept *kept, const tide_vc_launched_kernel *launched) {
    for (size_t i = 0; i < TIDE_TRITON_ARGUMENTS; i++) {
        double unknown_bytes = kept->needs.unknown_bytes[i];
        if (unknown_bytes > 0.0 &&
            !is_same_room(unknown_bytes, kept->allocated[i], allocated_from(launched, i))) {
            return false;
        }
    }
    for (size_t i = 0; i < kept->needs.reads.n; i++) {
        tide_triton_read now = kept->needs.reads.of[i];
        uint64_t address = 0;
        if (!tide_vc_argument(launched, now.argument, 0, &address, sizeof(address))) {
            return false;
        }
        now.address = address + now.at;
        now.is_known = tide_triton_read_value(launched, &now);
        if (now.is_known != kept->needs.reads.of[i].is_known ||
            now.value != kept->needs.reads.of[i].value) {
            return false;
        }
    }
    return true;
}
