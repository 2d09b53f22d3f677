#include "snapshot/kinds/oom_text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define UNKNOWN (-1)

enum { FLAT_BYTES = 4096 };

static bool starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* ---- numbers ---- */

/* All units are binary: PyTorch's "GB" is one, also. */
static int shift_of(const char *unit) {
    static const struct {
        const char *unit;
        int shift;
    } UNITS[] = {{"bytes", 0}, {"byte", 0}, {"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40},
                 {"KB", 10},   {"MB", 20},  {"GB", 30},  {"TB", 40},  {"B", 0}};
    for (size_t i = 0; i < sizeof(UNITS) / sizeof(UNITS[0]); i++) {
        size_t n = strlen(UNITS[i].unit);
        if (strncmp(unit, UNITS[i].unit, n) == 0 && !isalpha((unsigned char)unit[n])) {
            return UNITS[i].shift;
        }
    }
    return UNKNOWN;
}

int64_t tide_text_bytes(const char *text) {
    enum { MOST_DIGITS = 18 };
    const char *at = text + strspn(text, " \t");
    double number = 0;
    double digit = 1; /* value of the last one */
    size_t n_digits = 0;
    bool is_fraction = false;
    for (; isdigit((unsigned char)*at) || *at == '.' || *at == ','; at++) {
        if (*at == '.') {
            is_fraction = true;
        } else if (*at != ',') {
            number = number * 10 + (*at - '0');
            digit = is_fraction ? digit / 10 : digit;
            n_digits++;
        }
    }
    int shift = shift_of(at + strspn(at, " "));
    double unit = shift >= 0 ? (double)(INT64_C(1) << shift) : 0;
    double bytes = number * digit * unit;
    if (n_digits == 0 || n_digits > MOST_DIGITS || shift < 0 || bytes > 0x1p56) {
        return UNKNOWN;
    }
    return (int64_t)(bytes + 0.5);
}

int64_t tide_text_rounding(int64_t n_bytes) {
    enum { PER_HALF_DIGIT = 200 };
    int shift = n_bytes >= INT64_C(1) << 30   ? 30
                : n_bytes >= INT64_C(1) << 20 ? 20
                : n_bytes >= INT64_C(1) << 10 ? 10
                                              : 0;
    return (INT64_C(1) << shift) / PER_HALF_DIGIT;
}

/* The number after `word`. */
static int64_t bytes_after(const char *text, const char *word) {
    const char *found = strstr(text, word);
    return found != NULL ? tide_text_bytes(found + strlen(word)) : UNKNOWN;
}

/* The number before `word`: "1.31 GiB free;". */
static int64_t bytes_before(const char *text, const char *word) {
    const char *found = strstr(text, word);
    if (found == NULL) {
        return UNKNOWN;
    }
    while (found > text && found[-1] == ' ') {
        found--;
    }
    while (found > text && isalpha((unsigned char)found[-1])) {
        found--;
    }
    while (found > text && found[-1] == ' ') {
        found--;
    }
    while (found > text && (isdigit((unsigned char)found[-1]) || found[-1] == '.')) {
        found--;
    }
    return tide_text_bytes(found);
}

/* ---- PyTorch ---- */

static void forget(tide_oom_text *oom) {
    int64_t *const figures[] = {&oom->device,          &oom->requested_bytes,
                                &oom->total_bytes,     &oom->free_bytes,
                                &oom->allocated_bytes, &oom->reserved_bytes,
                                &oom->limit_bytes,     &oom->private_pool_bytes,
                                &oom->other_bytes,     &oom->own_bytes,
                                &oom->cached_bytes,    &oom->parameter_bytes,
                                &oom->output_bytes,    &oom->temporary_bytes,
                                &oom->program_bytes,   &oom->fragmentation_bytes};
    memset(oom, 0, sizeof(*oom));
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        *figures[i] = UNKNOWN;
    }
}

/* "Process 20398 has 14.52 GiB memory in use." */
static void read_processes(tide_oom_text *oom, const char *text) {
    static const char PROCESS[] = "Process ";
    for (const char *at = text; (at = strstr(at, PROCESS)) != NULL;) {
        char *end = NULL;
        at += sizeof(PROCESS) - 1;
        int64_t number = strtoll(at, &end, 10);
        int64_t bytes = starts_with(end, " has ") ? tide_text_bytes(end + 5) : UNKNOWN;
        if (end > at && bytes >= 0 && oom->n_processes < TIDE_OOM_PROCESSES) {
            oom->processes[oom->n_processes].number = number;
            oom->processes[oom->n_processes++].bytes = bytes;
        }
    }
}

/* "(GPU 0; 23.65 GiB total capacity; 21.60 GiB already allocated; 1.31 GiB free; 21.90 GiB reserved
 * in total by PyTorch)" up to 2.0, with "x GiB cached" up to 1.3: of those not allocated. */
static void read_old(tide_oom_text *oom, const char *text) {
    oom->total_bytes = bytes_before(text, " total capacity");
    oom->allocated_bytes = bytes_before(text, " already allocated");
    oom->free_bytes = bytes_before(text, " free");
    oom->reserved_bytes = bytes_before(text, " reserved in total");
    oom->cached_bytes = bytes_before(text, " cached");
}

/* "GPU 0 has a total capacity of 23.65 GiB of which 41.56 MiB is free. ...", since 2.1. */
static void read_new(tide_oom_text *oom, const char *text) {
    oom->total_bytes = bytes_after(text, "total capacity of ");
    if (oom->total_bytes < 0) {
        oom->total_bytes = bytes_after(text, "total capacty of "); /* of 2.1 and 2.2 */
    }
    oom->free_bytes = bytes_before(text, " is free");
    oom->own_bytes = bytes_after(text, "this process has ");
    oom->allocated_bytes = bytes_before(text, " is allocated by PyTorch");
    oom->private_pool_bytes = bytes_before(text, " allocated in private pools");
    oom->cached_bytes = bytes_before(text, " is reserved by PyTorch but unallocated");
    read_processes(oom, text);
}

/* The text on one line. A console may have broken it anywhere: `between` is put in place of a line
 * feed with the blanks around it. */
static void flatten(const char *text, const char *between, char flat[FLAT_BYTES]) {
    size_t n = 0;
    for (const char *at = text; *at != '\0' && n + 2 < FLAT_BYTES;) {
        size_t n_blank = strspn(at, " \r\n");
        bool is_break = memchr(at, '\n', n_blank) != NULL;
        at += n_blank;
        if (n_blank > 0 && (!is_break || *between != '\0')) {
            flat[n++] = ' ';
        } else if (n_blank == 0) {
            flat[n++] = *at++;
        }
    }
    flat[n] = '\0';
}

static void read_flat(const char *text, tide_oom_text *oom) {
    bool is_new = strstr(text, " has a total capac") != NULL;
    oom->form = TIDE_OOM_PYTORCH;
    oom->requested_bytes = bytes_after(text, "Tried to allocate ");
    oom->limit_bytes = bytes_before(text, " allowed");
    const char *gpu = strstr(text, "GPU ");
    oom->device =
        gpu != NULL && isdigit((unsigned char)gpu[4]) ? strtoll(gpu + 4, NULL, 10) : UNKNOWN;
    (is_new ? read_new : read_old)(oom, text);
    if (oom->reserved_bytes < 0 && oom->allocated_bytes >= 0 && oom->cached_bytes >= 0) {
        oom->reserved_bytes = oom->allocated_bytes + oom->cached_bytes;
    }
    oom->advice = strstr(text, "expandable_segments:True") != NULL ? TIDE_OOM_ADVICE_EXPANDABLE
                  : strstr(text, "max_split_size_mb") == NULL      ? TIDE_OOM_ADVICE_NONE
                  : is_new                                         ? TIDE_OOM_ADVICE_SPLIT_2_1
                                                                   : TIDE_OOM_ADVICE_SPLIT;
    oom->is_hip = starts_with(text, "HIP");
    oom->is_xpu = starts_with(text, "XPU");
    oom->is_cut = oom->requested_bytes >= 0 && oom->reserved_bytes < 0;
}

static bool read_pytorch(const char *text, tide_oom_text *oom) {
    char flat[FLAT_BYTES];
    flatten(text, " ", flat);
    read_flat(flat, oom);
    if (oom->is_cut || oom->requested_bytes < 0) {
        tide_oom_text joined;
        forget(&joined);
        flatten(text, "", flat);
        read_flat(flat, &joined);
        *oom = joined.reserved_bytes >= 0 ? joined : *oom;
    }
    return true;
}

/* The rest of a message whose beginning is on another line, or missing. */
static bool read_rest(const char *text, tide_oom_text *oom) {
    return read_pytorch(text, oom) && oom->free_bytes >= 0;
}

/* "MPS backend out of memory (MPS allocated: 9.05 GB, other allocations: 7.45 MB, max allowed: 9.07
 * GB). Tried to allocate 25.00 MB on private pool." */
static bool read_mps(const char *text, tide_oom_text *oom) {
    oom->form = TIDE_OOM_MPS;
    oom->allocated_bytes = bytes_after(text, "MPS allocated: ");
    oom->other_bytes = bytes_after(text, "other allocations: ");
    oom->limit_bytes = bytes_after(text, "max allowed: ");
    oom->requested_bytes = bytes_after(text, "Tried to allocate ");
    return oom->requested_bytes >= 0;
}

static bool read_host(const char *text, tide_oom_text *oom) {
    oom->form = TIDE_OOM_HOST;
    oom->requested_bytes = bytes_after(text, "tried to allocate ");
    return oom->requested_bytes >= 0;
}

/* ---- others ---- */

/* A field of the largest buffer, up to the end of its line. */
static size_t field_of(const char *text, const char *name, const char **ret_field) {
    const char *found = strstr(text, name);
    *ret_field = found != NULL ? found + strlen(name) + strspn(found + strlen(name), " ") : "";
    return strcspn(*ret_field, "\n");
}

static void read_largest_buffer(tide_oom_text *oom, const char *text) {
    const char *first = strstr(text, "Buffer 1:");
    const char *end = first != NULL ? strstr(first, "====") : NULL;
    const char *size = NULL;
    const char *shape = NULL;
    const char *file = NULL;
    const char *line = NULL;
    if (end == NULL) {
        return;
    }
    size_t n_size = field_of(first, "Size:", &size);
    size_t n_shape = field_of(first, "Shape:", &shape);
    (void)field_of(first, "source_file=\"", &file);
    (void)field_of(first, "source_line=", &line);
    int n = snprintf(oom->buffer, sizeof(oom->buffer), "%.*s", (int)n_size, size);
    if (size > end || n_size == 0 || n <= 0) {
        oom->buffer[0] = '\0';
        return;
    }
    size_t used = strlen(oom->buffer);
    if (*shape != '\0' && shape < end) {
        (void)snprintf(oom->buffer + used, sizeof(oom->buffer) - used, ", %.*s", (int)n_shape,
                       shape);
        used = strlen(oom->buffer);
    }
    if (*file != '\0' && file < end && *line != '\0' && line < end) {
        (void)snprintf(oom->buffer + used, sizeof(oom->buffer) - used, ", made at %.*s:%.*s",
                       (int)strcspn(file, "\"\n"), file, (int)strspn(line, "0123456789"), line);
    }
}

/* "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 4770354232 bytes." and the statistics
 * of the compiled program after it; "Failed to allocate request for 176.00MiB (184549376B)". */
static bool read_xla(const char *text, tide_oom_text *oom) {
    static const char *const BEFORE[] = {"trying to allocate ", "allocate request for ",
                                         "Attempting to allocate ", "to reserve "};
    char flat[FLAT_BYTES];
    oom->form = TIDE_OOM_XLA;
    flatten(text, " ", flat);
    for (size_t i = 0; i < sizeof(BEFORE) / sizeof(BEFORE[0]) && oom->requested_bytes < 0; i++) {
        oom->requested_bytes = bytes_after(flat, BEFORE[i]);
    }
    oom->parameter_bytes = bytes_after(text, "parameter allocation:");
    oom->output_bytes = bytes_after(text, "maybe_live_out allocation:");
    oom->temporary_bytes = bytes_after(text, "preallocated temp allocation:");
    oom->program_bytes = bytes_after(text, "total allocation:");
    oom->fragmentation_bytes = bytes_after(text, "total fragmentation:");
    read_largest_buffer(oom, text);
    return oom->requested_bytes >= 0;
}

/* Bytes of one element; 0: not known. */
static int64_t element_bytes(const char *type) {
    static const struct {
        const char *name;
        int64_t bytes;
    } TYPES[] = {{"float", 4}, {"half", 2},  {"double", 8},    {"bfloat16", 2},
                 {"int32", 4}, {"int64", 8}, {"int8", 1},      {"uint8", 1},
                 {"bool", 1},  {"int16", 2}, {"complex64", 8}, {"complex128", 16}};
    size_t n = strcspn(type, " ");
    for (size_t i = 0; i < sizeof(TYPES) / sizeof(TYPES[0]); i++) {
        if (strlen(TYPES[i].name) == n && strncmp(TYPES[i].name, type, n) == 0) {
            return TYPES[i].bytes;
        }
    }
    return 0;
}

/* "OOM when allocating tensor with shape[32,1024,1024] and type float on ... by allocator
 * GPU_0_bfc"
 */
static bool read_tensorflow(const char *text, tide_oom_text *oom) {
    const char *shape = strstr(text, "shape[");
    const char *type = shape != NULL ? strstr(shape, "] and type ") : NULL;
    oom->form = TIDE_OOM_TENSORFLOW;
    if (type == NULL) {
        return false;
    }
    double bytes = (double)element_bytes(type + 11);
    for (const char *at = shape + 6; at < type;) {
        char *end = NULL;
        bytes *= (double)strtoll(at, &end, 10);
        at = end > at ? end : at + 1;
        at += *at == ',';
    }
    if (bytes > 0 && bytes < 0x1p56) {
        oom->requested_bytes = (int64_t)bytes;
    }
    (void)snprintf(oom->buffer, sizeof(oom->buffer), "%.*s of type %.*s",
                   (int)(type + 1 - shape - 5), shape + 5, (int)strcspn(type + 11, " "), type + 11);
    return true;
}

/* "Out of memory allocating 1,000 bytes (allocated so far: 2,000 bytes, limit set to: 3,000 bytes)"
 */
static bool read_cupy(const char *text, tide_oom_text *oom) {
    oom->form = TIDE_OOM_CUPY;
    oom->requested_bytes = bytes_after(text, "Out of memory allocating ");
    oom->allocated_bytes = bytes_after(text, "allocated so far: ");
    oom->limit_bytes = bytes_after(text, "limit set to: ");
    return oom->requested_bytes >= 0;
}

/* "allocating 4096.00 MiB on device 0: cudaMalloc failed: out of memory" */
static bool read_cuda_request(const char *text, tide_oom_text *oom) {
    oom->form = TIDE_OOM_CUDA_REQUEST;
    oom->requested_bytes = bytes_after(text, "allocating ");
    const char *device = strstr(text, "on device ");
    oom->device = device != NULL ? strtoll(device + 10, NULL, 10) : UNKNOWN;
    return oom->requested_bytes >= 0 && strstr(text, "out of memory") != NULL;
}

static bool read_cuda(const char *text, tide_oom_text *oom) {
    oom->form = TIDE_OOM_CUDA;
    oom->may_be_late = strstr(text, "asynchronously reported") != NULL;
    return true;
}

/* A message begins with one of these; the first row that matches reads it. */
static const struct {
    const char *beginning;
    bool (*read)(const char *text, tide_oom_text *oom);
} FORMS[] = {
    {"CUDA out of memory", read_pytorch},
    {"HIP out of memory", read_pytorch},
    {"XPU out of memory", read_pytorch},
    {"Tried to allocate ", read_rest},
    {"MPS backend out of memory", read_mps},
    {"DefaultCPUAllocator: ", read_host},
    {"RESOURCE_EXHAUSTED: ", read_xla},
    {"Resource exhausted: ", read_xla},
    {"OOM when allocating tensor", read_tensorflow},
    {"Out of memory while trying to allocate", read_xla},
    {"Out of memory allocating ", read_cupy},
    {"allocating ", read_cuda_request},
    {"CUDA error: out of memory", read_cuda},
    {"CUDA_ERROR_OUT_OF_MEMORY", read_cuda},
    {"cudaErrorMemoryAllocation", read_cuda},
    {"CUDA driver error: out of memory", read_cuda},
    {"cudaMalloc failed: out of memory", read_cuda},
    {"CUDA failed with error out of memory", read_cuda},
    {"CUDA runtime error: out of memory", read_cuda},
    {"CUDA failure 2: out of memory", read_cuda},
    {"Cuda failure 'out of memory'", read_cuda},
    {"Cuda failure 2 'out of memory'", read_cuda},
    {"cuda runtime error (2) : out of memory", read_cuda},
    {"CUBLAS_STATUS_ALLOC_FAILED", read_cuda},
    {"CUDNN_STATUS_ALLOC_FAILED", read_cuda},
};

enum { N_FORMS = sizeof(FORMS) / sizeof(FORMS[0]) };

/* "allocating" is an everyday word. */
static bool is_beginning(const char *found, size_t form) {
    return FORMS[form].read != read_cuda_request || strstr(found, "out of memory") != NULL;
}

const char *tide_oom_text_find(const char *line) {
    const char *first = NULL;
    for (size_t i = 0; i < N_FORMS; i++) {
        const char *found = strstr(line, FORMS[i].beginning);
        if (found != NULL && (first == NULL || found < first) && is_beginning(found, i)) {
            first = found;
        }
    }
    return first;
}

bool tide_oom_text_read(const char *text, tide_oom_text *ret_oom) {
    for (size_t i = 0; i < N_FORMS; i++) {
        if (starts_with(text, FORMS[i].beginning)) {
            forget(ret_oom);
            if (FORMS[i].read(text, ret_oom)) {
                return true;
            }
        }
    }
    return false;
}
