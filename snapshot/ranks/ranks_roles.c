/* Which ranks should be equal: by where they stand in the job's process groups. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "common/text/text.h"
#include "snapshot/ranks/ranks_internal.h"

enum { NAME_BYTES = 256 };

/* Whether the word stands in the text by itself, whatever its case. */
static bool has_word(const char *text, const char *word) {
    size_t n = strlen(word);
    for (const char *at = text; *at != '\0'; at++) {
        size_t same = 0;
        while (same < n && tolower((unsigned char)at[same]) == word[same]) {
            same++;
        }
        bool begins = at == text || !isalnum((unsigned char)at[-1]);
        if (same == n && begins && !isalnum((unsigned char)at[n])) {
            return true;
        }
    }
    return false;
}

static bool is_stage(const tide_snapshot_group *group) {
    return has_word(group->name, "pp") || has_word(group->description, "pp") ||
           has_word(group->name, "pipeline") || has_word(group->description, "pipeline") ||
           has_word(group->name, "stage") || has_word(group->description, "stage");
}

static bool is_experts(const tide_snapshot_group *group) {
    return has_word(group->name, "ep") || has_word(group->description, "ep") ||
           has_word(group->name, "expert") || has_word(group->description, "expert");
}

static bool is_part(const tide_snapshot_group *group) {
    return group->size > 1 && group->position >= 0 && group->position < group->size;
}

static void add_positions(const tide_digest *digest, const char *word, const char *name,
                          bool (*is_asked)(const tide_snapshot_group *group), tide_text *to) {
    for (size_t i = 0; i < digest->rank.n_groups; i++) {
        const tide_snapshot_group *group = &digest->rank.groups[i];
        bool fits = is_asked != NULL ? is_asked(group) : strcmp(group->name, name) == 0;
        if (fits && is_part(group)) {
            tide_text_add_item(to, ", ", "%s %" PRId64 " of %" PRId64, word, group->position,
                               group->size);
            return;
        }
    }
}

const char *tide_ranks_group_name(const tide_digest *digest, const char *group_by,
                                  tide_arena *arena) {
    char name[NAME_BYTES];
    tide_text to = tide_text_in(name, sizeof(name));
    if (strcmp(group_by, "host") == 0) {
        tide_text_add(&to, "%s", digest->node);
    } else if (strcmp(group_by, "role") == 0 || strcmp(group_by, "stage") == 0) {
        add_positions(digest, "stage", NULL, is_stage, &to);
        if (strcmp(group_by, "role") == 0) {
            add_positions(digest, "experts", NULL, is_experts, &to);
        }
    } else if (strcmp(group_by, "none") != 0) {
        add_positions(digest, group_by, group_by, NULL, &to);
    }
    return tide_arena_text(arena, to.n_used > 0 ? name : "all");
}

const char *tide_ranks_place(const tide_digest *digest, tide_arena *arena) {
    char place[NAME_BYTES] = "";
    tide_text to = tide_text_in(place, sizeof(place));
    for (size_t i = 0; i < digest->rank.n_groups; i++) {
        const tide_snapshot_group *group = &digest->rank.groups[i];
        bool is_edge = group->position == 0 || group->position == group->size - 1;
        if (is_part(group) && is_edge && !is_stage(group) && !is_experts(group)) {
            tide_text_add_item(&to, ", ", "%s %s", group->name,
                               group->position == 0 ? "first" : "last");
        }
    }
    return tide_arena_text(arena, place);
}
