/* launch_internal.h - the parts of a launch, one file each.
 */
#ifndef TIDE_LAUNCH_INTERNAL_H
#define TIDE_LAUNCH_INTERNAL_H

#include <signal.h>
#include <sys/types.h>

#include "common/hostmem.h"
#include "programs/launch/launch.h"

/* The file that a command names. */
typedef struct tide_launch_program {
    char path[TIDE_LAUNCH_PATH_BYTES];        /* the file that is executed */
    char interpreter[TIDE_LAUNCH_PATH_BYTES]; /* runs it if it is a script; otherwise the same */
} tide_launch_program;

/* program.c: finds the file that the command names, as a shell does. Checks that libraries can be
 * preloaded into it, and that the virtual card supports a Python's PyTorch. TIDE_INVALID,
 * TIDE_UNSUPPORTED: no. */
TIDE_NODISCARD tide_status tide_launch_find_program(const char *command,
                                                    tide_launch_program *ret_program,
                                                    tide_error *error);

/* elf.c: whether libraries can be preloaded into the open program. */
TIDE_NODISCARD tide_status tide_launch_check_elf(int fd, const char *path, tide_error *error);
/* Whether Go's linker made the program: Go programs make system calls themselves. */
bool tide_launch_is_go(const char *path);
/* The dynamic linker that a 64-bit program asks for. False: the file cannot be read, or asks for
 * none. */
bool tide_launch_read_linker(const char *path, char *ret_linker, size_t n_room);

/* Our replacement of NVIDIA's program of that name, in the folder of the objects. */
#define TIDE_LAUNCH_SMI "nvidia-smi"
/* The command of the config. On virtual cards, nvidia-smi becomes the path of our replacement,
 * written to ret_path. */
const char *tide_launch_command(const tide_launch_config *config,
                                char ret_path[2 * TIDE_LAUNCH_PATH_BYTES]);
/* Whether the object that keeps writes away is in the folder of the virtual card's; builds with a
 * sanitizer do not have it. TIDE_UNSUPPORTED: it is missing and needed. */
bool tide_launch_has_scratch(const tide_launch *launch);
TIDE_NODISCARD tide_status tide_launch_check_scratch(const tide_launch *launch,
                                                     const tide_launch_config *config,
                                                     tide_error *error);

/* folder.c: makes the folder of the run, and starts the process that removes it. `has_card`: the
 * names under which programs look for the driver lead to the virtual card. */
TIDE_NODISCARD tide_status tide_launch_make_folder(tide_launch *launch, bool has_card,
                                                   tide_error *error);
void tide_launch_remove_folder(tide_launch *launch);

/* links.c. Chooses the folder of the links, if one is needed, and stores its path in `links`,
 * otherwise "". TIDE_UNSUPPORTED: no place allows it. */
TIDE_NODISCARD tide_status tide_launch_choose_links(tide_launch *launch, bool has_card,
                                                    tide_error *error);
/* Makes the links, and puts their paths into `objects`, `python` and `library`. */
TIDE_NODISCARD tide_status tide_launch_make_links(tide_launch *launch, tide_error *error);

/* probe.c. Proves that the libraries of the environment will be loaded into `program`, and that the
 * view of files works in a process of the run. TIDE_UNSUPPORTED with the reason if not. Does not
 * start the user's program. */
TIDE_NODISCARD tide_status tide_launch_prove(const tide_launch *launch,
                                             const tide_launch_config *config, const char *program,
                                             char *const *environment, tide_error *error);

/* world.c. The command that runs some ranks of a larger world. */
typedef struct tide_launch_world_command {
    char **arguments; /* owned; its texts are those below and the configuration's */
    char path[TIDE_LAUNCH_PATH_BYTES];
    char launcher[2 * TIDE_LAUNCH_PATH_BYTES];
    char ranks[TIDE_RANKS_TEXT_BYTES];
    char world[24], cards[24];
} tide_launch_world_command;

/* `program`: named by the user's command. The caller releases the arguments. */
TIDE_NODISCARD tide_status tide_launch_world(const tide_launch_config *config,
                                             const tide_launch *launch,
                                             const tide_launch_program *program,
                                             tide_launch_world_command *ret, tide_error *error);

/* environment.c: the environment of the program, NULL-terminated; release it with
 * tide_launch_environment_release. NULL: no host memory. */
char **tide_launch_environment(const tide_launch *launch, const tide_launch_config *config);
void tide_launch_environment_release(char **environment);

/* child.c: starts `path` and waits for its end. */
TIDE_NODISCARD tide_status tide_launch_child(const char *path, char **environment,
                                             const tide_launch_config *config, tide_launch *launch,
                                             tide_error *error);

#endif
