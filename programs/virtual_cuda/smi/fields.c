#define _POSIX_C_SOURCE 200809L
#include "programs/virtual_cuda/smi/fields.h"

#include <string.h>
#include <time.h>

enum { MIB_SHIFT = 20 };

typedef enum kind {
    NOT_MEASURED,
    NUMBER,
    COUNT,
    NAME,
    UUID,
    BUS,
    DRIVER,
    CAPABILITY,
    TIMESTAMP,
    TOTAL,
    FREE,
    USED,
    RESERVED,
    IDLE, /* no kernel runs */
    DISABLED,
    DEFAULT,
    PID,
    PROCESS_NAME,
    PROCESS_USED
} kind;

/* A name that ends with a dot matches all names that begin with it. */
struct tide_smi_field {
    const char *name;
    kind of;
    const char *unit; /* "" if none */
};

static const tide_smi_field OF_CARDS[] = {
    {"timestamp", TIMESTAMP, ""},
    {"driver_version", DRIVER, ""},
    {"count", COUNT, ""},
    {"name", NAME, ""},
    {"gpu_name", NAME, ""},
    {"index", NUMBER, ""},
    {"uuid", UUID, ""},
    {"gpu_uuid", UUID, ""},
    {"pci.bus_id", BUS, ""},
    {"gpu_bus_id", BUS, ""},
    {"compute_cap", CAPABILITY, ""},
    {"memory.total", TOTAL, "MiB"},
    {"memory.free", FREE, "MiB"},
    {"memory.used", USED, "MiB"},
    {"memory.reserved", RESERVED, "MiB"},
    {"utilization.gpu", IDLE, "%"},
    {"utilization.memory", IDLE, "%"},
    {"utilization.encoder", IDLE, "%"},
    {"utilization.decoder", IDLE, "%"},
    {"display_active", DISABLED, ""},
    {"display_attached", DISABLED, ""},
    {"display_mode", DISABLED, ""},
    {"persistence_mode", DISABLED, ""},
    {"accounting.mode", DISABLED, ""},
    {"compute_mode", DEFAULT, ""},
    {"temperature.gpu", NOT_MEASURED, ""},
    {"temperature.gpu.tlimit", NOT_MEASURED, ""},
    {"temperature.memory", NOT_MEASURED, ""},
    {"power.draw", NOT_MEASURED, "W"},
    {"power.draw.average", NOT_MEASURED, "W"},
    {"power.draw.instant", NOT_MEASURED, "W"},
    {"power.limit", NOT_MEASURED, "W"},
    {"power.default_limit", NOT_MEASURED, "W"},
    {"power.min_limit", NOT_MEASURED, "W"},
    {"power.max_limit", NOT_MEASURED, "W"},
    {"enforced.power.limit", NOT_MEASURED, "W"},
    {"power.management", NOT_MEASURED, ""},
    {"clocks.gr", NOT_MEASURED, "MHz"},
    {"clocks.current.graphics", NOT_MEASURED, "MHz"},
    {"clocks.sm", NOT_MEASURED, "MHz"},
    {"clocks.current.sm", NOT_MEASURED, "MHz"},
    {"clocks.mem", NOT_MEASURED, "MHz"},
    {"clocks.current.memory", NOT_MEASURED, "MHz"},
    {"clocks.max.gr", NOT_MEASURED, "MHz"},
    {"clocks.max.graphics", NOT_MEASURED, "MHz"},
    {"clocks.max.sm", NOT_MEASURED, "MHz"},
    {"clocks.max.mem", NOT_MEASURED, "MHz"},
    {"clocks.max.memory", NOT_MEASURED, "MHz"},
    {"fan.speed", NOT_MEASURED, "%"},
    {"pstate", NOT_MEASURED, ""},
    {"serial", NOT_MEASURED, ""},
    {"gpu_serial", NOT_MEASURED, ""},
    {"vbios_version", NOT_MEASURED, ""},
    {"mig.mode.current", NOT_MEASURED, ""},
    {"mig.mode.pending", NOT_MEASURED, ""},
    {"pcie.link.gen.current", NOT_MEASURED, ""},
    {"pcie.link.gen.gpucurrent", NOT_MEASURED, ""},
    {"pcie.link.gen.max", NOT_MEASURED, ""},
    {"pcie.link.width.current", NOT_MEASURED, ""},
    {"pcie.link.width.max", NOT_MEASURED, ""},
    {"pci.domain", NOT_MEASURED, ""},
    {"pci.bus", NOT_MEASURED, ""},
    {"pci.device", NOT_MEASURED, ""},
    {"pci.device_id", NOT_MEASURED, ""},
    {"pci.sub_device_id", NOT_MEASURED, ""},
    {"ecc.mode.current", NOT_MEASURED, ""},
    {"ecc.mode.pending", NOT_MEASURED, ""},
    {"ecc.errors.", NOT_MEASURED, ""},
    {"clocks_throttle_reasons.", NOT_MEASURED, ""},
    {"clocks_event_reasons.", NOT_MEASURED, ""},
    {"inforom.", NOT_MEASURED, ""},
};

static const tide_smi_field OF_PROCESSES[] = {
    {"timestamp", TIMESTAMP, ""},
    {"gpu_name", NAME, ""},
    {"gpu_bus_id", BUS, ""},
    {"gpu_uuid", UUID, ""},
    {"gpu_serial", NOT_MEASURED, ""},
    {"pid", PID, ""},
    {"process_name", PROCESS_NAME, ""},
    {"name", PROCESS_NAME, ""},
    {"used_memory", PROCESS_USED, "MiB"},
    {"used_gpu_memory", PROCESS_USED, "MiB"},
};

static bool is_named(const tide_smi_field *field, const char *name) {
    size_t n = strlen(field->name);
    return field->name[n - 1] == '.' ? strncmp(name, field->name, n) == 0
                                     : strcmp(name, field->name) == 0;
}

const tide_smi_field *tide_smi_field_find(const char *name, bool of_processes) {
    const tide_smi_field *all = of_processes ? OF_PROCESSES : OF_CARDS;
    size_t n = of_processes ? sizeof(OF_PROCESSES) / sizeof(OF_PROCESSES[0])
                            : sizeof(OF_CARDS) / sizeof(OF_CARDS[0]);
    for (size_t i = 0; i < n; i++) {
        if (is_named(&all[i], name)) {
            return &all[i];
        }
    }
    return NULL;
}

void tide_smi_field_head(const tide_smi_field *field, const char *name, FILE *to) {
    if (field->unit[0] != '\0') {
        fprintf(to, "%s [%s]", name, field->unit);
    } else {
        fputs(name, to);
    }
}

static void give_time(FILE *to) {
    char text[32];
    struct timespec now;
    struct tm parts;
    if (clock_gettime(CLOCK_REALTIME, &now) == 0 && localtime_r(&now.tv_sec, &parts) != NULL &&
        strftime(text, sizeof(text), "%Y/%m/%d %H:%M:%S", &parts) > 0) {
        fprintf(to, "%s.%03ld", text, now.tv_nsec / 1000000);
    }
}

static void give_amount(const tide_smi_field *field, uint64_t amount, bool with_unit, FILE *to) {
    fprintf(to, "%llu%s%s", (unsigned long long)amount, with_unit ? " " : "",
            with_unit ? field->unit : "");
}

/* Texts, and numbers without a unit. */
static void give_text(kind of, const tide_smi_machine *machine, const tide_smi_card *card,
                      const tide_smi_process *process, FILE *to) {
    switch (of) {
    case NUMBER:
        fprintf(to, "%u", card->number);
        return;
    case COUNT:
        fprintf(to, "%zu", machine->n_cards);
        return;
    case PID:
        fprintf(to, "%u", process->pid);
        return;
    case CAPABILITY:
        fprintf(to, "%d.%d", card->major, card->minor);
        return;
    case TIMESTAMP:
        give_time(to);
        return;
    default:
        fputs(of == NAME           ? card->name
              : of == UUID         ? card->uuid
              : of == BUS          ? card->bus
              : of == DRIVER       ? machine->driver
              : of == PROCESS_NAME ? process->name
              : of == DISABLED     ? "Disabled"
              : of == DEFAULT      ? "Default"
                                   : "[N/A]",
              to);
        return;
    }
}

void tide_smi_field_value(const tide_smi_field *field, const tide_smi_machine *machine,
                          const tide_smi_card *card, const tide_smi_process *process,
                          bool with_unit, FILE *to) {
    bool is_of_card = field->of == TOTAL || field->of == FREE || field->of == USED;
    if (card->total_bytes == 0 && (is_of_card || field->of == RESERVED)) {
        fputs("[N/A]", to);
        return;
    }
    switch (field->of) {
    case TOTAL:
        give_amount(field, card->total_bytes >> MIB_SHIFT, with_unit, to);
        return;
    case FREE:
        give_amount(field, card->free_bytes >> MIB_SHIFT, with_unit, to);
        return;
    case USED:
        give_amount(field, card->used_bytes >> MIB_SHIFT, with_unit, to);
        return;
    case PROCESS_USED:
        give_amount(field, process->used_bytes >> MIB_SHIFT, with_unit, to);
        return;
    case RESERVED:
    case IDLE:
        give_amount(field, 0, with_unit, to);
        return;
    default:
        give_text(field->of, machine, card, process, to);
        return;
    }
}
