/* The parts of this machine: devices, a PyTorch, call stacks, symbols; and why a part is
 * missing. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "capture/host.h"
#include "cli/devices/internal.h"
#include "cli/own_model.h"
#include "common/text/bytes.h"
#include "common/text/plural.h"
#include "device/device.h"
#include "programs/launch/torch_version.h"
#include "recorder/recorder.h"

enum { DETAIL_BYTES = 512, MAX_GPUS = 64 };

/* Something that this machine has or lacks. */
typedef struct part {
    char name[24];
    bool is_here;
    char detail[DETAIL_BYTES]; /* a description, or why it is missing and what would provide it */
} part;

static void set_missing(part *ret_part, const tide_error *error) {
    ret_part->is_here = false;
    snprintf(ret_part->detail, DETAIL_BYTES, "%.500s", error->message);
}

/* The device, and what computes on it, in a build with our own model. */
static tide_status describe_gpu(tide_device *device, char detail[DETAIL_BYTES], tide_error *error) {
    const tide_device_info *info = tide_device_get_info(device);
    char computes[DETAIL_BYTES] = "";
    uint64_t free_bytes = 0;
    uint64_t total_bytes = 0;
    char total[TIDE_BYTES_TEXT];
    char unused[TIDE_BYTES_TEXT];
    TIDE_TRY(tide_device_memory_info(device, &free_bytes, &total_bytes, error));
    if (tide_own_model_here != NULL) {
        TIDE_TRY(tide_own_model_here->describe_gpu(device, computes, sizeof(computes), error));
    }
    snprintf(detail, DETAIL_BYTES,
             "%.200s; compute capability %d.%d, %s of memory, %s free, clocks up to %d MHz, of "
             "memory %d MHz; driver CUDA %d.%d",
             computes[0] != '\0' ? computes : info->name, info->compute_capability / 10,
             info->compute_capability % 10, tide_bytes_format(info->total_bytes, total),
             tide_bytes_format((int64_t)free_bytes, unused), info->sm_clock_khz / 1000,
             info->memory_clock_khz / 1000, info->driver_version / 1000,
             info->driver_version % 1000 / 10);
    if (info->context_bytes >= 0) {
        size_t n = strlen(detail);
        snprintf(detail + n, DETAIL_BYTES - n, "; a context takes %s",
                 tide_bytes_format(info->context_bytes, total));
    }
    return TIDE_OK;
}

/* TIDE_DEVICE_ABSENT if there is no GPU of that number. */
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
    const char *kernels = NULL;
    tide_status status = tide_device_open("cpu", NULL, &device, &error);
    if (status == TIDE_OK && tide_own_model_here != NULL) {
        status = tide_own_model_here->name_cpu_kernels(&kernels, &error);
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
    snprintf(
        ret_part->detail, DETAIL_BYTES, "%.128s, %" PRId64 " core%s, %s of memory, %s free%s%s%s",
        host.cpu[0] != '\0' ? host.cpu : "unknown processor", host.n_cpus,
        tide_plural((uint64_t)host.n_cpus, "", "s"), tide_bytes_format(host.total_bytes, total),
        tide_bytes_format((int64_t)free_bytes, unused),
        kernels != NULL ? "; computes fp32, bf16 and fp16 with " : "",
        kernels != NULL ? kernels : "", kernels != NULL ? " kernels" : "");
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
                 : "function names only: build with GCC, whose libbacktrace reports file and line");
}

static void add_part(tide_table *table, const part *row) {
    TIDE_ROW(table, tide_as_text(row->name), tide_as_text(row->is_here ? "here" : "missing"),
             tide_as_text(row->detail));
}

/* The PyTorch that `python` would load, and whether the virtual card supports it. */
static void add_torch(tide_table *table) {
    tide_torch torch;
    tide_error error = {""};
    part row = {.name = "torch", .is_here = false};
    if (tide_torch_find(NULL, &torch, &error) != TIDE_OK) {
        set_missing(&row, &error);
    } else if (tide_torch_check(&torch, &error) == TIDE_OK) {
        row.is_here = true;
        snprintf(row.detail, DETAIL_BYTES,
                 "torch %s for CUDA %s in %.300s: the virtual card serves it", torch.version,
                 torch.cuda, torch.folder);
    } else {
        row.is_here = torch.folder[0] != '\0';
        snprintf(row.detail, DETAIL_BYTES, "%.250s%s%.200s", error.message,
                 row.is_here ? "; it is in " : "", torch.folder);
    }
    add_part(table, &row);
}

/* A row for each GPU; if there is none, one row with the reason. */
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

void tide_devices_add_parts(tide_report *report) {
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
    add_torch(table);
    add_part(table, &stacks);
    add_part(table, &symbols);
}
