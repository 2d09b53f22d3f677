#include "programs/launch/roles.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/text/text.h"

enum { MAX_MEMBERS = 8 }; /* the largest group of which all are chosen */

#define MESH "mesh_" /* before the name of a dimension of PyTorch's DeviceMesh */

const char *tide_roles_group_name(const tide_left_group *group) {
    const char *name = group->description[0] != '\0' ? group->description : group->name;
    return strncmp(name, MESH, strlen(MESH)) == 0 ? name + strlen(MESH) : name;
}

/* Whether the text has the word as a separate part: "pp" in "dp_pp", not in "app". */
static bool has_word(const char *text, const char *word) {
    static const char SEPARATORS[] = "_-. :/";
    size_t n = strlen(word);
    while (*text != '\0') {
        size_t n_here = strcspn(text, SEPARATORS);
        if (n_here == n && strncasecmp(text, word, n) == 0) {
            return true;
        }
        text += n_here + (text[n_here] != '\0');
    }
    return false;
}

static bool is_pipeline(const tide_left_group *group) {
    const char *name = tide_roles_group_name(group);
    return group->sends || has_word(name, "pp") || has_word(name, "pipe") ||
           has_word(name, "pipeline");
}

static bool is_of_experts(const tide_left_group *group) {
    const char *name = tide_roles_group_name(group);
    return has_word(name, "ep") || has_word(name, "expert") || has_word(name, "experts") ||
           has_word(name, "moe");
}

/* A rank that is chosen twice keeps both reasons. */
static void add(tide_roles *to, int64_t rank, const char *why) {
    size_t at = 0;
    while (at < to->n && to->roles[at].rank < rank) {
        at++;
    }
    if (at == to->n || to->roles[at].rank != rank) {
        if (to->n == TIDE_ROLES_MAX) {
            to->n_left_out++;
            return;
        }
        memmove(&to->roles[at + 1], &to->roles[at], (to->n - at) * sizeof(*to->roles));
        to->roles[at] = (tide_role){.rank = rank};
        to->n++;
    }
    char before[TIDE_ROLE_WHY_BYTES];
    memcpy(before, to->roles[at].why, sizeof(before));
    tide_text text = tide_text_in(to->roles[at].why, sizeof(to->roles[at].why));
    tide_text_add(&text, "%s", before);
    tide_text_add_item(&text, ", ", "%s", why);
}

/* All members; of a large group the first two, the middle and the last. */
static void add_members(tide_roles *to, const tide_left_group *group, const char *what) {
    int64_t n = group->size;
    for (int64_t i = 0; i < n; i++) {
        char why[TIDE_ROLE_WHY_BYTES];
        if (n > MAX_MEMBERS && i > 1 && i != n / 2 && i != n - 1) {
            to->n_left_out++;
            continue;
        }
        snprintf(why, sizeof(why), "%s %lld of %lld of %s", what, (long long)i + 1, (long long)n,
                 tide_roles_group_name(group));
        add(to, group->first + i * group->stride, why);
    }
}

static void add_last(tide_roles *to, const tide_left_group *group) {
    char why[TIDE_ROLE_WHY_BYTES];
    snprintf(why, sizeof(why), "the last of %s", tide_roles_group_name(group));
    add(to, group->first + (group->size - 1) * group->stride, why);
}

void tide_roles_choose(const tide_left_group *groups, size_t n_groups, int64_t world,
                       tide_roles *ret) {
    *ret = (tide_roles){.n = 0};
    add(ret, 0, "the first");
    add(ret, world - 1, "the last");
    for (size_t i = 0; i < n_groups; i++) {
        const tide_left_group *group = &groups[i];
        bool is_of_all = group->size >= world && (!group->sends || group->size > MAX_MEMBERS);
        if (group->size < 2 || is_of_all) {
            continue; /* a group of all ranks: its first and last are chosen already */
        }
        if (group->stride <= 0) {
            ret->n_irregular++;
        } else if (is_pipeline(group)) {
            add_members(ret, group, "stage");
        } else if (is_of_experts(group)) {
            add_members(ret, group, "part");
        } else {
            add_last(ret, group);
        }
    }
}
