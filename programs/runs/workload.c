#include "programs/runs/workload.h"

#include <string.h>

static const char *const PHASES[TIDE_N_TIMED] = {"forward", "backward", "optimizer", "step"};

const char *tide_run_phase_name(size_t phase) {
    return PHASES[phase];
}

int tide_run_phase_from_name(const char *name) {
    for (int i = 0; i < TIDE_N_TIMED; i++) {
        if (strcmp(PHASES[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

void tide_run_workload_init(tide_run_workload *workload, const tide_run_kind *kind) {
    memset(workload, 0, sizeof(*workload));
    workload->kind = kind;
    kind->init(workload);
}

bool tide_run_workload_is_program(const tide_run_workload *workload) {
    return workload->kind == &tide_run_program_kind;
}

tide_status tide_run_workload_check(const tide_run_workload *workload, tide_error *error) {
    return workload->kind->check(workload, error);
}

void tide_run_workload_name(const tide_run_workload *workload, char ret_name[TIDE_RUN_NAME_BYTES]) {
    workload->kind->name_of(workload, ret_name);
}

void tide_run_workload_labels(const tide_run_workload *workload, tide_run_labels *ret_labels) {
    *ret_labels = workload->kind->labels(workload);
}

int64_t tide_run_workload_n_tokens(const tide_run_workload *workload) {
    return workload->kind->n_tokens != NULL ? workload->kind->n_tokens(workload) : 0;
}

double tide_run_workload_flops(const tide_run_workload *workload) {
    return workload->kind->flops != NULL ? workload->kind->flops(workload) : 0.0;
}
