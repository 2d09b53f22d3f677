#define _POSIX_C_SOURCE 200809L
#include "programs/plan/own.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/assert.h"
#include "common/hostmem.h"
#include "common/text/list.h"
#include "programs/runs/program.h"

/* "$0" is the patch, the others are the command. `patch` prints only what fails. */
#define PATCH_AND_START "patch -s -f -p1 -i \"$0\" && exec \"$@\""

enum { N_WORDS = 4 }; /* before the command: sh, -c, the text, the patch */

static tide_status patched(const char *path, char *const *arguments, char **ret_command) {
    const tide_hostmem *mem = tide_hostmem_default();
    char patch[TIDE_RUN_PATH_BYTES];
    size_t n = 0;
    (void)snprintf(patch, sizeof(patch), "%s", path);
    while (arguments[n] != NULL) {
        n++;
    }
    char **words = tide_hostmem_array(mem, n + N_WORDS + 1, sizeof(*words));
    if (words == NULL) {
        return TIDE_NO_MEMORY;
    }
    char *const before[N_WORDS] = {(char[]){"sh"}, (char[]){"-c"}, (char[]){PATCH_AND_START},
                                   patch};
    memcpy(words, before, sizeof(before));
    memcpy(words + N_WORDS, arguments, (n + 1) * sizeof(*words));
    *ret_command = tide_run_program_command(words);
    mem->release(mem->ctx, words);
    return *ret_command != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

tide_status tide_plan_own_take_patch(tide_plan_own *own, const char *path, char *const *arguments,
                                     tide_error *error) {
    if (access(path, R_OK) != 0) {
        return tide_fail(error, TIDE_INVALID, "--patch %s: %s", path, strerror(errno));
    }
    own->patch_path = path;
    return patched(path, arguments, &own->patched_command);
}

tide_status tide_plan_own_take_diff(tide_plan_own *own, const char *path, const char *command,
                                    tide_error *error) {
    const tide_run_program program = {.command = command};
    char **arguments = NULL;
    TIDE_TRY(tide_run_program_arguments(&program, &arguments, error));
    tide_status status = patched(path, arguments, &own->diff_command);
    tide_run_program_release(arguments);
    return status;
}

void tide_plan_own_fini(tide_plan_own *own) {
    cJSON_free(own->patched_command);
    cJSON_free(own->diff_command);
    own->patched_command = own->diff_command = NULL;
}

bool tide_plan_own_has_part(const tide_plan_own *own, uint64_t part) {
    return own->batch_name[0] != '\0' && part > 0 && own->batch % part == 0 &&
           own->batch / part >= own->least_batch;
}

void tide_plan_own_values(const tide_plan_own *own, uint64_t part,
                          char ret_values[TIDE_RUN_VALUES_BYTES]) {
    TIDE_ASSERT(part > 0 && own->batch % part == 0);
    (void)snprintf(ret_values, TIDE_RUN_VALUES_BYTES, "%s=%" PRIu64 ",%s=%" PRIu64, own->batch_name,
                   own->batch / part, own->accumulate_name, part);
}

static bool is_word(const char *name, size_t n_name, const char *word) {
    size_t n = strlen(word);
    return n_name >= n && strncmp(name, word, n) == 0 && (n_name == n || name[n] == ':');
}

bool tide_plan_is_own(const char *name, size_t n_name) {
    return is_word(name, n_name, TIDE_PLAN_PATCH) || is_word(name, n_name, TIDE_PLAN_DIFF) ||
           is_word(name, n_name, TIDE_PLAN_BATCH);
}

static void apply_one(const tide_plan_own *own, const char *name, size_t n_name,
                      tide_run_config *config) {
    tide_run_program *program = &config->workload.of.program;
    if (is_word(name, n_name, TIDE_PLAN_PATCH)) {
        TIDE_ASSERT(own->patched_command != NULL);
        program->command = own->patched_command;
    } else if (is_word(name, n_name, TIDE_PLAN_DIFF)) {
        TIDE_ASSERT(own->diff_command != NULL);
        program->command = own->diff_command;
    } else {
        uint64_t part = strtoull(name + strlen(TIDE_PLAN_BATCH ":"), NULL, 10);
        tide_plan_own_values(own, part, program->values);
    }
}

void tide_plan_own_apply(const tide_plan_own *own, const char *changes, tide_run_config *config,
                         char *ret_others) {
    size_t n_used = 0;
    ret_others[0] = '\0';
    if (own->batch_name[0] != '\0') {
        tide_plan_own_values(own, 1, config->workload.of.program.values);
    }
    for (tide_list_word word; tide_list_next(&changes, &word);) {
        if (tide_plan_is_own(word.text, word.n_bytes)) {
            apply_one(own, word.text, word.n_bytes, config);
        } else {
            if (n_used > 0) {
                ret_others[n_used++] = ',';
            }
            memcpy(ret_others + n_used, word.text, word.n_bytes);
            n_used += word.n_bytes;
            ret_others[n_used] = '\0';
        }
    }
}
