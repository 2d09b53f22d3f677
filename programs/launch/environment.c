/* The environment of the program: this process' environment, the variables that the libraries read,
 * and those that keep experiment trackers offline. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/hostmem.h"
#include "programs/wire/run_launches.h"
#include "programs/launch/compilers.h"
#include "programs/launch/launch_internal.h"
#include "programs/launch/trackers.h"

extern char **environ;

enum { MAX_ADDED = 57, NUMBER_BYTES = 24 };

typedef struct builder {
    char **entries; /* owned, and so is each; NULL-terminated */
    size_t n, capacity;
    bool no_memory;
} builder;

static bool is_named(const char *entry, const char *name) {
    size_t n = strlen(name);
    return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

/* Adds an entry, or replaces the entry of that name. */
static void set(builder *to, const char *name, const char *value) {
    const tide_hostmem *mem = tide_hostmem_default();
    size_t n_bytes = strlen(name) + strlen(value) + 2;
    char *entry = tide_hostmem_zeroed(mem, n_bytes, 1);
    if (entry == NULL || to->n + 1 >= to->capacity) {
        mem->release(mem->ctx, entry);
        to->no_memory = true;
        return;
    }
    snprintf(entry, n_bytes, "%s=%s", name, value);
    for (size_t i = 0; i < to->n; i++) {
        if (is_named(to->entries[i], name)) {
            mem->release(mem->ctx, to->entries[i]);
            to->entries[i] = entry;
            return;
        }
    }
    to->entries[to->n++] = entry;
}

static void set_number(builder *to, const char *name, uint64_t value) {
    char text[NUMBER_BYTES];
    if (value > 0) {
        snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
        set(to, name, text);
    }
}

/* The current value of a variable; NULL if it is not set. */
static const char *find(const builder *of, const char *name) {
    for (size_t i = 0; i < of->n; i++) {
        if (is_named(of->entries[i], name)) {
            return of->entries[i] + strlen(name) + 1;
        }
    }
    return NULL;
}

/* Sets a variable to its current value with `first` before or `last` after it; one of the two is
 * NULL. */
static void join(builder *to, const char *name, const char *first, const char *last) {
    char text[4 * TIDE_LAUNCH_PATH_BYTES];
    const char *old = find(to, name);
    bool has_old = old != NULL && old[0] != '\0';
    first = first != NULL ? first : has_old ? old : "";
    last = last != NULL ? last : has_old ? old : "";
    int n = snprintf(text, sizeof(text), "%s%s%s", first, has_old ? ":" : "", last);
    if (n >= (int)sizeof(text)) {
        to->no_memory = true;
        return;
    }
    set(to, name, text);
}

static void copy_own(builder *to) {
    for (size_t i = 0; environ[i] != NULL; i++) {
        char name[TIDE_LAUNCH_PATH_BYTES];
        size_t n = strcspn(environ[i], "=");
        if (environ[i][n] == '=' && n < sizeof(name)) {
            snprintf(name, sizeof(name), "%.*s", (int)n, environ[i]);
            set(to, name, environ[i] + n + 1);
        }
    }
}

static void add_scratch(builder *to, const tide_launch *launch) {
    char text[2 * TIDE_LAUNCH_PATH_BYTES];
    snprintf(text, sizeof(text), "%s/writes", launch->folder);
    set(to, "TIDEMARK_SCRATCH", text);
    const char *name = NULL;
    const char *value = NULL;
    for (size_t i = 0; (name = tide_launch_tracker(i, &value)) != NULL; i++) {
        if (value != NULL) {
            set(to, name, value);
        }
        if (value != NULL && strcmp(name, "MLFLOW_TRACKING_URI") == 0) {
            set(to, "MLFLOW_ALLOW_FILE_STORE", "true"); /* mlflow 3.17 refuses folders otherwise */
        }
    }
}

/* Because the program may change its folder before the log is made. */
static bool make_absolute(const char *path, char *ret_path, size_t n_room) {
    char here[TIDE_LAUNCH_PATH_BYTES] = "";
    bool is_relative = path[0] != '/';
    return (!is_relative || getcwd(here, sizeof(here)) != NULL) &&
           snprintf(ret_path, n_room, "%s%s%s", here, is_relative ? "/" : "", path) < (int)n_room;
}

/* Adds a folder that stays real without the program's knowledge. The list is split at line ends,
 * because paths may contain colons. */
static void add_own(builder *to, const char *folder) {
    char text[4 * TIDE_LAUNCH_PATH_BYTES];
    const char *old = find(to, "TIDEMARK_SCRATCH_OWN");
    int n = snprintf(text, sizeof(text), "%s%s%s", old != NULL ? old : "", old != NULL ? "\n" : "",
                     folder);
    if (n >= (int)sizeof(text)) {
        to->no_memory = true;
        return;
    }
    set(to, "TIDEMARK_SCRATCH_OWN", text);
}

/* Points compilers to the cache that outlives the run. */
static void add_compilers(builder *to, const tide_launch *launch) {
    char text[2 * TIDE_LAUNCH_PATH_BYTES];
    const char *folder = NULL;
    const char *name = NULL;
    for (size_t i = 0; (name = tide_compilers_variable(i, &folder)) != NULL; i++) {
        if (folder != NULL) {
            snprintf(text, sizeof(text), "%s/%s", launch->compilers, folder);
            set(to, name, text);
        }
    }
    add_own(to, launch->compilers);
}

/* The variables of programs/live/ (programs/live/record.h). */
static void add_live(builder *to, const tide_launch *launch, const tide_launch_config *config) {
    char text[2 * TIDE_LAUNCH_PATH_BYTES];
    snprintf(text, sizeof(text), "%s/%%p.log", launch->logs);
    if (config->log != NULL && !make_absolute(config->log, text, sizeof(text))) {
        to->no_memory = true;
        return;
    }
    set(to, "TIDEMARK_LIVE", text);
    set(to, "TIDEMARK_LIVE_STACKS", config->stacks);
    set(to, "TIDEMARK_LIVE_FULL", config->full);
    set(to, "TIDEMARK_NAMES", config->names);
    set(to, "TIDEMARK_LIVE_FRAMES", ""); /* of a black box around the run (box_setup.h) */
    set(to, "TIDEMARK_LIVE_BYTES", "");  /* likewise */
    set_number(to, "TIDEMARK_LIVE_BYTES", config->log_bytes);
    set_number(to, "TIDEMARK_LIVE_EVERY", config->every);
    if (config->skips_calls) {
        set(to, "TIDEMARK_LIVE_DRIVER", "0");
    }
    set_number(to, "TIDEMARK_LIVE_ON_OOM", config->tells_failures);
    /* The log is not a file of the program. */
    char *slash = strrchr(text, '/');
    *slash = '\0'; /* it is absolute */
    add_own(to, text);
}

/* nvidia-smi is in the folder of the driver's names. Without a PATH, programs are searched in the
 * system's folders. */
static void add_smi(builder *to, const tide_launch *launch) {
    if (find(to, "PATH") == NULL) {
        set(to, "PATH", "/bin:/usr/bin");
    }
    join(to, "PATH", launch->library, NULL);
}

/* XLA builds CUDA graphs node by node, and times kernels to choose among them: a virtual card has
 * neither. The user's own flags win. */
static void add_xla(builder *to) {
    static const char *const FLAGS[] = {"--xla_gpu_enable_command_buffer=",
                                        "--xla_gpu_autotune_level=0"};
    char text[4 * TIDE_LAUNCH_PATH_BYTES];
    for (size_t i = 0; i < sizeof(FLAGS) / sizeof(FLAGS[0]); i++) {
        const char *old = find(to, "XLA_FLAGS");
        char name[sizeof("--xla_gpu_enable_command_buffer=")];
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(FLAGS[i], "="), FLAGS[i]);
        if (old != NULL && strstr(old, name) != NULL) {
            continue;
        }
        int n = snprintf(text, sizeof(text), "%s%s%s", old != NULL ? old : "",
                         old != NULL ? " " : "", FLAGS[i]);
        if (n >= (int)sizeof(text)) {
            to->no_memory = true;
            return;
        }
        set(to, "XLA_FLAGS", text);
    }
}

static void add_card(builder *to, const tide_launch *launch, const tide_launch_config *config) {
    char bytes[NUMBER_BYTES];
    set(to, "TIDEMARK_VIRTUAL_CARDS", config->cards);
    set(to, "TIDEMARK_VALUES", config->values);
    set(to, "TIDEMARK_STREAMS", config->streams);
    set_number(to, "TIDEMARK_VIRTUAL_MEMORY", config->memory_bytes);
    set_number(to, "TIDEMARK_VIRTUAL_SPILL", config->spill_bytes);
    if (config->nccl_bytes != TIDE_LAUNCH_NCCL_MODEL) {
        (void)snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)config->nccl_bytes);
        set(to, "TIDEMARK_NCCL_BYTES", bytes);
    }
    set_number(to, "TIDEMARK_AT_FAILURE", config->asks_at_failure);
    set_number(to, TIDE_RUN_LAUNCHES_VARIABLE, config->logs_launches);
    /* A run within a run has its own clock, or none. */
    if (config->clock != NULL || find(to, TIDE_RUN_CLOCK_VARIABLE) != NULL) {
        set(to, TIDE_RUN_CLOCK_VARIABLE, config->clock != NULL ? config->clock : "");
    }
    set(to, "TIDEMARK_RUN_LIBRARY", launch->library);
    join(to, "LD_LIBRARY_PATH", launch->library, NULL);
    add_xla(to);
    add_smi(to, launch);
}

/* The recording sees the calls of CUDA before the card answers them. The last object is also needed
 * with real writes: it passes the environment on to programs that are started with another one. */
static void add_preloaded(builder *to, const tide_launch *launch, bool is_live, bool is_virtual) {
    char text[4 * TIDE_LAUNCH_PATH_BYTES] = "";
    const struct {
        bool is_wanted;
        const char *name;
    } objects[] = {{is_live, "libtidemark_live.so"},
                   {is_virtual, "libtidemark_virtual_cuda.so"},
                   {tide_launch_has_scratch(launch), "libtidemark_scratch.so"}};
    for (size_t i = 0; i < sizeof(objects) / sizeof(objects[0]); i++) {
        size_t n = strlen(text);
        if (objects[i].is_wanted) {
            snprintf(text + n, sizeof(text) - n, "%s%s/%s", n > 0 ? ":" : "", launch->objects,
                     objects[i].name);
        }
    }
    join(to, "LD_PRELOAD", text, NULL);
}

/* Python imports this module at its start. Without a preloaded library it opens the library and
 * starts the recording; with changes it waits for torch, and with trackers it notes their runs. */
static void add_sitecustomize(builder *to, const tide_launch *launch, bool opens_live) {
    char text[2 * TIDE_LAUNCH_PATH_BYTES];
    snprintf(text, sizeof(text), "%s/tidemark/attach", launch->python);
    join(to, "PYTHONPATH", text, NULL);
    if (opens_live) {
        snprintf(text, sizeof(text), "%s/libtidemark_live.so", launch->objects);
        set(to, "TIDEMARK_LIVE_LIBRARY", text);
    }
}

/* PyTorch reads PYTORCH_ALLOC_CONF for CUDA only if the other is not set (CUDAAllocatorConfig.h of
 * 2.14), and the last of equal settings counts. */
static void add_settings(builder *to, const char *settings) {
    char text[TIDE_LAUNCH_PATH_BYTES];
    bool is_general =
        find(to, "PYTORCH_CUDA_ALLOC_CONF") == NULL && find(to, "PYTORCH_ALLOC_CONF") != NULL;
    const char *name = is_general ? "PYTORCH_ALLOC_CONF" : "PYTORCH_CUDA_ALLOC_CONF";
    const char *old = find(to, name);
    bool has_old = old != NULL && old[0] != '\0';
    int n =
        snprintf(text, sizeof(text), "%s%s%s", has_old ? old : "", has_old ? "," : "", settings);
    if (n >= (int)sizeof(text)) {
        to->no_memory = true;
        return;
    }
    set(to, name, text);
}

static void add_ours(builder *to, const tide_launch *launch, const tide_launch_config *config) {
    bool is_live = config->method != TIDE_LAUNCH_HISTORY && tide_launch_has_live(launch);
    bool is_preloaded = is_live && config->method != TIDE_LAUNCH_PYTHONPATH;
    set(to, "TIDEMARK_RUN_FOLDER", launch->folder);
    set(to, "TIDEMARK_PROGRAM", launch->program);
    set(to, "TIDEMARK_PYTHON", launch->python);
    join(to, "PYTHONPATH", NULL, launch->python); /* for programs that import tidemark */
    set_number(to, "TIDEMARK_STEPS", config->n_steps);
    set_number(to, "TIDEMARK_CALLS", config->n_calls);
    if (config->allocator_settings != NULL) {
        add_settings(to, config->allocator_settings);
    }
    if (config->cards != NULL) {
        add_card(to, launch, config);
    }
    if (is_live) {
        add_live(to, launch, config);
    }
    if (config->waits_asleep && find(to, "OMP_WAIT_POLICY") == NULL) {
        set(to, "OMP_WAIT_POLICY", "passive");
    }
    /* A run within a run has its own changes, or none. */
    if (config->changes != NULL || find(to, "TIDEMARK_CHANGES") != NULL) {
        set(to, "TIDEMARK_CHANGES", config->changes != NULL ? config->changes : "");
    }
    set_number(to, "TIDEMARK_TRACKERS", config->notes_trackers);
    if (!is_preloaded || config->changes != NULL || config->notes_trackers) {
        add_sitecustomize(to, launch, is_live && !is_preloaded);
    }
    add_preloaded(to, launch, is_preloaded, config->cards != NULL);
    if (!config->writes_are_real) {
        add_scratch(to, launch);
    }
    if (launch->compilers[0] != '\0') {
        add_compilers(to, launch);
    }
}

char **tide_launch_environment(const tide_launch *launch, const tide_launch_config *config) {
    size_t n_own = 0;
    while (environ[n_own] != NULL) {
        n_own++;
    }
    builder to = {.capacity = n_own + MAX_ADDED};
    to.entries = tide_hostmem_zeroed(tide_hostmem_default(), to.capacity, sizeof(*to.entries));
    if (to.entries == NULL) {
        return NULL;
    }
    copy_own(&to);
    add_ours(&to, launch, config);
    if (to.no_memory) {
        tide_launch_environment_release(to.entries);
        return NULL;
    }
    return to.entries;
}

void tide_launch_environment_release(char **environment) {
    const tide_hostmem *mem = tide_hostmem_default();
    for (size_t i = 0; environment != NULL && environment[i] != NULL; i++) {
        mem->release(mem->ctx, environment[i]);
    }
    mem->release(mem->ctx, environment);
}
