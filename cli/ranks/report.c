/* The report on the ranks. */
#include <inttypes.h>
#include <string.h>

#include "cli/ranks/internal.h"
#include "common/text/plural.h"

static const tide_digest_device *device_of(const tide_ranks *ranks, const tide_rank_fold *fold) {
    return ranks->ranks[fold->first].device;
}

/* "rank 3", "ranks 0-2", "model.pickle". */
static const char *who(tide_report *report, const tide_ranks *ranks, const tide_rank_fold *fold) {
    bool is_rank = ranks->ranks[fold->first].digest->rank.rank >= 0;
    return tide_report_text(report, "%s%s",
                            !is_rank      ? ""
                            : fold->n > 1 ? "ranks "
                                          : "rank ",
                            fold->ranks);
}

static const tide_rank_fold *fold_of(const tide_ranks *ranks, size_t rank) {
    for (size_t f = 0; f < ranks->n_folds; f++) {
        const tide_rank_fold *fold = &ranks->folds[f];
        if (fold->group == ranks->ranks[rank].group &&
            tide_ranks_are_equal(&ranks->ranks[fold->first], &ranks->ranks[rank])) {
            return fold;
        }
    }
    return NULL;
}

static void say_given(tide_report *report, const tide_ranks *ranks) {
    if (ranks->n_missing > 0) {
        tide_report_say(report, "given",
                        "%zu of %" PRId64 " ranks were given; nothing is known of the other %zu",
                        (size_t)ranks->world_size - ranks->n_missing, ranks->world_size,
                        ranks->n_missing);
    } else {
        tide_report_say(report, "given", "%zu %s in %zu kind%s of equal figures", ranks->n_ranks,
                        tide_plural(ranks->n_ranks, "rank", "ranks"), ranks->n_folds,
                        tide_plural(ranks->n_folds, "", "s"));
    }
}

static void say_first(tide_report *report, const tide_ranks *ranks) {
    size_t first = ranks->first_out != SIZE_MAX ? ranks->first_out : ranks->least_headroom;
    const tide_rank_fold *fold = first != SIZE_MAX ? fold_of(ranks, first) : NULL;
    if (fold == NULL) {
        tide_report_say(report, "first",
                        "the size of the devices is not known, so neither is who runs out first");
        return;
    }
    const tide_digest_device *device = ranks->ranks[first].device;
    if (ranks->first_out == SIZE_MAX) {
        tide_report_say(report, "first", "%s would run out first: %s headroom of %s",
                        who(report, ranks, fold), tide_report_bytes(report, device->headroom_bytes),
                        tide_report_bytes(report, device->total_bytes));
        return;
    }
    const char *line = device->oom.line[0] != '\0' ? device->oom.line : "an unknown line";
    const tide_rank *rank = &ranks->ranks[first];
    const char *name = rank->digest->rank.rank >= 0
                           ? tide_report_text(report, "rank %" PRId64, rank->digest->rank.rank)
                           : rank->digest->file;
    int64_t asked_bytes = device->oom.requested_bytes;
    tide_report_say(report, "first", "%s ran out of memory%s at %s%s", name,
                    ranks->is_clock_known
                        ? " first"
                        : " (so did others; their clocks do not say who was first)",
                    line,
                    asked_bytes >= 0 ? tide_report_text(report, ": %s were asked for",
                                                        tide_report_bytes(report, asked_bytes))
                                     : "");
}

/* Whether the digest has an end that was no success. */
static bool has_failed(const tide_digest *digest) {
    return digest->ended[0] != '\0' && strcmp(digest->ended, "status 0") != 0;
}

/* The first process to fail, of those whose end a black box saw. Another one may have ended with
 * success before. */
static void say_ended(tide_report *report, const tide_ranks *ranks) {
    const tide_digest *first = NULL;
    size_t n_known = 0;
    bool is_one_clock = true;
    for (size_t i = 0; i < ranks->n_ranks; i++) {
        const tide_digest *digest = ranks->ranks[i].digest;
        n_known += digest->ended[0] != '\0';
        if (has_failed(digest)) {
            is_one_clock =
                is_one_clock && (first == NULL || strcmp(first->node, digest->node) == 0);
            first = first == NULL || digest->ended_unix_us < first->ended_unix_us ? digest : first;
        }
    }
    if (first == NULL) {
        return;
    }
    bool is_alone = n_known == 1;
    const char *name = first->rank.rank >= 0
                           ? tide_report_text(report, "rank %" PRId64, first->rank.rank)
                           : first->file;
    const char *among = n_known == ranks->n_ranks
                            ? ""
                            : tide_report_text(report, " of the %zu whose end is known", n_known);
    tide_report_say(report, "ended", "%s%s%s%s %s%s", name, is_alone ? " ended" : " failed first",
                    is_alone ? "" : among, is_alone ? "" : ",",
                    strncmp(first->ended, "status", strlen("status")) == 0
                        ? tide_report_text(report, "with exit %s", first->ended)
                        : tide_report_text(report, "by %s", first->ended),
                    !is_one_clock                    ? ", by the clocks of the machines"
                    : is_alone && ranks->n_ranks > 1 ? "; how the others ended is unknown"
                                                     : "");
}

/* ---- the sentences of `tidemark explain` ---- */

enum { MOST_SENTENCES = 8, SENTENCE_BYTES = 8192 };

/* Of the ranks whose digests explain them. */
static tide_status find_sentences(const tide_ranks *ranks, tide_rank_sentences *ret,
                                  size_t *ret_unexplained) {
    tide_rank_answer *answers = tide_arena_alloc(ranks->arena, ranks->n_ranks, sizeof(*answers));
    size_t n = 0;
    if (answers == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < ranks->n_ranks; i++) {
        const tide_rank *rank = &ranks->ranks[i];
        if (rank->device != NULL && rank->device->explained.is_known) {
            answers[n] = (tide_rank_answer){.rank = rank->digest->rank.rank,
                                            .name = rank->digest->file,
                                            .peak_bytes = rank->device->max.allocated_bytes};
            TIDE_TRY(tide_rank_answer_make(&rank->device->explained, ranks->arena, &answers[n++]));
        }
    }
    *ret_unexplained = ranks->n_ranks - n;
    return tide_rank_sentences_make(answers, n, ranks->n_ranks, ranks->arena, ret);
}

/* Kinds of memory are in the tables. */
static bool is_said(const tide_rank_sentence *row) {
    return strcmp(row->key, "kinds") != 0;
}

static void say_explained(tide_report *report, const tide_rank_sentences *sentences) {
    size_t n = 0, n_more = 0;
    for (size_t i = 0; i < sentences->n_rows; i++) {
        char words[SENTENCE_BYTES];
        tide_text text = tide_text_in(words, sizeof(words));
        const tide_rank_sentence *row = &sentences->rows[i];
        if (!is_said(row)) {
            continue;
        }
        if (n == MOST_SENTENCES) {
            n_more++;
            continue;
        }
        tide_rank_sentence_add(row, &text);
        tide_report_say(report, row->key, "%s", words);
        n++;
    }
    if (n_more > 0) {
        tide_report_say(report, "more", "%zu more %s: --format json has all in the table explained",
                        n_more, tide_plural(n_more, "sentence", "sentences"));
    }
}

static void say_unexplained(tide_report *report, size_t n) {
    if (n > 0) {
        tide_report_say(report, "unexplained",
                        "note: %zu %s no causes and no growth: the digest was made by an older "
                        "tidemark, or of a log that was read piece by piece",
                        n, tide_plural(n, "rank has", "ranks have"));
    }
}

static void explained_table(tide_report *report, const tide_rank_sentences *sentences) {
    tide_table *table =
        tide_report_table(report, "explained", "The sentences of tidemark explain, by ranks");
    TIDE_COLUMNS(table, TIDE_TEXT("ranks", "ranks"), TIDE_NUMBER("count", "count"),
                 TIDE_TEXT("fullest", "figures of"), TIDE_TEXT("key", "key"),
                 TIDE_TEXT("text", "sentence"));
    for (size_t i = 0; i < sentences->n_rows; i++) {
        const tide_rank_sentence *row = &sentences->rows[i];
        TIDE_ROW(table, tide_as_text(row->who), tide_as_count((int64_t)row->n_ranks),
                 tide_as_text(row->fullest), tide_as_text(row->key), tide_as_text(row->text));
    }
}

/* The row that explains most of a fold's difference. */
static const tide_rank_difference *largest(const tide_ranks *ranks, size_t fold) {
    for (size_t i = 0; i < ranks->n_differences; i++) {
        if (ranks->differences[i].fold == fold) {
            return &ranks->differences[i];
        }
    }
    return NULL;
}

static void say_outliers(tide_report *report, const tide_ranks *ranks) {
    for (size_t f = 0; f < ranks->n_folds; f++) {
        const tide_rank_fold *fold = &ranks->folds[f];
        const tide_digest_device *device = device_of(ranks, fold);
        if (!fold->is_outlier || device == NULL) {
            continue;
        }
        const tide_rank_group *group = &ranks->groups[fold->group];
        const tide_rank_difference *row = largest(ranks, f);
        int64_t away = device->max.allocated_bytes - group->median_bytes;
        const char *most = "";
        if (row != NULL) {
            int64_t more = row->bytes - row->median_bytes;
            most = tide_report_text(
                report, ": %s %s at %s", tide_report_bytes(report, more < 0 ? -more : more),
                more < 0 ? "less" : "more", row->line[0] != '\0' ? row->line : "an unknown line");
        }
        tide_report_say(report, "outlier", "%s %s %s %s the median of its group (%s)%s",
                        who(report, ranks, fold), fold->n > 1 ? "peak" : "peaks",
                        tide_report_bytes(report, away < 0 ? -away : away),
                        away < 0 ? "below" : "above", group->name, most);
    }
}

/* Warns about ranks of which only one end was run: it must not be mistaken for the whole range. */
static void say_ranges(tide_report *report, const tide_ranks *ranks) {
    size_t n_low = 0, n_high = 0;
    for (size_t i = 0; i < ranks->n_ranks; i++) {
        const tide_digest_device *device = ranks->ranks[i].device;
        bool has_low = device != NULL && device->low_bytes >= 0;
        bool has_high = device != NULL && device->high_bytes >= 0;
        n_low += has_low && !has_high ? 1 : 0;
        n_high += has_high && !has_low ? 1 : 0;
    }
    if (n_low + n_high > 0) {
        tide_report_say(report, "range",
                        "of %zu %s one end of the peak's range is known, the other was not run: "
                        "tidemark run --streams both runs both",
                        n_low + n_high, tide_plural(n_low + n_high, "rank", "ranks"));
    }
}

/* Pinned memory of the host is not counted. */
static bool has_several_cards(const tide_digest *digest) {
    size_t n = 0;
    for (size_t i = 0; i < digest->n_devices; i++) {
        n += strcmp(digest->devices[i].kind, TIDE_KIND_PINNED) != 0;
    }
    return n > 1;
}

static void say_notes(tide_report *report, const tide_ranks *ranks) {
    size_t n_many = 0, n_dropped = 0, n_none = 0;
    for (size_t i = 0; i < ranks->n_ranks; i++) {
        const tide_rank *rank = &ranks->ranks[i];
        n_many += has_several_cards(rank->digest) ? 1 : 0;
        n_none += rank->device == NULL ? 1 : 0;
        n_dropped += rank->device != NULL && rank->device->n_dropped > 0 ? 1 : 0;
    }
    if (n_many > 0) {
        tide_report_say(report, "devices",
                        "note: %zu %s several devices: the one with the highest peak counts",
                        n_many, tide_plural(n_many, "rank has", "ranks have"));
    }
    if (n_none > 0) {
        tide_report_say(report, "devices", "warning: %zu %s no device with memory", n_none,
                        tide_plural(n_none, "file records", "files record"));
    }
    if (n_dropped > 0) {
        tide_report_say(report, "dropped",
                        "warning: %zu %s lost events: their figures may be too low", n_dropped,
                        tide_plural(n_dropped, "rank", "ranks"));
    }
}

/* Whether any rank's file has an end of a range; otherwise the columns would be empty. */
static bool have_ranges(const tide_ranks *ranks) {
    bool found = false;
    for (size_t f = 0; f < ranks->n_folds; f++) {
        const tide_digest_device *device = device_of(ranks, &ranks->folds[f]);
        found = found || (device != NULL && (device->low_bytes >= 0 || device->high_bytes >= 0));
    }
    return found;
}

static tide_cell headroom_at_high(const tide_digest_device *device) {
    bool is_known = device->total_bytes >= 0 && device->reserved_high_bytes >= 0;
    return is_known ? tide_as_bytes(device->total_bytes - device->reserved_high_bytes)
                    : tide_as_none();
}

static void ranks_table(tide_report *report, const tide_ranks *ranks) {
    bool has_ranges = have_ranges(ranks);
    tide_table *table = tide_report_table(report, "ranks", "Ranks, equal ones in one row");
    TIDE_COLUMNS(table, TIDE_TEXT("ranks", "ranks"), TIDE_NUMBER("count", "count"),
                 TIDE_TEXT("group", "group"), TIDE_NUMBER("allocated_peak_bytes", "peak"),
                 TIDE_NUMBER("to_median_bytes", "to the median"),
                 TIDE_NUMBER("reserved_peak_bytes", "reserved"),
                 TIDE_NUMBER("headroom_bytes", "headroom"));
    if (has_ranges) {
        TIDE_COLUMNS(table, TIDE_NUMBER("low_bytes", "low"), TIDE_NUMBER("high_bytes", "high"),
                     TIDE_NUMBER("headroom_at_high_bytes", "headroom at high"));
    }
    TIDE_COLUMNS(table, TIDE_NUMBER("growth_bytes", "growth a pass"), TIDE_TEXT("state", "state"),
                 TIDE_TEXT("place", "place"), TIDE_TEXT("line", "most of the peak at"));
    for (size_t f = 0; f < ranks->n_folds; f++) {
        const tide_rank_fold *fold = &ranks->folds[f];
        const tide_digest_device *device = device_of(ranks, fold);
        const tide_rank_group *group = &ranks->groups[fold->group];
        TIDE_ROW(table, tide_as_text(fold->ranks), tide_as_count((int64_t)fold->n),
                 tide_as_text(group->name));
        if (device == NULL) {
            continue;
        }
        const char *state = device->oom.event >= 0 ? "out of memory"
                            : fold->is_outlier     ? "outlier"
                            : fold->n > 1          ? "equal"
                                                   : "";
        TIDE_CELLS(table, tide_as_bytes(device->max.allocated_bytes),
                   tide_as_change(device->max.allocated_bytes - group->median_bytes),
                   tide_as_bytes(device->max.reserved_bytes),
                   tide_as_bytes(device->headroom_bytes));
        if (has_ranges) {
            TIDE_CELLS(table, tide_as_bytes(device->low_bytes), tide_as_bytes(device->high_bytes),
                       headroom_at_high(device));
        }
        int64_t growth = 0;
        bool is_explained = tide_digest_growth_bytes(device, &growth);
        TIDE_CELLS(table, is_explained ? tide_as_change(growth) : tide_as_none(),
                   tide_as_words(state), tide_as_words(fold->place),
                   device->n_rows > 0 ? tide_as_words(device->rows[0].line) : tide_as_none());
    }
}

static void groups_table(tide_report *report, const tide_ranks *ranks) {
    tide_table *table = tide_report_table(report, "groups", "Peaks of ranks that should be equal");
    TIDE_COLUMNS(table, TIDE_TEXT("group", "group"), TIDE_TEXT("ranks", "ranks"),
                 TIDE_NUMBER("count", "count"), TIDE_NUMBER("lowest_bytes", "lowest"),
                 TIDE_NUMBER("median_bytes", "median"), TIDE_NUMBER("highest_bytes", "highest"),
                 TIDE_NUMBER("spread_percent", "spread"));
    for (size_t i = 0; i < ranks->n_groups; i++) {
        const tide_rank_group *group = &ranks->groups[i];
        TIDE_ROW(table, tide_as_text(group->name), tide_as_text(group->ranks),
                 tide_as_count((int64_t)group->n), tide_as_bytes(group->low_bytes),
                 tide_as_bytes(group->median_bytes), tide_as_bytes(group->high_bytes),
                 tide_as_share((double)(group->high_bytes - group->low_bytes),
                               (double)group->median_bytes));
    }
}

static void differences_table(tide_report *report, const tide_ranks *ranks, size_t top) {
    if (ranks->n_differences == 0) {
        return;
    }
    tide_table *table = tide_report_table(report, "differences",
                                          "Alive at the peak, against the median of the group");
    TIDE_COLUMNS(table, TIDE_TEXT("ranks", "ranks"), TIDE_TEXT("group", "group"),
                 TIDE_NUMBER("bytes", "allocated"), TIDE_NUMBER("median_bytes", "median"),
                 TIDE_NUMBER("difference_bytes", "difference"), TIDE_TEXT("line", "line"),
                 TIDE_TEXT("category", "category"), TIDE_TEXT("scope", "scope"));
    size_t n_shown = 0;
    for (size_t i = 0; i < ranks->n_differences; i++) {
        const tide_rank_difference *row = &ranks->differences[i];
        const tide_rank_fold *fold = &ranks->folds[row->fold];
        n_shown = i > 0 && row->fold == row[-1].fold ? n_shown + 1 : 1;
        if (n_shown <= top) {
            TIDE_ROW(table, tide_as_text(fold->ranks),
                     tide_as_text(ranks->groups[fold->group].name), tide_as_bytes(row->bytes),
                     tide_as_bytes(row->median_bytes),
                     tide_as_change(row->bytes - row->median_bytes), tide_as_words(row->line),
                     tide_as_text(row->category), tide_as_words(row->scope));
        }
    }
}

tide_status tide_ranks_report(tide_report *report, const tide_ranks *ranks,
                              const tide_ranks_shown *shown) {
    tide_rank_sentences sentences;
    size_t n_unexplained = 0;
    TIDE_TRY(find_sentences(ranks, &sentences, &n_unexplained));
    tide_report_figure_count(report, "ranks", (int64_t)ranks->n_ranks);
    tide_report_figure_count(report, "kinds", (int64_t)ranks->n_folds);
    tide_report_figure_count(report, "world_size", ranks->world_size);
    tide_report_figure_count(report, "missing", (int64_t)ranks->n_missing);
    say_given(report, ranks);
    say_first(report, ranks);
    say_ended(report, ranks);
    say_outliers(report, ranks);
    say_explained(report, &sentences);
    say_ranges(report, ranks);
    say_notes(report, ranks);
    say_unexplained(report, n_unexplained);
    ranks_table(report, ranks);
    groups_table(report, ranks);
    differences_table(report, ranks, shown->top);
    if (shown->is_for_programs) {
        explained_table(report, &sentences);
    }
    return TIDE_OK;
}
