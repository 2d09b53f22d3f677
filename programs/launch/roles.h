/* roles.h - which ranks of a world are worth running, by the process groups that one of them made.
 *
 * Ranks of one role do the same. Roles that can differ in memory: the first and the last rank, each
 * stage of a pipeline, each place among experts, and the last member of any other group, which has
 * what is left over when something is not divided evenly. This is a choice, and no proof: a program
 * may do anything on any rank.
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
    size_t n_left_out;  /* members of groups with more than 8: not all of them are chosen */
    size_t n_irregular; /* groups whose members are no regular row: none of them is chosen */
} tide_roles;

/* The groups are those of one process. */
void tide_roles_choose(const tide_left_group *groups, size_t n_groups, int64_t world,
                       tide_roles *ret);

/* What a program's author calls the group: "pp" of a mesh's dimension "mesh_pp". */
const char *tide_roles_group_name(const tide_left_group *group);

#ifdef __cplusplus
}
#endif

#endif
