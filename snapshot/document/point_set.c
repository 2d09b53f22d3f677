#include "snapshot/document/point_set_friend.h"

#include "common/assert.h"

enum { WORD_BITS = 64 };

tide_status tide_point_set_init(tide_point_set *set, size_t bound, tide_arena *arena) {
    *set = (tide_point_set){.n_levels = 0};
    size_t n = bound > 0 ? bound : 1;
    do {
        if (set->n_levels == TIDE_POINT_LEVELS) {
            return TIDE_LIMIT;
        }
        n = (n + WORD_BITS - 1) / WORD_BITS;
        /* One word more than needed: a search may read the word after the last. */
        uint64_t *words = tide_arena_alloc(arena, n + 1, sizeof(*words));
        if (words == NULL) {
            return TIDE_NO_MEMORY;
        }
        set->words[set->n_levels++] = words;
    } while (n > 1);
    return TIDE_OK;
}

void tide_point_set_insert(tide_point_set *set, size_t point) {
    for (size_t level = 0; level < set->n_levels; level++) {
        set->words[level][point / WORD_BITS] |= UINT64_C(1) << (point % WORD_BITS);
        point /= WORD_BITS;
    }
}

void tide_point_set_remove(tide_point_set *set, size_t point) {
    for (size_t level = 0; level < set->n_levels; level++) {
        uint64_t *word = &set->words[level][point / WORD_BITS];
        *word &= ~(UINT64_C(1) << (point % WORD_BITS));
        if (*word != 0) {
            return;
        }
        point /= WORD_BITS;
    }
}

static unsigned lowest_bit(uint64_t word) {
    TIDE_ASSERT(word != 0); /* a bit of one level represents a word of the level below */
    unsigned bit = 0;
    for (unsigned half = WORD_BITS / 2; half > 0; half /= 2) {
        if ((word & ((UINT64_C(1) << half) - 1)) == 0) {
            word >>= half;
            bit += half;
        }
    }
    return bit;
}

static unsigned highest_bit(uint64_t word) {
    TIDE_ASSERT(word != 0);
    unsigned bit = 0;
    for (unsigned half = WORD_BITS / 2; half > 0; half /= 2) {
        if (word >> half != 0) {
            word >>= half;
            bit += half;
        }
    }
    return bit;
}

bool tide_point_set_above(const tide_point_set *set, size_t point, size_t *ret_point) {
    for (size_t level = 0; level < set->n_levels; level++) {
        size_t first = point + 1; /* the next point of this level */
        uint64_t word = set->words[level][first / WORD_BITS] >> (first % WORD_BITS);
        if (word != 0) {
            first += lowest_bit(word);
            while (level-- > 0) {
                first = first * WORD_BITS + lowest_bit(set->words[level][first]);
            }
            *ret_point = first;
            return true;
        }
        point = first / WORD_BITS; /* go up a level: the rest of this word is empty */
    }
    return false;
}

bool tide_point_set_at_or_below(const tide_point_set *set, size_t point, size_t *ret_point) {
    for (size_t level = 0; level < set->n_levels; level++) {
        unsigned shift = (unsigned)(WORD_BITS - 1 - point % WORD_BITS);
        uint64_t word = set->words[level][point / WORD_BITS] << shift;
        if (word != 0) {
            point = point - (WORD_BITS - 1 - highest_bit(word));
            while (level-- > 0) {
                point = point * WORD_BITS + highest_bit(set->words[level][point]);
            }
            *ret_point = point;
            return true;
        }
        if (point < WORD_BITS) {
            return false;
        }
        point = point / WORD_BITS - 1;
    }
    return false;
}
