/* job.h - the ranks of the job that this process belongs to, and the groups that they form.
 *
 * `tidemark run --world N --ranks LIST` starts some ranks of a larger world, and names them in the
 * environment:
 *
 *   TIDEMARK_WORLD           ranks of the whole world; absent: all ranks run
 *   TIDEMARK_PRESENT_RANKS   those that run: "0,7,511,1023"
 *   RANK                     this process' own rank, as torchrun sets it
 *
 * A communicator numbers its members from 0. The rank of the world that a member has follows from
 * the groups that the program makes; python/tidemark announces each group before NCCL hears of it.
 * PyTorch 2.14 names a communicator after its group, "DESCRIPTION:NAME". PyTorch 2.11 and before do
 * not, and then a group is used only if no other one fits. Thread-safe.
 */
#ifndef TIDE_VIRTUAL_CUDA_NCCL_JOB_H
#define TIDE_VIRTUAL_CUDA_NCCL_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* This process' rank of the world; -1 if unknown. */
int64_t tide_vc_job_rank(void);

/* Whether some ranks of the world do not run. */
bool tide_vc_job_has_absent(void);
bool tide_vc_job_is_present(int64_t rank);
size_t tide_vc_job_n_present(void); /* 0: all */

/* The ranks of the world that a communicator of n members has, in which this process is number
 * `own`: the group of that name; else the only announced group that fits; else, if the world has n
 * ranks, the world. `name` is the communicator's, or NULL. From malloc; NULL if unknown. */
int64_t *tide_vc_job_members(int n, int own, const char *name);

/* The same for a communicator of unknown length. Without a group of that name, the newest group in
 * which this process is number `own`. */
int64_t *tide_vc_job_split(int own, const char *name, int *ret_n);

/* ---- for python/tidemark, by name ---- */

/* The program is about to make a process group of these ranks of the world, in this order; `name`
 * is PyTorch's, or NULL. Both are copied. */
void tidemark_ranks_group(const int64_t *ranks, size_t n, const char *name);

#endif
