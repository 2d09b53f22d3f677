#include "programs/virtual_cuda/launches/kernels/triton.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/card/blocks.h"
#include "programs/virtual_cuda/process/fork.h"
#include "programs/virtual_cuda/launches/launch_log.h"
#include "programs/virtual_cuda/launches/stores.h"
#include "programs/virtual_cuda/launches/kernels/triton_internal.h"
#include "programs/virtual_cuda/values/computed.h"

/* ---- the kernels ---- */

enum { GUESSED_BYTES = 8, MOST_KEPT = 16 };

typedef struct made_kernel {
    const tide_triton_program *program; /* NULL: unknown */
    struct made_kernel *former; /* of a reused handle; kept, because a launch may still read it */
    /* Rows of the latest launches, from malloc; never released. The lock guards them. */
    tide_triton_kept *kept[MOST_KEPT];
    unsigned next; /* the place of the next one */
} made_kernel;

static struct triton_kernels {
    /* From a handle to its latest kernel, from malloc; never released, because kernels are not. The
     * lock guards it. */
    tide_map latest;
    atomic_bool has_any; /* for programs without Triton, which take no lock */
} made_kernels;
TIDE_VC_LOCK(lock, NULL);

/* NULL if the handle is not of a kernel of Triton's. The caller holds the lock. */
static made_kernel *latest_of(const void *kernel) {
    uint64_t found = 0;
    (void)tide_map_find(&made_kernels.latest, (uintptr_t)kernel, &found);
    return (made_kernel *)(uintptr_t)found; // NOLINT(performance-no-int-to-ptr)
}

/* The whole file, ended by a 0, from malloc; NULL if it cannot be read. */
static char *read_file(const char *path) {
    enum { MOST_BYTES = 4 << 20 };
    FILE *file = fopen(path, "rb");
    char *text = file != NULL ? malloc(MOST_BYTES) : NULL;
    if (text != NULL) {
        size_t n = fread(text, 1, MOST_BYTES - 1, file);
        text[n] = '\0';
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return text;
}

static const tide_triton_program *program_of(const char *machine_code) {
    static const char CUBIN[] = ".cubin";
    char path[4096];
    size_t n = machine_code != NULL ? strlen(machine_code) : 0;
    if (n < strlen(CUBIN) || n >= sizeof(path) ||
        strcmp(machine_code + n - strlen(CUBIN), CUBIN) != 0) {
        return NULL;
    }
    (void)snprintf(path, sizeof(path), "%.*s.ttir", (int)(n - strlen(CUBIN)), machine_code);
    char *text = read_file(path);
    const tide_triton_program *program = text != NULL ? tide_triton_parse(text) : NULL;
    free(text);
    return program;
}

void tide_vc_triton_add(const void *kernel, const char *machine_code) {
    made_kernel *made = tide_vc_is_logged(tide_vc_launch_begin()) ? malloc(sizeof(*made)) : NULL;
    if (made == NULL) {
        return;
    }
    *made = (made_kernel){.program = program_of(machine_code)};
    pthread_mutex_lock(&lock);
    made->former = latest_of(kernel);
    tide_status status = tide_map_put(&made_kernels.latest, (uintptr_t)kernel, (uintptr_t)made);
    pthread_mutex_unlock(&lock);
    if (status != TIDE_OK) {
        free(made);
        return;
    }
    atomic_store(&made_kernels.has_any, true);
}

TIDE_VC_EXPORT void tidemark_launches_kernel(const void *kernel, const char *machine_code);

/* For python/tidemark: Triton's own launcher passes machine code without its path.
 */
void tidemark_launches_kernel(const void *kernel, const char *machine_code) {
    tide_vc_triton_add(kernel, machine_code);
    tide_vc_stores_add(kernel, machine_code);
}

static made_kernel *find(const void *kernel) {
    pthread_mutex_lock(&lock);
    made_kernel *of = latest_of(kernel);
    pthread_mutex_unlock(&lock);
    return of;
}

static uint64_t bytes_from(uint64_t address) {
    tide_vc_block block;
    return tide_vc_block_find(address, &block) ? block.address + block.n_bytes - address : 0;
}

/* ---- rows of former launches ---- */

/* The place of the key; NULL: it has none. The caller holds the lock. */
static tide_triton_kept *place_of(const made_kernel *of, const tide_triton_key *key) {
    for (size_t i = 0; i < MOST_KEPT && of->kept[i] != NULL; i++) {
        if (memcmp(&of->kept[i]->key, key, sizeof(*key)) == 0) {
            return of->kept[i];
        }
    }
    return NULL;
}

/* What the row needs is read without the lock: other modules have locks of their own. */
static bool find_kept(const made_kernel *of, const tide_vc_launched_kernel *launched,
                      const tide_triton_key *key, tide_run_launch *ret_row) {
    tide_triton_kept kept;
    pthread_mutex_lock(&lock);
    const tide_triton_kept *found = place_of(of, key);
    if (found != NULL) {
        kept = *found;
    }
    pthread_mutex_unlock(&lock);
    if (found == NULL || !tide_triton_holds(&kept, launched)) {
        return false;
    }
    *ret_row = kept.row;
    return true;
}

static void keep(made_kernel *of, const tide_triton_kept *kept) {
    tide_triton_kept *spare = malloc(sizeof(*spare));
    pthread_mutex_lock(&lock);
    tide_triton_kept *to = place_of(of, &kept->key);
    if (to == NULL) {
        tide_triton_kept **place = &of->kept[of->next % MOST_KEPT];
        if (*place == NULL) {
            *place = spare;
            spare = NULL;
        }
        to = *place;
        of->next += to != NULL;
    }
    if (to != NULL) {
        *to = *kept;
    }
    pthread_mutex_unlock(&lock);
    free(spare);
}

/* False: the text cannot be followed. */
static bool follow(made_kernel *of, const tide_vc_launched_kernel *launched, tide_run_launch *row) {
    tide_triton_key key;
    tide_triton_needs needs;
    tide_triton_kept kept;
    bool has_key = tide_triton_key_of(launched, of->program, &key);
    if (has_key && find_kept(of, launched, &key, row)) {
        return true;
    }
    bool is_followed = tide_triton_follow(launched, of->program, row, &needs);
    if (is_followed && has_key && tide_triton_keep(launched, &key, &needs, row, &kept)) {
        keep(of, &kept);
    }
    return is_followed;
}

bool tide_vc_triton_work(const tide_vc_kernel_call *call, tide_run_launch *ret_row) {
    made_kernel *of = atomic_load_explicit(&made_kernels.has_any, memory_order_relaxed)
                          ? find(call->kernel)
                          : NULL;
    if (of == NULL) {
        return false;
    }
    tide_vc_launched_kernel launched = {.call = call,
                                        .n_threads = 1,
                                        .bytes_from = bytes_from,
                                        .read_value = tide_vc_computed_read};
    tide_run_launch row = {
        .kind = TIDE_RUN_KERNEL, .family = TIDE_RUN_GENERATED, .flags = TIDE_RUN_ESTIMATED};
    for (size_t i = 0; i < 3; i++) {
        launched.n_threads *= (uint64_t)call->grid[i] * call->block[i];
    }
    if (of->program != NULL) {
        tide_vc_arguments_find(call->arguments, (unsigned)of->program->n_arguments,
                               &launched.arguments);
    }
    if (of->program == NULL || !follow(of, &launched, &row)) {
        row.elements = launched.n_threads;
        row.bytes = GUESSED_BYTES * launched.n_threads;
        row.flags = TIDE_RUN_GUESSED;
    }
    *ret_row = row;
    return true;
}
