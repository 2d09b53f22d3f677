#include "snapshot/explain/words/reserved_words.h"

#include <string.h>

#include "snapshot/explain/causes/causes_friend.h"

enum {
    PART_PERCENT = 5, /* of the free memory: smaller parts are not named */
    MOST_PARTS = 2    /* that are named */
};

static const char *const PLACES[TIDE_N_RESERVED] = {
    [TIDE_RESERVED_MAIN] = "in the main stream's cache",
    [TIDE_RESERVED_STREAMS] = "in the caches of other streams",
    [TIDE_RESERVED_POOLS] = "in private pools of CUDA graphs, for their replays",
    [TIDE_RESERVED_OWN] = "in private pools of the program"};

static bool is_explained(const tide_causes *causes) {
    size_t n = causes->n_causes < TIDE_MOST_CAUSES ? causes->n_causes : TIDE_MOST_CAUSES;
    for (size_t i = 0; i < n; i++) {
        if (causes->causes[i].is_of_reserved ||
            strcmp(causes->causes[i].id, "fragmentation") == 0) {
            return true;
        }
    }
    return false;
}

/* The kinds by their free bytes, most first. */
static void sort(const tide_reserved *reserved, size_t kinds[TIDE_N_RESERVED]) {
    for (size_t i = 0; i < TIDE_N_RESERVED; i++) {
        size_t at = i;
        for (; at > 0 && reserved->parts[kinds[at - 1]].free_bytes < reserved->parts[i].free_bytes;
             at--) {
            kinds[at] = kinds[at - 1];
        }
        kinds[at] = i;
    }
}

static void add_parts(const tide_reserved *reserved, const size_t kinds[TIDE_N_RESERVED],
                      int64_t free_bytes, tide_text *to) {
    char bytes[TIDE_BYTES_TEXT];
    for (size_t i = 0; i < MOST_PARTS; i++) {
        const tide_reserved_part *part = &reserved->parts[kinds[i]];
        if (part->free_bytes <= free_bytes / 100 * PART_PERCENT) {
            continue;
        }
        tide_text_add(to, "%s%s %s", i == 0 ? ": " : " and ",
                      tide_bytes_format(part->free_bytes, bytes), PLACES[kinds[i]]);
    }
}

void tide_reserved_words_add(const tide_facts *facts, const tide_causes *causes, tide_text *to) {
    const tide_reserved *reserved = &facts->reserved;
    char all[TIDE_BYTES_TEXT];
    char unused[TIDE_BYTES_TEXT];
    char place[TIDE_PLACE_TEXT];
    size_t kinds[TIDE_N_RESERVED] = {0};
    int64_t free_bytes = reserved->bytes - reserved->allocated_bytes;
    if (!tide_reserved_is_spare(reserved) || is_explained(causes)) {
        return;
    }
    sort(reserved, kinds);
    const tide_reserved_part *most = &reserved->parts[kinds[0]];
    bool is_one = most->free_bytes > free_bytes / 100 * (100 - PART_PERCENT);
    tide_text_add(to, "When most was reserved, %s, %s of it held no tensor",
                  tide_bytes_format(reserved->bytes, all), tide_bytes_format(free_bytes, unused));
    if (is_one) {
        tide_text_add(to, ": it was %s", PLACES[kinds[0]]);
    } else {
        add_parts(reserved, kinds, free_bytes, to);
    }
    tide_text_add(to, ". The largest piece was %s", tide_bytes_format(most->largest_bytes, unused));
    if (most->line != TIDE_NONE) {
        tide_text_add(to, ", and %s requested most of this memory",
                      tide_cause_place(facts, most->line, place));
    }
    tide_text_add(to, ".");
}
