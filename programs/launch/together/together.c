#include "programs/launch/together/together.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "common/files/text_file.h"
#include "common/hostmem.h"

enum { MAX_FILE_BYTES = 1 << 20 };

/* The number of the script among the arguments of a Python interpreter; 0: none. Options that
 * many.py passes on without a change of their meaning may stand before it. */
static size_t script_of(char *const *arguments) {
    const char *slash = strrchr(arguments[0], '/');
    const char *name = slash != NULL ? slash + 1 : arguments[0];
    size_t i = 1;
    if (strncmp(name, "python", strlen("python")) != 0) {
        return 0;
    }
    while (arguments[i] != NULL &&
           (strcmp(arguments[i], "-u") == 0 || strcmp(arguments[i], "-B") == 0)) {
        i++;
    }
    size_t n = arguments[i] != NULL ? strlen(arguments[i]) : 0;
    bool is_script = n > strlen(".py") && arguments[i][0] != '-' &&
                     strcmp(arguments[i] + n - strlen(".py"), ".py") == 0;
    return is_script ? i : 0;
}

bool tide_launch_can_share_import(char *const *arguments) {
    return script_of(arguments) > 0;
}

tide_status tide_launch_together(const tide_launch_config *config, const tide_launch *launch,
                                 tide_launch_together_command *ret, tide_error *error) {
    const tide_hostmem *mem = tide_hostmem_default();
    size_t script = script_of(config->arguments);
    size_t n = 0;
    *ret = (tide_launch_together_command){.arguments = NULL};
    if (script == 0) {
        return tide_fail(error, TIDE_INVALID,
                         "%s is no Python with a script: run it once for each set",
                         config->arguments[0]);
    }
    while (config->arguments[n] != NULL) {
        n++;
    }
    int length =
        snprintf(ret->many, sizeof(ret->many), "%s/tidemark/changes/many.py", launch->python);
    ret->sets = tide_hostmem_text(mem, config->sets);
    ret->arguments = tide_hostmem_zeroed(mem, n + 3, sizeof(*ret->arguments));
    TIDE_ASSERT(length > 0 && (size_t)length < sizeof(ret->many));
    if (ret->arguments == NULL || ret->sets == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the command");
    }
    memcpy(ret->arguments, config->arguments, script * sizeof(*ret->arguments));
    ret->arguments[script] = ret->many;
    ret->arguments[script + 1] = ret->sets;
    memcpy(ret->arguments + script + 2, config->arguments + script,
           (n - script) * sizeof(*ret->arguments));
    return TIDE_OK;
}

void tide_launch_together_fini(tide_launch_together_command *command) {
    const tide_hostmem *mem = tide_hostmem_default();
    mem->release(mem->ctx, command->arguments);
    mem->release(mem->ctx, command->sets);
}

/* ---- what they left ---- */

size_t tide_launch_count_sets(const char *sets) {
    size_t n = 1;
    for (const char *at = strchr(sets, ';'); at != NULL; at = strchr(at + 1, ';')) {
        n++;
    }
    return n;
}

static const char *set_at(const char *sets, size_t i, size_t *ret_n_bytes) {
    for (; i > 0; i--) {
        sets = strchr(sets, ';');
        TIDE_ASSERT(sets != NULL);
        sets++;
    }
    *ret_n_bytes = strcspn(sets, ";");
    return sets;
}

int64_t tide_launch_process_of_set(const tide_launch *launch, const char *sets, size_t i) {
    const tide_hostmem *mem = tide_hostmem_default();
    char path[TIDE_LAUNCH_PATH_BYTES + sizeof("/together")];
    char *text = NULL;
    size_t n_set = 0;
    int64_t pid = -1;
    const char *set = set_at(sets, i, &n_set);
    (void)snprintf(path, sizeof(path), "%s/together", launch->folder);
    if (tide_text_file_read(path, MAX_FILE_BYTES, &text, NULL, NULL) != TIDE_OK) {
        return -1; /* none ended well */
    }
    for (const char *line = text; *line != '\0' && pid < 0;) {
        size_t n = strcspn(line, "\n");
        char *end = NULL;
        long long number = strtoll(line, &end, 10);
        bool is_whole = line[n] == '\n' && *end == '\t' && n == (size_t)(end + 1 - line) + n_set;
        pid = is_whole && strncmp(end + 1, set, n_set) == 0 ? number : -1;
        line += n + (line[n] == '\n');
    }
    mem->release(mem->ctx, text);
    return pid;
}
