/* The report of `tidemark profile` on a language model that decodes: the bytes that it has and
 * moves, and rows in the form of PyTorch's generation benchmark. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "model/commands/profile/internal.h"
#include "cli/options/report_options.h"
#include "device/cards.h"

/* Bytes per second from clock and bus, with two transfers per clock; 0: unknown. */
static double bandwidth_of(int clock_khz, int bus_bits) {
    return clock_khz < 0 || bus_bits < 0 ? 0.0 : 2e3 * clock_khz * bus_bits / 8.0;
}

/* Of the memory of the run's card, virtual or real. */
static double stated_bandwidth(const tide_profile_plan *plan) {
    static const char VIRTUAL[] = "virtual:";
    const tide_run_environment *is = &plan->runs[0].result.environment;
    const tide_card *card = strncmp(plan->device, VIRTUAL, sizeof(VIRTUAL) - 1) == 0
                                ? tide_card_find(plan->device + sizeof(VIRTUAL) - 1)
                                : NULL;
    return card != NULL ? bandwidth_of(card->board.memory_clock_khz, card->board.memory_bus_bits)
                        : bandwidth_of(is->memory_clock_khz, is->memory_bus_bits);
}

/* Of the weights that are read; each pass reads them once for all sequences. Below 0: not measured.
 */
static double measured_bandwidth(const tide_profile_plan *plan, const tide_decode_config *decode) {
    double tokens_per_s = plan->runs[0].result.tokens_per_second;
    if (plan->kind == TIDE_DEVICE_VIRTUAL || tokens_per_s < 0.0) {
        return -1.0;
    }
    return (double)tide_decode_read_bytes(decode) * tokens_per_s / (double)decode->B;
}

static void say_bytes(const tide_profile_plan *plan, const tide_decode_config *decode,
                      tide_report *report) {
    double token_bytes = tide_decode_mean_token_bytes(decode);
    double bandwidth = stated_bandwidth(plan);
    double measured = measured_bandwidth(plan, decode);
    const char *least = "";
    const char *share = "";
    tide_report_figure_bytes(report, "weight_bytes", (int64_t)tide_decode_weight_bytes(decode));
    tide_report_figure_bytes(report, "cache_bytes", (int64_t)tide_decode_cache_bytes(decode));
    tide_report_figure_bytes(report, "read_bytes", (int64_t)tide_decode_read_bytes(decode));
    tide_report_figure_bytes(report, "token_bytes", (int64_t)token_bytes);
    if (bandwidth > 0.0) {
        least = tide_report_text(report,
                                 "; at the card's %.0f GB/s that takes %.2f ms: at most %.1f "
                                 "tokens/s",
                                 bandwidth * 1e-9, token_bytes / bandwidth * 1e3,
                                 (double)decode->B * bandwidth / token_bytes);
    }
    const bool has_share = bandwidth > 0.0 && measured >= 0.0;
    tide_report_figure_real(report, "bandwidth_share",
                            has_share ? measured / bandwidth : (double)NAN);
    if (has_share) {
        share = tide_report_text(report,
                                 "; read weights times tokens/s are %.1f GB/s, %.1f %% of these",
                                 measured * 1e-9, 100.0 * measured / bandwidth);
    }
    tide_report_say(report, "decode",
                    "weights %s, cache of keys and values %s for %zu positions; a pass must move "
                    "at least %s in the mean for %zu token%s%s%s",
                    tide_report_bytes(report, (int64_t)tide_decode_weight_bytes(decode)),
                    tide_report_bytes(report, (int64_t)tide_decode_cache_bytes(decode)),
                    tide_decode_n_positions(decode),
                    tide_report_bytes(report, (int64_t)token_bytes), decode->B,
                    decode->B == 1 ? "" : "s", least, share);
}

/* A row of PyTorch's benchmark; below 0: no value. */
static void add_row(const tide_profile_run *run, const tide_decode_config *decode,
                    const char *metric, const double values[2], const char *device,
                    tide_table *table) {
    TIDE_ROW(table, tide_as_text(tide_run_workload_model(&run->config.workload)->model.size),
             tide_as_text(metric), values[0] < 0.0 ? tide_as_none() : tide_as_real(values[0]),
             values[1] < 0.0 ? tide_as_none() : tide_as_real(values[1]),
             tide_as_text(tide_dtype_name(decode->weight_type)), tide_as_text(device),
             tide_as_text("True"));
}

void tide_profile_say_decode(const tide_profile_plan *plan, tide_report *report) {
    const tide_profile_run *run = &plan->runs[0];
    const tide_workload_config *workload = tide_run_workload_model(&run->config.workload);
    tide_decode_config decode;
    if (workload == NULL || workload->architecture != TIDE_DECODE ||
        tide_workload_decode(workload, &decode, NULL) != TIDE_OK) {
        return;
    }
    say_bytes(plan, &decode, report);
    const tide_decode_target *target = tide_decode_target_of(decode.name, decode.L);
    double per_s = plan->kind == TIDE_DEVICE_VIRTUAL ? -1.0 : run->result.tokens_per_second;
    tide_table *table = tide_report_table(report, "experiments", "as PyTorch's benchmark reports");
    TIDE_COLUMNS(table, TIDE_TEXT("name", "name"), TIDE_TEXT("metric", "metric"),
                 TIDE_NUMBER("target", "target"), TIDE_NUMBER("actual", "actual"),
                 TIDE_TEXT("dtype", "dtype"), TIDE_TEXT("device", "device"),
                 TIDE_TEXT("is_model", "is_model"));
    const double tokens[2] = {target != NULL ? target->tokens_per_s : -1.0, per_s};
    double measured = measured_bandwidth(plan, &decode);
    const double moved[2] = {target != NULL ? target->memory_bandwidth : -1.0,
                             measured < 0.0 ? -1.0 : measured * 1e-9};
    const double compiled[2] = {-1.0, -1.0}; /* nothing is compiled in the run */
    add_row(run, &decode, "token_per_sec", tokens, plan->device, table);
    add_row(run, &decode, "memory_bandwidth(GB/s)", moved, plan->device, table);
    add_row(run, &decode, "compilation_time(s)", compiled, plan->device, table);
}
