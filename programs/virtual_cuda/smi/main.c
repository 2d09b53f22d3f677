/* nvidia-smi - answers the common queries of NVIDIA's program for virtual cards.
 *
 * It is on the PATH only in a run on virtual cards. It prints the table, -L, --query-gpu and
 * --query-compute-apps in csv, and --version; -i chooses cards, -l repeats. Other options are
 * refused with the status and the words of NVIDIA's program.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "programs/virtual_cuda/smi/cards.h"
#include "programs/virtual_cuda/smi/fields.h"
#include "programs/virtual_cuda/smi/table.h"

/* Exit statuses of NVIDIA's program. */
enum { OK = 0, INVALID = 2, NOT_FOUND = 6, NO_DRIVER = 9 };
enum { MAX_FIELDS = 64, NAME_BYTES = 64, MS_OF_SECOND = 1000, NS_OF_MS = 1000000 };

typedef struct options {
    bool lists, tells_version;
    const char *cards;     /* of --query-gpu; NULL if not given */
    const char *processes; /* of --query-compute-apps */
    const char *format;
    const char *chosen; /* of -i; NULL: all */
    long every_ms;      /* of -l; 0: once */
} options;

/* The columns of a query. */
typedef struct query {
    size_t n;
    char names[MAX_FIELDS][NAME_BYTES];
    const tide_smi_field *fields[MAX_FIELDS];
    bool of_processes, has_head, has_units;
} query;

/* ---- options ---- */

/* The value of an option, which follows "=" or is the next argument; NULL if it is another
 * option. */
static const char *value_of(const char *name, char **argv, int *i) {
    size_t n = strlen(name);
    if (strncmp(argv[*i], name, n) != 0) {
        return NULL;
    }
    if (argv[*i][n] == '=') {
        return argv[*i] + n + 1;
    }
    return argv[*i][n] == '\0' && argv[*i + 1] != NULL ? argv[++*i] : NULL;
}

static bool take_value(const char *const *names, char **argv, int *i, const char **ret) {
    for (; *names != NULL; names++) {
        const char *value = value_of(*names, argv, i);
        if (value != NULL) {
            *ret = value;
            return true;
        }
    }
    return false;
}

static bool parse(char **argv, options *ret) {
    static const char *const CARDS[] = {"--query-gpu", NULL};
    static const char *const PROCESSES[] = {"--query-compute-apps", NULL};
    static const char *const FORMAT[] = {"--format", NULL};
    static const char *const CHOSEN[] = {"-i", "--id", NULL};
    static const char *const LOOP[] = {"-l", "--loop", NULL};
    static const char *const LOOP_MS[] = {"-lms", "--loop-ms", NULL};
    for (int i = 1; argv[i] != NULL; i++) {
        const char *number = NULL;
        if (strcmp(argv[i], "-L") == 0 || strcmp(argv[i], "--list-gpus") == 0) {
            ret->lists = true;
        } else if (strcmp(argv[i], "--version") == 0) {
            ret->tells_version = true;
        } else if (take_value(LOOP_MS, argv, &i, &number)) {
            ret->every_ms = strtol(number, NULL, 10);
        } else if (take_value(LOOP, argv, &i, &number)) {
            ret->every_ms = strtol(number, NULL, 10) * MS_OF_SECOND;
        } else if (!take_value(CARDS, argv, &i, &ret->cards) &&
                   !take_value(PROCESSES, argv, &i, &ret->processes) &&
                   !take_value(FORMAT, argv, &i, &ret->format) &&
                   !take_value(CHOSEN, argv, &i, &ret->chosen)) {
            return false;
        }
    }
    bool is_query = ret->cards != NULL || ret->processes != NULL;
    return is_query == (ret->format != NULL) && (ret->cards == NULL || ret->processes == NULL) &&
           (!is_query || strncmp(ret->format, "csv", strlen("csv")) == 0);
}

/* Numbers, UUIDs or PCI bus addresses, separated by commas. False: one of them matches no card. */
static bool choose(const tide_smi_machine *machine, const char *text, bool *ret_chosen) {
    for (size_t i = 0; i < machine->n_cards; i++) {
        ret_chosen[i] = text == NULL;
    }
    while (text != NULL && *text != '\0') {
        size_t n = strcspn(text, ",");
        bool is_found = false;
        for (size_t i = 0; i < machine->n_cards; i++) {
            char number[16];
            const tide_smi_card *card = &machine->cards[i];
            (void)snprintf(number, sizeof(number), "%u", card->number);
            const char *const names[] = {number, card->uuid, card->bus};
            for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
                if (strlen(names[k]) == n && strncmp(names[k], text, n) == 0) {
                    ret_chosen[i] = is_found = true;
                }
            }
        }
        if (!is_found) {
            return false;
        }
        text += n + (text[n] == ',');
    }
    return true;
}

/* ---- queries ---- */

/* Takes the next name of a comma-separated list and skips the blanks around it. */
static const char *take_name(const char *at, char ret[NAME_BYTES]) {
    at += strspn(at, " ,");
    size_t n = strcspn(at, ", ");
    (void)snprintf(ret, NAME_BYTES, "%.*s", (int)n, at);
    return at + n;
}

static bool read_query(const options *of, query *ret, FILE *to) {
    const char *at = of->cards != NULL ? of->cards : of->processes;
    *ret = (query){.of_processes = of->cards == NULL,
                   .has_head = strstr(of->format, "noheader") == NULL,
                   .has_units = strstr(of->format, "nounits") == NULL};
    for (at = take_name(at, ret->names[0]); ret->names[ret->n][0] != '\0';) {
        ret->fields[ret->n] = tide_smi_field_find(ret->names[ret->n], ret->of_processes);
        if (ret->fields[ret->n] == NULL || ret->n + 1 == MAX_FIELDS) {
            fprintf(to, "Field \"%s\" is not a valid field to query.\n\n", ret->names[ret->n]);
            return false;
        }
        ret->n++;
        at = take_name(at, ret->names[ret->n]);
    }
    return ret->n > 0;
}

static void add_row(const query *of, const tide_smi_machine *machine, const tide_smi_card *card,
                    const tide_smi_process *process, FILE *to) {
    for (size_t i = 0; i < of->n; i++) {
        fputs(i > 0 ? ", " : "", to);
        tide_smi_field_value(of->fields[i], machine, card, process, of->has_units, to);
    }
    fputc('\n', to);
}

static void answer_query(const query *of, const tide_smi_machine *machine, const bool *chosen,
                         FILE *to) {
    for (size_t i = 0; of->has_head && i < of->n; i++) {
        fputs(i > 0 ? ", " : "", to);
        tide_smi_field_head(of->fields[i], of->names[i], to);
    }
    fputs(of->has_head ? "\n" : "", to);
    for (size_t i = 0; i < machine->n_cards; i++) {
        const tide_smi_card *card = &machine->cards[i];
        if (chosen[i] && !of->of_processes) {
            add_row(of, machine, card, NULL, to);
        }
        for (size_t k = 0; chosen[i] && of->of_processes && k < card->n_processes; k++) {
            add_row(of, machine, card, &card->processes[k], to);
        }
    }
}

/* ---- answers ---- */

static void list(const tide_smi_machine *machine, const bool *chosen, FILE *to) {
    for (size_t i = 0; i < machine->n_cards; i++) {
        if (chosen[i]) {
            fprintf(to, "GPU %u: %s (UUID: %s)\n", machine->cards[i].number, machine->cards[i].name,
                    machine->cards[i].uuid);
        }
    }
}

static int answer(const options *of, FILE *to) {
    static tide_smi_machine machine; /* too large for the stack */
    static query asked;
    bool chosen[TIDE_SMI_CARDS] = {false};
    if (!tide_smi_read(&machine)) {
        fputs("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make "
              "sure that the latest NVIDIA driver is installed and running.\n\n",
              to);
        return NO_DRIVER;
    }
    if (!choose(&machine, of->chosen, chosen)) {
        fputs("No devices were found\n", to);
        return NOT_FOUND;
    }
    if (of->tells_version) {
        fprintf(to,
                "NVIDIA-SMI version  : %s\nNVML version        : %s\nDRIVER version      : %s\n"
                "CUDA Version        : %s\n",
                machine.driver, machine.nvml, machine.driver, machine.cuda);
    } else if (of->lists) {
        list(&machine, chosen, to);
    } else if (of->format == NULL) {
        tide_smi_table(&machine, chosen, to);
    } else if (read_query(of, &asked, to)) {
        answer_query(&asked, &machine, chosen, to);
    } else {
        return INVALID;
    }
    return OK;
}

int main(int argc, char **argv) {
    options of = {.cards = NULL};
    (void)argc;
    if (!parse(argv, &of)) {
        fputs("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.\n\n"
              "(of a virtual card: nvidia-smi, -L, --query-gpu=..., --query-compute-apps=..., "
              "--format=csv[,noheader][,nounits], -i, -l, --version)\n",
              stdout);
        return 1;
    }
    int status = answer(&of, stdout);
    while (status == OK && of.every_ms > 0 && fflush(stdout) == 0) {
        const struct timespec pause = {.tv_sec = of.every_ms / MS_OF_SECOND,
                                       .tv_nsec = of.every_ms % MS_OF_SECOND * NS_OF_MS};
        (void)nanosleep(&pause, NULL);
        status = answer(&of, stdout);
    }
    return status;
}
