/* world.c - the command that runs some ranks of a larger world: the package's launcher, run by the
 * program's own Python. */
#include <stdio.h>
#include <string.h>

#include "programs/launch/launch_internal.h"

static const char *base_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool is_python(const char *path) {
    return strncmp(base_of(path), "python", strlen("python")) == 0;
}

/* Programs that start a process for each rank themselves. */
static bool is_starter(const char *name) {
    static const char *const STARTERS[] = {"torchrun",
                                           "torch.distributed.run",
                                           "torch.distributed.launch",
                                           "accelerate",
                                           "accelerate.commands.launch",
                                           "deepspeed",
                                           "mpirun",
                                           "mpiexec",
                                           "srun"};
    for (size_t i = 0; i < sizeof(STARTERS) / sizeof(STARTERS[0]); i++) {
        if (strcmp(name, STARTERS[i]) == 0) {
            return true;
        }
    }
    return false;
}

tide_status tide_launch_check_world(char *const *arguments, tide_error *error) {
    const char *starter = is_starter(base_of(arguments[0])) ? base_of(arguments[0]) : NULL;
    for (size_t i = 1; starter == NULL && arguments[i] != NULL && i < 4; i++) {
        bool is_module = strcmp(arguments[i - 1], "-m") == 0 && is_python(arguments[0]);
        starter = is_module && is_starter(arguments[i]) ? arguments[i] : NULL;
    }
    return starter == NULL
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID,
                           "%s starts the ranks itself, and so does --world: write the program "
                           "alone after --: tidemark run --device virtual:CARDxN --world N "
                           "--ranks LIST -- python train.py",
                           starter);
}

static size_t count_cards(const char *cards) {
    size_t n = 1;
    for (const char *at = strchr(cards, '+'); at != NULL; at = strchr(at + 1, '+')) {
        n++;
    }
    return n;
}

tide_status tide_launch_world(const tide_launch_config *config, const tide_launch *launch,
                              const tide_launch_program *program, tide_launch_world_command *ret,
                              tide_error *error) {
    tide_launch_program python = *program;
    size_t n = 0;
    TIDE_TRY(tide_launch_check_world(config->arguments, error));
    if (!is_python(program->interpreter)) {
        TIDE_TRY(tide_launch_find_program("python3", &python, error));
    } else if (!is_python(program->path)) { /* a script */
        memcpy(python.path, program->interpreter, sizeof(python.path));
    }
    memcpy(ret->path, python.path, sizeof(ret->path));
    (void)snprintf(ret->launcher, sizeof(ret->launcher), "%s/tidemark/cluster", launch->python);
    (void)snprintf(ret->world, sizeof(ret->world), "%lld", (long long)config->world);
    (void)snprintf(ret->cards, sizeof(ret->cards), "%zu", count_cards(config->cards));
    tide_text ranks = tide_text_in(ret->ranks, sizeof(ret->ranks));
    tide_ranks_write(config->ranks->ranks, config->ranks->n, &ranks);
    char *const before[] = {ret->path,  "-I",      "-S",       "-B",      ret->launcher, "--world",
                            ret->world, "--ranks", ret->ranks, "--cards", ret->cards,    "--"};
    size_t n_before = sizeof(before) / sizeof(before[0]);
    while (config->arguments[n] != NULL) {
        n++;
    }
    const tide_hostmem *mem = tide_hostmem_default();
    ret->arguments = tide_hostmem_zeroed(mem, n_before + n + 1, sizeof(*ret->arguments));
    if (ret->arguments == NULL) {
        return tide_fail(error, TIDE_NO_MEMORY, "the host has no memory left for the command");
    }
    memcpy(ret->arguments, before, sizeof(before));
    memcpy(ret->arguments + n_before, config->arguments, n * sizeof(*ret->arguments));
    return TIDE_OK;
}
