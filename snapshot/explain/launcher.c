#include "snapshot/explain/launcher.h"

#include <string.h>

#include "common/map.h"
#include "snapshot/analysis/path_text_friend.h"
#include "snapshot/analysis/user_frame.h"

enum {
    OWN_PERCENT = 5,     /* of the bytes, that the program's own lines make at most */
    PACKAGE_PERCENT = 50 /* of the bytes, that the package of the launcher makes at least */
};

/* Packages that only call what a command names: the library is further in. */
static const char *const CALLERS[] = {"click", "typer", "fire", "hydra", "absl", "jsonargparse"};

typedef struct launcher {
    const tide_snapshot *snapshot;
    uint64_t *package; /* owned; of each stack: hash of the outermost package; 0: none */
    bool *has_own;     /* owned; of each stack: it has a line of the program's own */
    tide_map bytes_of; /* package -> bytes */
    uint64_t all_bytes, own_bytes;
} launcher;

/* Whether a frame of the program is the line of a launcher: of a file in a bin folder. */
static bool is_launcher(const tide_snapshot *snapshot, uint32_t frame) {
    char file[TIDE_PATH_TEXT];
    tide_path_text(tide_snapshot_text(snapshot, snapshot->frames[frame].file), file);
    return strstr(file, "/bin/") != NULL;
}

/* The hash of the package that a frame's library is; 0: it is in none that can be the program. */
static uint64_t package_of(const tide_snapshot *snapshot, uint32_t frame) {
    char file[TIDE_PATH_TEXT];
    size_t n = 0;
    tide_path_text(tide_snapshot_text(snapshot, snapshot->frames[frame].file), file);
    const char *package =
        tide_frame_is_model_library(snapshot, frame) ? tide_file_package(file, &n) : NULL;
    for (size_t i = 0; package != NULL && i < sizeof(CALLERS) / sizeof(CALLERS[0]); i++) {
        if (strlen(CALLERS[i]) == n && strncmp(CALLERS[i], package, n) == 0) {
            return 0;
        }
    }
    return package != NULL ? tide_hash_bytes(package, n) | 1 : 0;
}

static void look_at_stacks(launcher *of, const uint64_t *package_of_frame, const bool *is_own) {
    for (uint32_t i = 0; i < of->snapshot->n_stacks; i++) { /* parents come first */
        const tide_stack_row *row = &of->snapshot->stacks[i];
        bool is_root = row->parent == TIDE_NONE;
        uint64_t outer = is_root ? 0 : of->package[row->parent];
        of->package[i] = outer != 0 ? outer : package_of_frame[row->frame];
        of->has_own[i] = is_own[row->frame] || (!is_root && of->has_own[row->parent]);
    }
}

static tide_status look_at_events(launcher *of) {
    const tide_event_table *events = &of->snapshot->events;
    for (size_t row = 0; row < of->snapshot->n_events; row++) {
        uint32_t stack = tide_index_at(&events->stack, row);
        if (events->action[row] != TIDE_ACTION_ALLOC || stack == TIDE_NONE ||
            (of->package[stack] == 0 && !of->has_own[stack])) {
            continue;
        }
        uint64_t bytes = tide_bytes_at(&events->block_bytes, row);
        uint64_t sum = 0;
        of->all_bytes += bytes;
        of->own_bytes += of->has_own[stack] ? bytes : 0;
        if (!of->has_own[stack]) {
            (void)tide_map_find(&of->bytes_of, of->package[stack], &sum);
            TIDE_TRY(tide_map_put(&of->bytes_of, of->package[stack], sum + bytes));
        }
    }
    return TIDE_OK;
}

/* The package with most bytes; 0: the program has lines of its own, or no package is clear. */
static uint64_t started_package(const launcher *of) {
    uint64_t most = 0;
    uint64_t found = 0;
    for (size_t i = 0; i < of->bytes_of.n_slots; i++) {
        const tide_map_slot *slot = &of->bytes_of.slots[i];
        if (slot->used && slot->value > most) {
            most = slot->value;
            found = slot->key;
        }
    }
    bool is_launched = of->all_bytes > 0 && of->own_bytes <= of->all_bytes / 100 * OWN_PERCENT &&
                       most >= of->all_bytes / 100 * PACKAGE_PERCENT;
    return is_launched ? found : 0;
}

static tide_status mark(launcher *of, uint64_t *package_of_frame, bool *is_own, bool *is_program) {
    const tide_snapshot *snapshot = of->snapshot;
    for (uint32_t i = 0; i < snapshot->n_frames; i++) {
        is_own[i] = is_program[i] && !is_launcher(snapshot, i);
        package_of_frame[i] = package_of(snapshot, i);
    }
    look_at_stacks(of, package_of_frame, is_own);
    TIDE_TRY(look_at_events(of));
    uint64_t started = started_package(of);
    for (uint32_t i = 0; i < snapshot->n_frames && started != 0; i++) {
        is_program[i] = is_program[i] || package_of_frame[i] == started;
    }
    return TIDE_OK;
}

tide_status tide_launcher_mark(const tide_snapshot *snapshot, const tide_hostmem *mem,
                               bool *is_program) {
    launcher of = {.snapshot = snapshot};
    uint64_t *package_of_frame = tide_hostmem_array(mem, snapshot->n_frames, sizeof(uint64_t));
    bool *is_own = tide_hostmem_array(mem, snapshot->n_frames, sizeof(bool));
    of.package = tide_hostmem_array(mem, snapshot->n_stacks, sizeof(*of.package));
    of.has_own = tide_hostmem_array(mem, snapshot->n_stacks, sizeof(*of.has_own));
    tide_map_init(&of.bytes_of, mem);
    bool has_room =
        package_of_frame != NULL && is_own != NULL && of.package != NULL && of.has_own != NULL;
    tide_status status =
        has_room ? mark(&of, package_of_frame, is_own, is_program) : TIDE_NO_MEMORY;
    tide_map_fini(&of.bytes_of);
    mem->release(mem->ctx, package_of_frame);
    mem->release(mem->ctx, is_own);
    mem->release(mem->ctx, of.package);
    mem->release(mem->ctx, of.has_own);
    return status;
}
