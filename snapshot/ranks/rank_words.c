#include "snapshot/ranks/rank_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/assert.h"
#include "snapshot/explain/causes/causes.h"

static const char CAUSE[] = "cause"; /* key of the causes in the sentences of an answer */

enum { NAMED = 3, WHO_BYTES = 512, FOLD_BYTES = 4096 };

/* ---- sentences without figures ---- */

/* Bytes of "1,234.56" at the text; 0: no number. */
static size_t number_at(const char *text) {
    size_t n = strspn(text, "0123456789");
    return n == 0 ? 0 : n + strspn(text + n, "0123456789.,");
}

/* Bytes of " GiB" at the text; 0: no unit. */
static size_t unit_at(const char *text) {
    static const char *const UNITS[] = {" GiB", " MiB", " KiB", " TiB", " bytes", " byte"};
    for (size_t i = 0; i < sizeof(UNITS) / sizeof(UNITS[0]); i++) {
        size_t n = strlen(UNITS[i]);
        if (strncmp(text, UNITS[i], n) == 0) {
            return n;
        }
    }
    return 0;
}

void tide_rank_sentence_add_fold(const char *sentence, tide_text *to) {
    for (const char *at = sentence; *at != '\0';) {
        /* The number of a line or in a name has another character before it. */
        bool may_begin = at == sentence || strchr(" (", at[-1]) != NULL;
        size_t n = may_begin ? number_at(at) : 0;
        if (n == 0) {
            n = 1 + strcspn(at + 1, "0123456789");
            tide_text_add(to, "%.*s", (int)n, at);
            at += n;
            continue;
        }
        bool has_dot = at[n - 1] == '.' || at[n - 1] == ','; /* of the sentence */
        n -= has_dot ? 1 : 0;
        tide_text_add(to, "#");
        at += n + unit_at(at + n);
    }
}

/* ---- groups ---- */

/* A sentence of a rank. */
typedef struct entry {
    const tide_digest_sentence *sentence;
    const char *fold;
    int place;       /* of its key in the answer */
    size_t rank;     /* index of the answer .. */
    size_t position; /* .. and of the sentence in it */
} entry;

int tide_rank_sentence_place(const char *key) {
    /* As in snapshot/explain/words/answer.h: each key has a place of its own. */
    static const char *const KEYS[] = {
        "refusal",   "oom",           "cause",         "oom_cause", "assumed_limit", "assumed",
        "retries",   "filled",        "kinds",         "kv_pool",   "xla",           "xla_arrays",
        "xla_flags", "assumed_value", "assumed_count", "reserved",  "work_areas"};
    int n = (int)(sizeof(KEYS) / sizeof(KEYS[0]));
    int i = 0;
    while (i < n && strcmp(KEYS[i], key) != 0) {
        i++;
    }
    return i;
}

static int order_of(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int by_fold(const void *left, const void *right) {
    const entry *a = left;
    const entry *b = right;
    int order = a->place - b->place;
    order = order != 0 ? order : strcmp(a->sentence->key, b->sentence->key);
    order = order != 0 ? order : strcmp(a->fold, b->fold);
    order = order != 0 ? order : order_of((int64_t)a->rank, (int64_t)b->rank);
    return order != 0 ? order : order_of((int64_t)a->position, (int64_t)b->position);
}

static int by_ranks(const void *left, const void *right) {
    const tide_rank_sentence *a = left;
    const tide_rank_sentence *b = right;
    int order = tide_rank_sentence_place(a->key) - tide_rank_sentence_place(b->key);
    order = order != 0 ? order : -order_of((int64_t)a->n_ranks, (int64_t)b->n_ranks);
    order = order != 0 ? order : order_of((int64_t)a->position, (int64_t)b->position);
    order = order != 0 ? order : order_of((int64_t)a->ranks[0], (int64_t)b->ranks[0]);
    return order != 0 ? order : strcmp(a->text, b->text);
}

static void add_name(const tide_rank_answer *answer, bool has_word, tide_text *to) {
    if (answer->rank < 0) {
        tide_text_add(to, "%.64s", answer->name);
    } else {
        tide_text_add(to, "%s%" PRId64, has_word ? "rank " : "", answer->rank);
    }
}

static void add_who(const tide_rank_answer *answers, const tide_rank_sentence *of, size_t n_all,
                    tide_text *to) {
    if (of->n_ranks == n_all && n_all > NAMED) {
        tide_text_add(to, "all %zu ranks", n_all);
        return;
    }
    if (of->n_ranks > NAMED) {
        tide_text_add(to, "%zu of %zu ranks", of->n_ranks, n_all);
        return;
    }
    for (size_t i = 0; i < of->n_ranks; i++) {
        bool is_last = i + 1 == of->n_ranks;
        const tide_rank_answer *answer = &answers[of->ranks[i]];
        tide_text_add(to, "%s%s",
                      i == 0    ? ""
                      : is_last ? " and "
                                : ", ",
                      i == 0 && of->n_ranks > 1 && answer->rank >= 0 ? "ranks " : "");
        add_name(answer, of->n_ranks == 1, to);
    }
}

/* The rank with the highest peak among entries of one sentence; of equal ones, the first. */
static const entry *fullest_of(const tide_rank_answer *answers, const entry *entries, size_t n) {
    const entry *best = &entries[0];
    for (size_t i = 1; i < n; i++) {
        best = answers[entries[i].rank].peak_bytes > answers[best->rank].peak_bytes ? &entries[i]
                                                                                    : best;
    }
    return best;
}

static tide_status fill(const tide_rank_answer *answers, const entry *entries, size_t n,
                        size_t n_all, tide_arena *arena, tide_rank_sentence *to) {
    char who[WHO_BYTES];
    char name[WHO_BYTES] = "";
    tide_text who_text = tide_text_in(who, sizeof(who));
    tide_text name_text = tide_text_in(name, sizeof(name));
    const entry *fullest = fullest_of(answers, entries, n);
    size_t *ranks = tide_arena_alloc(arena, n, sizeof(*ranks));
    bool is_same = true;
    if (ranks == NULL) {
        return TIDE_NO_MEMORY;
    }
    size_t n_ranks = 0;
    for (size_t i = 0; i < n; i++) {
        is_same = is_same && strcmp(entries[i].sentence->text, entries[0].sentence->text) == 0;
        if (n_ranks == 0 || ranks[n_ranks - 1] != entries[i].rank) {
            ranks[n_ranks++] = entries[i].rank;
        }
    }
    *to = (tide_rank_sentence){.key = fullest->sentence->key,
                               .text = fullest->sentence->text,
                               .ranks = ranks,
                               .n_ranks = n_ranks,
                               .position = entries[0].position};
    add_who(answers, to, n_all, &who_text);
    if (!is_same && n_ranks > 1) {
        add_name(&answers[fullest->rank], true, &name_text);
    }
    to->who = tide_arena_text(arena, who);
    to->fullest = tide_arena_text(arena, name);
    return to->who != NULL && to->fullest != NULL ? TIDE_OK : TIDE_NO_MEMORY;
}

/* The number of entries of the first one's sentence. */
static size_t same_from(const entry *entries, size_t n) {
    size_t n_same = 1;
    while (n_same < n && entries[n_same].place == entries[0].place &&
           strcmp(entries[n_same].sentence->key, entries[0].sentence->key) == 0 &&
           strcmp(entries[n_same].fold, entries[0].fold) == 0) {
        n_same++;
    }
    return n_same;
}

tide_status tide_rank_answer_make(const tide_digest_explained *explained, tide_arena *arena,
                                  tide_rank_answer *ret) {
    size_t n = 0;
    tide_digest_sentence *rows =
        tide_arena_alloc(arena, explained->n_causes + explained->n_sentences, sizeof(*rows));
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < explained->n_causes && i < TIDE_MOST_CAUSES; i++) {
        rows[n++] = (tide_digest_sentence){CAUSE, explained->causes[i].text};
    }
    for (size_t i = 0; i < explained->n_sentences; i++) {
        if (strcmp(explained->sentences[i].key, CAUSE) != 0) {
            rows[n++] = explained->sentences[i];
        }
    }
    ret->sentences = rows;
    ret->n_sentences = n;
    return TIDE_OK;
}

static tide_status list_entries(const tide_rank_answer *answers, size_t n, tide_arena *arena,
                                entry *entries) {
    size_t n_entries = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t s = 0; s < answers[i].n_sentences; s++) {
            char bytes[FOLD_BYTES] = "";
            tide_text fold = tide_text_in(bytes, sizeof(bytes));
            const tide_digest_sentence *sentence = &answers[i].sentences[s];
            tide_rank_sentence_add_fold(sentence->text, &fold);
            const char *copy = tide_arena_text(arena, bytes);
            if (copy == NULL) {
                return TIDE_NO_MEMORY;
            }
            entries[n_entries++] =
                (entry){sentence, copy, tide_rank_sentence_place(sentence->key), i, s};
        }
    }
    return TIDE_OK;
}

tide_status tide_rank_sentences_make(const tide_rank_answer *answers, size_t n, size_t n_all,
                                     tide_arena *arena, tide_rank_sentences *ret) {
    size_t n_entries = 0;
    for (size_t i = 0; i < n; i++) {
        n_entries += answers[i].n_sentences;
    }
    entry *entries = tide_arena_alloc(arena, n_entries, sizeof(*entries));
    ret->n_rows = 0;
    ret->rows = tide_arena_alloc(arena, n_entries, sizeof(*ret->rows));
    if (entries == NULL || ret->rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    TIDE_TRY(list_entries(answers, n, arena, entries));
    if (n_entries > 0) {
        qsort(entries, n_entries, sizeof(*entries), by_fold);
    }
    for (size_t i = 0; i < n_entries;) {
        size_t n_same = same_from(&entries[i], n_entries - i);
        TIDE_ASSERT(ret->n_rows < n_entries);
        TIDE_TRY(fill(answers, &entries[i], n_same, n_all, arena, &ret->rows[ret->n_rows++]));
        i += n_same;
    }
    if (ret->n_rows > 0) {
        qsort(ret->rows, ret->n_rows, sizeof(*ret->rows), by_ranks);
    }
    return TIDE_OK;
}

void tide_rank_sentence_add(const tide_rank_sentence *sentence, tide_text *to) {
    tide_text_add(to, "%s", sentence->who);
    if (sentence->fullest[0] != '\0') {
        tide_text_add(to, " (figures of %s)", sentence->fullest);
    }
    tide_text_add(to, ": %s", sentence->text);
}
