/* The cards of the virtual device and the virtual card for programs, with their sources. */
#include <stdio.h>
#include <string.h>

#include "cli/devices/internal.h"
#include "device/cards.h"
#include "device/peaks.h"

static void add_cards(tide_report *report, bool is_for_programs) {
    size_t n_cards = 0;
    const tide_card *cards = tide_cards(&n_cards);
    tide_table *table = tide_report_table(report, "cards", "cards of virtual:CARD");
    TIDE_COLUMNS(table, TIDE_TEXT("card", "card"), TIDE_NUMBER("total_bytes", "memory"),
                 TIDE_NUMBER("context_bytes", "context"),
                 TIDE_NUMBER("workspace_bytes", "GEMM workspace"), TIDE_TEXT("title", "title"));
    for (size_t i = 0; i < n_cards; i++) {
        const tide_card *card = &cards[i];
        tide_cell context = card->context_bytes < 0 && !is_for_programs
                                ? tide_as_text("not measured")
                                : tide_as_bytes(card->context_bytes);
        TIDE_ROW(table, tide_as_text(card->name), tide_as_bytes(card->total_bytes), context,
                 tide_as_bytes((int64_t)card->workspace_bytes), tide_as_text(card->title));
    }
}

/* A figure of a board; -1 means unpublished. */
static tide_cell as_known(int figure, int unit) {
    return figure < 0 ? tide_as_none() : tide_as_count(figure / unit);
}

static tide_cell as_yes(int is_so) {
    return is_so < 0 ? tide_as_none() : tide_as_text(is_so != 0 ? "on" : "off");
}

static void add_boards(tide_report *report) {
    size_t n_cards = 0;
    const tide_card *cards = tide_cards(&n_cards);
    tide_table *table = tide_report_table(report, "boards", "processors and memory of these cards");
    TIDE_COLUMNS(table, TIDE_TEXT("card", "card"), TIDE_TEXT("compute_capability", "capability"),
                 TIDE_NUMBER("multiprocessors", "SMs"), TIDE_NUMBER("sm_clock_mhz", "MHz"),
                 TIDE_NUMBER("memory_clock_mhz", "memory MHz"),
                 TIDE_NUMBER("memory_bus_bits", "bus bits"), TIDE_NUMBER("cache_bytes", "L2 cache"),
                 TIDE_TEXT("ecc", "ECC"));
    for (size_t i = 0; i < n_cards; i++) {
        const tide_card *card = &cards[i];
        const tide_card_board *board = &card->board;
        char capability[16];
        snprintf(capability, sizeof(capability), "%d.%d", card->compute_capability / 10,
                 card->compute_capability % 10);
        TIDE_ROW(table, tide_as_text(card->name), tide_as_text(capability),
                 as_known(board->n_multiprocessors, 1), as_known(board->sm_clock_khz, 1000),
                 as_known(board->memory_clock_khz, 1000), as_known(board->memory_bus_bits, 1),
                 tide_as_bytes(board->cache_bytes), as_yes(board->is_ecc_on));
    }
}

static tide_cell as_tflops(double flops) {
    return flops < 0.0 ? tide_as_none() : tide_as_real(flops * 1e-12);
}

static void add_peaks(tide_report *report) {
    static const tide_stated_peak NONE = {"", -1.0, -1.0, -1.0, -1.0, ""};
    size_t n_cards = 0;
    const tide_card *cards = tide_cards(&n_cards);
    tide_table *table =
        tide_report_table(report, "stated_peaks",
                          "TFLOP/s of products that the vendor states, dense, with fp32 sums");
    TIDE_COLUMNS(table, TIDE_TEXT("card", "card"), TIDE_NUMBER("fp32_tflops", "fp32"),
                 TIDE_NUMBER("tf32_tflops", "TF32"), TIDE_NUMBER("bf16_tflops", "bf16"),
                 TIDE_NUMBER("fp16_tflops", "fp16"));
    for (size_t i = 0; i < n_cards; i++) {
        const tide_stated_peak *peak = tide_stated_peak_find(cards[i].title);
        peak = peak != NULL ? peak : &NONE;
        TIDE_ROW(table, tide_as_text(cards[i].name), as_tflops(peak->fp32_flops),
                 as_tflops(peak->tf32_flops), as_tflops(peak->bf16_flops),
                 as_tflops(peak->fp16_flops));
    }
}

static const char *peak_source_of(const tide_card *card) {
    const tide_stated_peak *peak = tide_stated_peak_find(card->title);
    return peak != NULL ? peak->source : "no source";
}

static const char *source_of(const tide_card *card, size_t figure) {
    return figure == 0   ? card->total_source
           : figure == 1 ? card->context_source
           : figure == 2 ? card->workspace_source
           : figure == 3 ? card->board.source
                         : peak_source_of(card);
}

/* Reports the sources of the figures. A source that all cards share is named once. */
static void add_sources(tide_report *report) {
    static const char *const FIGURES[] = {"memory", "context", "GEMM workspace", "board",
                                          "stated peak"};
    size_t n_cards = 0;
    const tide_card *cards = tide_cards(&n_cards);
    tide_table *table = tide_report_table(report, "sources", "where these figures come from");
    TIDE_COLUMNS(table, TIDE_TEXT("figure", "figure"), TIDE_TEXT("card", "card"),
                 TIDE_TEXT("source", "source"));
    for (size_t figure = 0; figure < sizeof(FIGURES) / sizeof(FIGURES[0]); figure++) {
        bool is_shared = true;
        for (size_t i = 0; i < n_cards; i++) {
            is_shared = is_shared &&
                        strcmp(source_of(&cards[i], figure), source_of(&cards[0], figure)) == 0;
        }
        for (size_t i = 0; i < (is_shared && n_cards > 0 ? 1 : n_cards); i++) {
            TIDE_ROW(table, tide_as_text(FIGURES[figure]),
                     tide_as_text(is_shared ? "all" : cards[i].name),
                     tide_as_text(source_of(&cards[i], figure)));
        }
    }
}

void tide_devices_add_cards(tide_report *report, bool is_for_programs) {
    size_t n_cards = 0;
    (void)tide_cards(&n_cards);
    tide_report_figure_count(report, "cards", (int64_t)n_cards);
    add_cards(report, is_for_programs);
    add_boards(report);
    add_peaks(report);
    add_sources(report);
}
