/* The facts of an answer with their evidence, as tables for programs. */
#include <string.h>

#include "cli/summary/verdict.h"
#include "common/text/text.h"

enum { FACTS_VERSION = 1, MOST_LOOPS = 1000, PLACE_BYTES = 512 };

/* A node of the stack tree, or TIDE_NONE, as function, file and line. */
static void add_source(tide_table *table, const tide_facts *facts, uint32_t frame) {
    const tide_snapshot *snapshot = facts->snapshot;
    if (frame == TIDE_NONE) {
        TIDE_CELLS(table, tide_as_none(), tide_as_none(), tide_as_none());
        return;
    }
    const tide_frame_row *row = &snapshot->frames[frame];
    TIDE_CELLS(table, tide_as_words(tide_snapshot_text(snapshot, row->function)),
               tide_as_words(tide_snapshot_text(snapshot, row->file)),
               row->line > 0 ? tide_as_count(row->line) : tide_as_none());
}

static void add_node(tide_table *table, const tide_facts *facts, uint32_t node) {
    add_source(table, facts, node != TIDE_NONE ? facts->snapshot->stacks[node].frame : TIDE_NONE);
}

#define SOURCE_COLUMNS                                                                             \
    TIDE_TEXT("function", "function"), TIDE_TEXT("file", "file"), TIDE_NUMBER("line", "line")

/* ---- causes ---- */

static void add_causes(const tide_summary_view *of, const tide_verdict *verdict) {
    static const char *const TIERS[] = {[TIDE_TIER_ALL] = "all",
                                        [TIDE_TIER_GROWTH] = "growth",
                                        [TIDE_TIER_PEAK] = "peak",
                                        [TIDE_TIER_ADVICE] = "advice"};
    tide_table *table = tide_report_table(of->report, "causes", "Causes that fired");
    TIDE_COLUMNS(table, TIDE_TEXT("cause", "cause"), TIDE_TEXT("tier", "tier"),
                 TIDE_NUMBER("share_percent", "share"), TIDE_TEXT("share_of", "share of"),
                 TIDE_NUMBER("bytes", "bytes"), TIDE_NUMBER("growth", "row of growth"),
                 TIDE_TEXT("words", "words"), TIDE_TEXT("cure", "cure"), TIDE_TEXT("cost", "cost"));
    for (size_t i = 0; i < verdict->causes.n_causes; i++) {
        const tide_cause *cause = &verdict->causes.causes[i];
        TIDE_ROW(table, tide_as_text(cause->id), tide_as_text(TIERS[cause->tier]),
                 tide_as_percent(100 * cause->share),
                 tide_as_text(cause->is_of_reserved ? "reserved" : "allocated"),
                 tide_as_bytes(cause->bytes),
                 cause->growth != NULL
                     ? tide_as_count((int64_t)(cause->growth - verdict->facts.growth.facts))
                     : tide_as_none(),
                 tide_as_text(cause->words), tide_as_text(cause->cure), tide_as_words(cause->cost));
    }
}

/* ---- loops and growth ---- */

static void add_loop(const tide_facts *facts, const tide_loop *loop, tide_table *table) {
    TIDE_CELLS(table, tide_as_words(tide_snapshot_text(facts->snapshot, loop->function)),
               tide_as_words(tide_snapshot_text(facts->snapshot, loop->file)),
               loop->is_steps ? tide_as_none() : tide_as_count(loop->first_line),
               loop->is_steps ? tide_as_none() : tide_as_count(loop->last_line),
               tide_as_text(loop->is_steps      ? "step"
                            : loop->is_one_line ? "pass"
                                                : "iteration"));
}

#define LOOP_COLUMNS                                                                               \
    TIDE_TEXT("function", "function"), TIDE_TEXT("file", "file"),                                  \
        TIDE_NUMBER("first_line", "first line"), TIDE_NUMBER("last_line", "last line"),            \
        TIDE_TEXT("unit", "unit")

static void add_loops(const tide_summary_view *of, const tide_facts *facts) {
    tide_table *table = tide_report_table(of->report, "loops", "Loops of the program");
    TIDE_COLUMNS(table, LOOP_COLUMNS, TIDE_NUMBER("passes", "passes"),
                 TIDE_NUMBER("first_event", "first event"), TIDE_NUMBER("end_event", "end"));
    for (size_t i = 0; i < facts->loops.n_loops && i < MOST_LOOPS; i++) {
        const tide_loop *loop = &facts->loops.loops[i];
        tide_table_row_begin(table);
        add_loop(facts, loop, table);
        TIDE_CELLS(table, tide_as_count((int64_t)loop->n_starts), tide_as_count(loop->starts[0]),
                   tide_as_count((int64_t)loop->end));
    }
}

static void add_growth(const tide_summary_view *of, const tide_facts *facts) {
    static const char *const KINDS[] = {[TIDE_GROWTH_KEEPS] = "keeps",
                                        [TIDE_GROWTH_REPLACES] = "replaces",
                                        [TIDE_GROWTH_FILLS] = "fills"};
    tide_table *table = tide_report_table(of->report, "growth", "Loops that grow");
    TIDE_COLUMNS(table, TIDE_TEXT("kind", "kind"), LOOP_COLUMNS, TIDE_NUMBER("passes", "passes"),
                 TIDE_NUMBER("keeping_passes", "passes that keep"), TIDE_NUMBER("every", "every"),
                 TIDE_NUMBER("bytes", "kept"), TIDE_NUMBER("rate_bytes", "in such a pass"),
                 TIDE_NUMBER("blocks", "blocks"), TIDE_NUMBER("first_event", "first allocation"),
                 TIDE_NUMBER("last_event", "last allocation"),
                 TIDE_TEXT("kept_function", "allocated in"), TIDE_TEXT("kept_file", "of file"),
                 TIDE_NUMBER("kept_line", "at line"), TIDE_NUMBER("line_share_percent", "share"),
                 TIDE_TEXT("forward", "forward pass"), TIDE_TEXT("backward", "backward pass"));
    for (size_t i = 0; i < facts->growth.n_facts; i++) {
        const tide_growth_fact *fact = &facts->growth.facts[i];
        tide_cell first = tide_as_none();
        tide_cell last = tide_as_none();
        if (fact->n_blocks > 0) {
            first = tide_as_count((int64_t)tide_facts_block(facts, fact->blocks[0])->born - 1);
            last = tide_as_count(
                (int64_t)tide_facts_block(facts, fact->blocks[fact->n_blocks - 1])->born - 1);
        }
        TIDE_ROW(table, tide_as_text(KINDS[fact->kind]));
        add_loop(facts, fact->loop, table);
        TIDE_CELLS(table, tide_as_count((int64_t)fact->n_passes),
                   tide_as_count((int64_t)fact->n_keeping), tide_as_count((int64_t)fact->every),
                   tide_as_bytes(fact->bytes), tide_as_bytes(fact->rate_bytes),
                   tide_as_count((int64_t)fact->n_blocks), first, last);
        add_node(table, facts, fact->line);
        TIDE_CELLS(table,
                   fact->line != TIDE_NONE ? tide_as_percent(100 * fact->line_share)
                                           : tide_as_none(),
                   tide_as_text(fact->has_forward ? "yes" : "no"),
                   tide_as_text(fact->has_backward ? "yes" : "no"));
    }
}

/* ---- the failure and the reserved memory ---- */

static void add_failure(const tide_summary_view *of, const tide_facts *facts) {
    const tide_failure *failure = &facts->failure;
    bool is_limited = failure->free_bytes >= 0;
    tide_table *table = tide_report_table(of->report, "failure", "The first request that failed");
    TIDE_COLUMNS(table, TIDE_NUMBER("event", "event"), TIDE_NUMBER("failures", "failures"),
                 SOURCE_COLUMNS, TIDE_NUMBER("requested_bytes", "requested"),
                 TIDE_NUMBER("free_bytes", "free"), TIDE_NUMBER("allocated_bytes", "allocated"),
                 TIDE_NUMBER("reserved_bytes", "reserved"), TIDE_NUMBER("total_bytes", "total"),
                 TIDE_NUMBER("margin_bytes", "margin"),
                 TIDE_NUMBER("usable_margin_bytes", "usable margin"),
                 TIDE_NUMBER("largest_bytes", "largest block"));
    if (failure->event < 0) {
        return;
    }
    const tide_lifetime request = {.born = (uint32_t)failure->event + 1,
                                   .stack = failure->stack,
                                   .scope = failure->scope,
                                   .device = (uint8_t)facts->device};
    TIDE_ROW(table, tide_as_count(failure->event), tide_as_count((int64_t)failure->n_failed));
    add_node(table, facts, tide_block_line(&facts->lines, &request));
    TIDE_CELLS(table, tide_as_bytes(failure->asked_bytes), tide_as_bytes(failure->free_bytes),
               tide_as_bytes(failure->allocated_bytes), tide_as_bytes(failure->reserved.bytes),
               tide_as_bytes(failure->total_bytes),
               is_limited ? tide_as_change(failure->margin_bytes) : tide_as_none(),
               is_limited ? tide_as_change(failure->usable_margin_bytes) : tide_as_none(),
               tide_as_bytes(failure->largest_bytes));
}

static void add_reserved(const tide_summary_view *of, const tide_facts *facts) {
    static const char *const KINDS[] = {[TIDE_RESERVED_MAIN] = "main stream",
                                        [TIDE_RESERVED_STREAMS] = "other streams",
                                        [TIDE_RESERVED_POOLS] = "pools of CUDA graphs",
                                        [TIDE_RESERVED_OWN] = "pools of the program"};
    tide_table *table =
        tide_report_table(of->report, "reserved", "The reserved memory when it is highest");
    TIDE_COLUMNS(table, TIDE_NUMBER("event", "event"), TIDE_TEXT("part", "part"),
                 TIDE_NUMBER("bytes", "reserved"), TIDE_NUMBER("free_bytes", "free"),
                 TIDE_NUMBER("largest_bytes", "largest piece"), TIDE_NUMBER("pieces", "pieces"),
                 TIDE_NUMBER("owners", "streams or pools"), SOURCE_COLUMNS);
    for (size_t kind = 0; kind < TIDE_N_RESERVED; kind++) {
        const tide_reserved_part *part = &facts->reserved.parts[kind];
        if (part->total_bytes == 0) {
            continue;
        }
        TIDE_ROW(table, tide_as_count(facts->reserved.event), tide_as_text(KINDS[kind]),
                 tide_as_bytes(part->total_bytes), tide_as_bytes(part->free_bytes),
                 tide_as_bytes(part->largest_bytes), tide_as_count((int64_t)part->n_pieces),
                 tide_as_count((int64_t)part->n_owners));
        add_node(table, facts, part->line);
    }
}

/* ---- the peak ---- */

static const char *kind_of(const tide_place *place) {
    static const char *const KINDS[] = {
        [TIDE_PLACE_LINE] = "program",   [TIDE_PLACE_FRAME] = "library",
        [TIDE_PLACE_OPERATION] = "node", [TIDE_PLACE_NODE] = "node",
        [TIDE_PLACE_BEFORE] = "before",  [TIDE_PLACE_UNKNOWN] = "unknown"};
    return KINDS[place->kind];
}

static void add_peak_lines(const tide_summary_view *of, const tide_verdict *verdict) {
    const tide_facts *facts = &verdict->facts;
    tide_table *table = tide_report_table(of->report, "peak_lines", "The peak by line");
    TIDE_COLUMNS(table, TIDE_TEXT("kind", "kind"), TIDE_TEXT("place", "place"), SOURCE_COLUMNS,
                 TIDE_NUMBER("bytes", "allocated"), TIDE_NUMBER("requested_bytes", "requested"),
                 TIDE_NUMBER("backward_bytes", "by the backward pass"),
                 TIDE_NUMBER("inferred_bytes", "inferred"), TIDE_NUMBER("blocks", "blocks"));
    for (size_t i = 0; i < verdict->lines.n_lines; i++) {
        const tide_peak_line *line = &verdict->lines.lines[i];
        char words[PLACE_BYTES];
        tide_text place = tide_text_in(words, sizeof(words));
        tide_place_add(facts, &line->place, &place);
        TIDE_ROW(table, tide_as_text(kind_of(&line->place)),
                 tide_as_text(tide_report_text(of->report, "%s", words)));
        add_source(table, facts,
                   tide_place_is_source(&line->place) ? line->place.index : TIDE_NONE);
        TIDE_CELLS(table, tide_as_bytes(line->bytes), tide_as_bytes(line->requested_bytes),
                   tide_as_bytes(line->backward_bytes), tide_as_bytes(line->inferred_bytes),
                   tide_as_count((int64_t)line->n_blocks));
    }
}

static void add_peak_kinds(const tide_summary_view *of, const tide_verdict *verdict) {
    tide_table *table = tide_report_table(of->report, "peak_categories", "The peak by category");
    TIDE_COLUMNS(table, TIDE_TEXT("category", "category"), TIDE_NUMBER("bytes", "allocated"));
    for (size_t i = 0; i < TIDE_MAX_CATEGORIES; i++) {
        if (verdict->lines.by_category[i] > 0) {
            TIDE_ROW(table, tide_as_text(tide_snapshot_category(of->snapshot, i)),
                     tide_as_bytes(verdict->lines.by_category[i]));
        }
    }
}

void tide_add_facts(const tide_summary_view *of, const tide_verdict *verdict) {
    tide_report_figure_count(of->report, "facts_version", FACTS_VERSION);
    add_causes(of, verdict);
    add_growth(of, &verdict->facts);
    add_failure(of, &verdict->facts);
    add_peak_lines(of, verdict);
    add_peak_kinds(of, verdict);
    add_reserved(of, &verdict->facts);
    add_loops(of, &verdict->facts);
    tide_summary_assumed(of);
    tide_summary_serving(of);
}
