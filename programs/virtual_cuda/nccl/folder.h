/* folder.h - small files of the run's folder that ranks use to exchange data.
 *
 * They are opened by system calls, as in run_folder.h.
 */
#ifndef TIDE_VIRTUAL_CUDA_NCCL_FOLDER_H
#define TIDE_VIRTUAL_CUDA_NCCL_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

enum { TIDE_VC_FILE_NAME_BYTES = 96 };

/* Writes a file that no process reads yet. False: it could not be written whole, and is removed. */
bool tide_vc_folder_write(const char *name, const void *bytes, size_t n_bytes);

/* Reads exactly n_bytes of the file. False: it does not exist, or is shorter. */
bool tide_vc_folder_read(const char *name, void *to, size_t n_bytes);

void tide_vc_folder_remove(const char *name);

/* Maps n_bytes of a file that several processes share; unwritten bytes are zero. NULL: there is no
 * folder, or no memory. */
void *tide_vc_folder_map(const char *name, size_t n_bytes);
void tide_vc_folder_unmap(void *at, size_t n_bytes);

#endif
