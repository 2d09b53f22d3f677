/* tidemark devices: the devices of this machine, and why any of them is missing. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "capture/host.h"
#include "cli/cli.h"
#include "cli/report_options.h"
#include "common/bytes.h"
#include "common/plural.h"
#include "device/cards.h"
#include "device/device.h"
#include "model/ops.h"
#include "model/ops_cpu/kernels.h"
#include "recorder/recorder.h"
#include "report/table.h"

enum { DETAIL_BYTES = 512, MAX_GPUS = 64 };

typedef struct devices_options {
    tide_report_options report; /* how the report is printed */
} devices_options;

static const tide_option OPTIONS[] = {
    TIDE_REPORT_ROWS(offsetof(devices_options, report)),
};

static const tide_option_table TABLE = {
    .command = "devices",
    .intro = "Lists the devices that this machine has, says why one is missing and what would\n"
             "provide it, and lists the cards that the virtual device knows.\n",
    .options = OPTIONS,
    .n_options = sizeof(OPTIONS) / sizeof(OPTIONS[0]),
};

/* Something that this machine has or lacks. */
typedef struct part {
    char name[24];
    bool is_here;
    char detail[DETAIL_BYTES]; /* what it is, or why it is missing and what would provide it */
} part;

static void set_missing(part *ret_part, const tide_error *error) {
    ret_part->is_here = false;
    snprintf(ret_part->detail, DETAIL_BYTES, "%.500s", error->message);
}

/* The device, and cuBLAS, without which it computes nothing. */
static tide_status describe_gpu(tide_device *device, char detail[DETAIL_BYTES], tide_error *error) {
    const tide_device_info *info = tide_device_get_info(device);
    tide_ops *ops = NULL;
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    char total[TIDE_BYTES_TEXT];
    char unused[TIDE_BYTES_TEXT];
    TIDE_TRY(tide_device_memory_info(device, &free_bytes, &total_bytes, error));
    TIDE_TRY(tide_ops_open(tide_hostmem_default(), device, TIDE_PRECISION_FP32, &ops, error));
    snprintf(detail, DETAIL_BYTES,
             "%.200s; compute capability %d.%d, %s of memory, %s free, clocks up to %d MHz, of "
             "memory %d MHz; driver CUDA %d.%d",
             ops->table->describe(ops), info->compute_capability / 10,
             info->compute_capability % 10, tide_bytes_format(info->total_bytes, total),
             tide_bytes_format((int64_t)free_bytes, unused), info->sm_clock_khz / 1000,
             info->memory_clock_khz / 1000, info->driver_version / 1000,
             info->driver_version % 1000 / 10);
    if (info->context_bytes >= 0) {
        size_t n = strlen(detail);
        snprintf(detail + n, DETAIL_BYTES - n, "; a context takes %s",
                 tide_bytes_format(info->context_bytes, total));
    }
    tide_ops_close(ops);
    return TIDE_OK;
}

/* TIDE_DEVICE_ABSENT: there is no GPU of that number. */
static tide_status describe_cuda(int ordinal, part *ret_part) {
    tide_device *device = NULL;
    tide_error error = {""};
    *ret_part = (part){.name = "cuda", .is_here = true};
    snprintf(ret_part->name, sizeof(ret_part->name), "cuda:%d", ordinal);
    tide_status status = tide_device_open(ret_part->name, NULL, &device, &error);
    if (status == TIDE_OK) {
        status = describe_gpu(device, ret_part->detail, &error);
    }
    tide_device_close(device);
    if (status != TIDE_OK) {
        set_missing(ret_part, &error);
    }
    return status;
}

static void describe_cpu(part *ret_part) {
    tide_device *device = NULL;
    tide_error error = {""};
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    *ret_part = (part){.name = "cpu", .is_here = true};
    const tide_cpu_kernels *kernels = NULL;
    tide_status status = tide_device_open("cpu", NULL, &device, &error);
    if (status == TIDE_OK) {
        status = tide_cpu_kernels_choose(&kernels, &error);
    }
    if (status == TIDE_OK) {
        status = tide_device_memory_info(device, &free_bytes, &total_bytes, &error);
    }
    tide_device_close(device);
    if (status != TIDE_OK) {
        set_missing(ret_part, &error);
        return;
    }
    tide_host_info host;
    char total[TIDE_BYTES_TEXT];
    char unused[TIDE_BYTES_TEXT];
    tide_host_get_info(&host);
    snprintf(ret_part->detail, DETAIL_BYTES,
             "%.128s, %" PRId64 " core%s, %s of memory, %s free; computes fp32 and bf16 "
             "with %s kernels",
             host.cpu[0] != '\0' ? host.cpu : "unknown processor", host.n_cpus,
             tide_plural((uint64_t)host.n_cpus, "", "s"),
             tide_bytes_format(host.total_bytes, total),
             tide_bytes_format((int64_t)free_bytes, unused), kernels->name);
}

static void describe_stacks(part *ret_part) {
    tide_recorder *recorder = NULL;
    tide_error error = {""};
    tide_recorder_config config;
    tide_recorder_config_init(&config);
    config.log_bytes = 1 << 16;
    config.log_path = "";
    *ret_part = (part){.name = "call stacks", .is_here = true};
    if (tide_recorder_create(&config, &recorder, &error) != TIDE_OK) {
        set_missing(ret_part, &error);
        return;
    }
    const char *limited = tide_recorder_stacks_limited(recorder);
    ret_part->is_here = tide_recorder_stacks_missing(recorder) == NULL;
    snprintf(ret_part->detail, DETAIL_BYTES, "%.500s", limited == NULL ? "recorded" : limited);
    tide_recorder_destroy(recorder);
}

static void describe_symbols(part *ret_part) {
    *ret_part = (part){.name = "symbols", .is_here = TIDEMARK_HAVE_BACKTRACE != 0};
    snprintf(ret_part->detail, DETAIL_BYTES, "%s",
             TIDEMARK_HAVE_BACKTRACE
                 ? "function, file and line, by libbacktrace"
                 : "function names only: build with GCC, whose libbacktrace tells file and line");
}

static void add_part(tide_table *table, const part *row) {
    TIDE_ROW(table, tide_as_text(row->name), tide_as_text(row->is_here ? "here" : "missing"),
             tide_as_text(row->detail));
}

/* Each GPU; if there is none, one row that says why. */
static void add_gpus(tide_table *table) {
    part gpu;
    tide_status status = describe_cuda(0, &gpu);
    if (status == TIDE_DEVICE_ABSENT) {
        snprintf(gpu.name, sizeof(gpu.name), "cuda");
    }
    for (int ordinal = 1; ordinal <= MAX_GPUS; ordinal++) {
        add_part(table, &gpu);
        if (status == TIDE_DEVICE_ABSENT) {
            return;
        }
        status = describe_cuda(ordinal, &gpu);
        if (status == TIDE_DEVICE_ABSENT) {
            return;
        }
    }
}

static void add_parts(tide_report *report) {
    static const part VIRTUAL = {"virtual", true,
                                 "addresses only: any capacity or a card's, every precision; "
                                 "computes nothing"};
    part host;
    part stacks;
    part symbols;
    describe_cpu(&host);
    describe_stacks(&stacks);
    describe_symbols(&symbols);
    tide_table *table = tide_report_table(report, "parts", "what is here");
    TIDE_COLUMNS(table, TIDE_TEXT("part", "part"), TIDE_TEXT("state", "state"),
                 TIDE_TEXT("detail", "detail"));
    add_gpus(table);
    add_part(table, &host);
    add_part(table, &VIRTUAL);
    add_part(table, &stacks);
    add_part(table, &symbols);
}

static void add_cards(tide_report *report) {
    size_t n_cards = 0;
    const tide_card *cards = tide_cards(&n_cards);
    tide_table *table = tide_report_table(report, "cards", "cards of virtual:CARD");
    TIDE_COLUMNS(table, TIDE_TEXT("card", "card"), TIDE_NUMBER("total_bytes", "memory"),
                 TIDE_NUMBER("context_bytes", "context"),
                 TIDE_NUMBER("workspace_bytes", "GEMM workspace"), TIDE_TEXT("title", "title"));
    for (size_t i = 0; i < n_cards; i++) {
        const tide_card *card = &cards[i];
        TIDE_ROW(table, tide_as_text(card->name), tide_as_bytes(card->total_bytes),
                 tide_as_bytes(card->context_bytes), tide_as_bytes((int64_t)card->workspace_bytes),
                 tide_as_text(card->title));
    }
}

/* A figure of a board, for which -1 means that nobody has published it. */
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

static const char *source_of(const tide_card *card, size_t figure) {
    return figure == 0   ? card->total_source
           : figure == 1 ? card->context_source
           : figure == 2 ? card->workspace_source
                         : card->board.source;
}

/* Says where the figures come from. A source that all cards share is named once. */
static void add_sources(tide_report *report) {
    static const char *const FIGURES[] = {"memory", "context", "GEMM workspace", "board"};
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

static int run(int argc, char **argv) {
    devices_options options = {.report = {NULL, NULL, false}};
    tide_error error = {""};
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, &options, NULL, &exit_status)) {
        return exit_status;
    }
    tide_report report;
    tide_report_init(&report, "devices");
    add_parts(&report);
    size_t n_cards = 0;
    (void)tide_cards(&n_cards);
    tide_report_figure_count(&report, "cards", (int64_t)n_cards);
    add_cards(&report);
    add_boards(&report);
    add_sources(&report);
    tide_status status =
        tide_report_end(&report, TIDE_OK, tide_format_chosen(&options.report), &error);
    return tide_cli_end("devices", status, &error, TIDE_EXIT_SUCCESS);
}

const tide_command tide_command_devices = {
    .name = "devices",
    .summary = "what is here, and why anything is missing",
    .options = &TABLE,
    .run = run,
};
