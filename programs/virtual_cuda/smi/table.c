#define _POSIX_C_SOURCE 200809L
#include "programs/virtual_cuda/smi/table.h"

#include <string.h>
#include <time.h>

enum { MIB_SHIFT = 20, PROCESS_NAME_COLUMNS = 35 };

#define LINE                                                                                       \
    "+-----------------------------------------------------------------------------------------+"  \
    "\n"
#define COLUMNS                                                                                    \
    "+-----------------------------------------+------------------------+----------------------+"  \
    "\n"

static void add_head(const tide_smi_machine *machine, FILE *to) {
    char text[64] = "";
    struct tm parts;
    time_t now = time(NULL);
    if (localtime_r(&now, &parts) != NULL) {
        (void)strftime(text, sizeof(text), "%a %b %e %H:%M:%S %Y", &parts);
    }
    fprintf(to, "%s\n" LINE, text);
    fprintf(to, "| NVIDIA-SMI %-22s Driver Version: %-14s CUDA Version: %-9s|\n", machine->driver,
            machine->driver, machine->cuda);
    fputs("|-----------------------------------------+------------------------+--------------------"
          "--+\n"
          "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. "
          "ECC |\n"
          "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute "
          "M. |\n"
          "|                                         |                        |               MIG "
          "M. |\n"
          "|=========================================+========================+===================="
          "==|\n",
          to);
}

static void add_card(const tide_smi_card *card, FILE *to) {
    fprintf(to, "| %3u  %-30.30s Off |   %-16s Off |                  N/A |\n", card->number,
            card->name, card->bus);
    char memory[64] = "Not Supported";
    if (card->total_bytes > 0) {
        (void)snprintf(memory, sizeof(memory), "%lluMiB / %6lluMiB",
                       (unsigned long long)(card->used_bytes >> MIB_SHIFT),
                       (unsigned long long)(card->total_bytes >> MIB_SHIFT));
    }
    fprintf(to, "| N/A   N/A  N/A            N/A /    N/A  | %22s |      0%%      Default |\n",
            memory);
    fputs("|                                         |                        |                  "
          "N/A |\n" COLUMNS,
          to);
}

/* A long path loses its beginning, because the end says more. */
static void add_process(const tide_smi_card *card, const tide_smi_process *process, FILE *to) {
    char name[PROCESS_NAME_COLUMNS + 1];
    size_t n = strlen(process->name);
    const char *end =
        n > PROCESS_NAME_COLUMNS ? process->name + n - (PROCESS_NAME_COLUMNS - 3) : process->name;
    (void)snprintf(name, sizeof(name), "%s%s", end != process->name ? "..." : "", end);
    fprintf(to, "| %4u   N/A  N/A %15u      C   %-35s %7lluMiB |\n", card->number, process->pid,
            name, (unsigned long long)(process->used_bytes >> MIB_SHIFT));
}

void tide_smi_table(const tide_smi_machine *machine, const bool *chosen, FILE *to) {
    size_t n_processes = 0;
    add_head(machine, to);
    for (size_t i = 0; i < machine->n_cards; i++) {
        if (chosen[i]) {
            add_card(&machine->cards[i], to);
        }
    }
    fputs("\n" LINE "| Processes:                                                                  "
          "            |\n"
          "|  GPU   GI   CI              PID   Type   Process name                        GPU "
          "Memory |\n"
          "|        ID   ID                                                               Usage    "
          "  |\n"
          "|======================================================================================="
          "==|\n",
          to);
    for (size_t i = 0; i < machine->n_cards; i++) {
        for (size_t k = 0; chosen[i] && k < machine->cards[i].n_processes; k++) {
            add_process(&machine->cards[i], &machine->cards[i].processes[k], to);
            n_processes++;
        }
    }
    if (n_processes == 0) {
        fputs("|  No running processes found                                                       "
              "      |\n",
              to);
    }
    fputs(LINE, to);
}
