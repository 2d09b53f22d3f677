/* run_folder.h - files of the run's folder, which `tidemark run` makes and names in the
 * environment.
 *
 * They are opened by the system call itself, because another preloaded library may keep the
 * program's writes away from the disk, and these files must reach it.
 */
#ifndef TIDE_VIRTUAL_CUDA_RUN_FOLDER_H
#define TIDE_VIRTUAL_CUDA_RUN_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the environment names a folder. */
bool tide_vc_has_run_folder(void);

/* Opens the file NAME of the folder with these flags and O_CLOEXEC, with mode 0600 if it is
 * created. -1: there is no folder, or it cannot be opened. */
int tide_vc_run_open(const char *name, int flags);

/* Whether files may grow to n_bytes here (ulimit -f). Ask before a file grows: beyond the limit the
 * system ends the program with SIGXFSZ. */
bool tide_vc_may_reach(uint64_t n_bytes);

#endif
