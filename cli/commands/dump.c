/* tidemark dump: the events as text, one per line. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/load.h"
#include "cli/words/snapshot_words.h"
#include "report/harmless.h"
#include "report/table.h"
#include "snapshot/document/scope_paths.h"
#include "snapshot/document/snapshot.h"
#include "snapshot/analysis/user_frame.h"

enum { TEXT_BYTES = 512, CHECK_EVERY = 1024 };

static const tide_option_table TABLE = {
    .command = "dump",
    .operands = "FILE",
    .intro = "Prints one event per line, with its fields separated by tabs: index, time in ns,\n"
             "action, device, address, requested bytes, block bytes, category, name, scope,\n"
             "innermost frame (of a PyTorch snapshot the first of your own code); and how the\n"
             "category became known, if the file says it.\n",
    .min_operands = 1,
    .max_operands = 1,
};

/* A text as one field: without tabs and other control characters; "-" for none. */
static void put_field(const char *text) {
    char harmless[TEXT_BYTES];
    tide_text_harmless(text, harmless, sizeof(harmless));
    fputc('\t', stdout);
    fputs(harmless[0] != '\0' ? harmless : "-", stdout);
}

/* The frame that shows the origin of an event. The innermost frames of PyTorch's stacks belong to
 * its own recorder. */
static uint32_t telling_frame(const tide_snapshot *snapshot, uint32_t stack) {
    uint32_t innermost = snapshot->stacks[stack].frame;
    if (strcmp(snapshot->origin.format, "pytorch") != 0) {
        return innermost;
    }
    uint32_t frame = tide_user_frame(snapshot, stack);
    return frame != TIDE_NONE ? frame : innermost;
}

static void put_event(const tide_snapshot *snapshot, size_t i, const char *scope_path) {
    const tide_event event = tide_event_at(snapshot, i);
    char frame[TEXT_BYTES] = "";
    printf("%zu\t%" PRId64 "\t%s\t%u", i, event.time_ns, tide_action_name(event.action),
           (unsigned)event.device);
    if (!tide_action_has_address(event.action)) {
        fputs("\t-", stdout);
    } else {
        printf("\t0x%" PRIx64, event.address);
    }
    printf("\t%" PRIu64 "\t%" PRIu64, event.requested_bytes, event.block_bytes);
    put_field(tide_snapshot_category(snapshot, event.category));
    put_field(tide_snapshot_text(snapshot, event.name));
    put_field(scope_path);
    if (event.stack != TIDE_NONE) {
        const tide_frame_row *row = &snapshot->frames[telling_frame(snapshot, event.stack)];
        snprintf(frame, sizeof(frame), "%.300s %.160s:%d",
                 tide_snapshot_text(snapshot, row->function),
                 tide_snapshot_text(snapshot, row->file), (int)row->line);
    }
    put_field(frame);
    if (snapshot->event_certainty != NULL) {
        put_field(tide_certainty_name(snapshot->event_certainty[i]));
    }
    fputc('\n', stdout);
}

/* Texts of all paths, by their numbers; the last one is for events outside every scope. */
static const char **path_texts(const tide_scope_paths *paths, const tide_snapshot *snapshot,
                               tide_arena *arena) {
    const char **texts = tide_arena_alloc(arena, paths->n_paths, sizeof(*texts));
    for (size_t i = 0; texts != NULL && i < paths->n_paths; i++) {
        texts[i] = tide_scope_paths_text(paths, snapshot, (uint32_t)i, arena);
        if (texts[i] == NULL) {
            return NULL;
        }
    }
    return texts;
}

/* Stops early if the reader of the output has closed it. */
static tide_status dump(const tide_snapshot *snapshot) {
    const tide_hostmem *mem = snapshot->arena.mem;
    tide_scope_paths paths;
    tide_arena arena;
    TIDE_TRY(tide_scope_paths_init(&paths, snapshot, mem));
    tide_arena_init(&arena, mem);
    const char **texts = path_texts(&paths, snapshot, &arena);
    for (size_t i = 0; texts != NULL && i < snapshot->n_events; i++) {
        uint32_t scope = tide_index_at(&snapshot->events.scope, i);
        uint32_t path = scope != TIDE_NONE ? paths.of_scope[scope] : TIDE_NONE;
        put_event(snapshot, i, path != TIDE_NONE ? texts[path] : "");
        if (i % CHECK_EVERY == 0 && ferror(stdout)) {
            break;
        }
    }
    tide_status status = texts != NULL ? TIDE_OK : TIDE_NO_MEMORY;
    tide_arena_fini(&arena);
    tide_scope_paths_fini(&paths);
    return status;
}

static int run(int argc, char **argv) {
    tide_operands operands = {.n = 0};
    int exit_status = TIDE_EXIT_SUCCESS;
    if (!tide_cli_parse(&TABLE, argc, argv, NULL, &operands, &exit_status)) {
        return exit_status;
    }
    tide_snapshot *snapshot = NULL;
    tide_error error = {""};
    tide_status status = tide_cli_load(operands.texts[0], NULL, &snapshot, &error);
    if (status == TIDE_OK) {
        errno = 0;
        status = dump(snapshot);
    }
    tide_snapshot_destroy(snapshot);
    if (status != TIDE_OK) {
        return tide_cli_fail("dump", status, &error);
    }
    /* The reader of the pipe has closed it, which is not a failure. */
    if ((ferror(stdout) || fflush(stdout) != 0) && errno == EPIPE) {
        return TIDE_EXIT_SUCCESS;
    }
    return tide_cli_finish("dump", TIDE_EXIT_SUCCESS);
}

const tide_command tide_command_dump = {
    .name = "dump",
    .summary = "the events as text, one a line",
    .options = &TABLE,
    .run = run,
};
