/* roles.h - chooses the ranks of a world that are worth running, from the process groups of one
 * rank.
 *
 * Ranks of one role do the same. Roles that can differ in memory: the first and the last rank, each
 * stage of a pipeline, each place among experts, and the last member of any other group, which gets
 * the remainder of uneven divisions. This is a heuristic, not a proof: a program may do anything on
 * any rank.
 */
#ifndef TIDE_LAUNCH_ROLES_H
#define TIDE_LAUNCH_ROLES_H

#include <stddef.h>
#include <stdint.h>

#include "programs/launch/left/left.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TIDE_ROLES_MAX = 64, TIDE_ROLE_WHY_BYTES = 128 };

typedef struct tide_role {
    int64_t rank;
    char why[TIDE_ROLE_WHY_BYTES]; /* "stage 2 of 4 of pp" */
} tide_role;

typedef struct tide_roles {
    tide_role roles[TIDE_ROLES_MAX]; /* by rank, each once */
    size_t n;
    size_t n_left_out;  /* members of groups with more than 8 that were not chosen */
    size_t n_irregular; /* groups whose members are irregular: none of them is chosen */
} tide_roles;

/* The groups are those of one process. */
void tide_roles_choose(const tide_left_group *groups, size_t n_groups, int64_t world,
                       tide_roles *ret);

/* The author's name of the group: "pp" for a mesh's dimension "mesh_pp". */
const char *tide_roles_group_name(const tide_left_group *group);

#ifdef __cplusplus
}
#endif

#endif
