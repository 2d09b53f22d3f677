#define _POSIX_C_SOURCE 200809L
#include "support/pytorch_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const pytorch_file PYTORCH_FILES[PYTORCH_N_FILES] = {
    {"2.7B_fp32_ctx512_forward", 3856, "13138.26", "40710.89", "40632.77", 44486},
    {"2.7B_bf16_ctx512_forward", 4756, "13099.20", "37683.60", "37624.53", 39890},
    {"medium_fp32_ctx128_training", 19136, "4859.28", "6688.44", "6493.13", 6900},
    {"small_fp32_ctx128_forward", 2043, "499.55", "531.05", "499.55", 582},
    {"expandable_four_devices", 7923, NULL, NULL, NULL, 109318},
    {"cnn_snapshot_events", 5803, "8.37", "103.24", "46.49", 128},
    {"windows_few_frames", 5163, "1310.27", "13278.96", "1310.27", 13524},
};

const pytorch_file *pytorch_file_named(const char *name) {
    for (size_t i = 0; i < PYTORCH_N_FILES; i++) {
        if (strcmp(PYTORCH_FILES[i].name, name) == 0) {
            return &PYTORCH_FILES[i];
        }
    }
    fprintf(stderr, "no file %s in the table\n", name);
    exit(EXIT_FAILURE);
}

bool pytorch_file_path(const pytorch_file *file, char path[PYTORCH_PATH_BYTES]) {
    const char *shared = getenv("TIDEMARK_SHARED");
    snprintf(path, PYTORCH_PATH_BYTES, "%s/pytorch-snapshots/%s.pickle",
             shared != NULL ? shared : TIDE_TEST_SHARED, file->name);
    return access(path, R_OK) == 0;
}

tide_snapshot *pytorch_file_load(const pytorch_file *file) {
    char path[PYTORCH_PATH_BYTES];
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    pytorch_file_path(file, path);
    if (tide_snapshot_load(path, NULL, &snapshot, &error) != TIDE_OK) {
        fprintf(stderr, "%s\n", error.message);
        exit(EXIT_FAILURE);
    }
    return snapshot;
}
