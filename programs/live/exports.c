/* exports.c - the functions that the package calls in the recorded process
 * (python/tidemark/live.py). */
#include <stddef.h>

#include "programs/live/attach.h"
#include "programs/live/box/black_box.h"
#include "programs/live/exports.h"
#include "programs/live/modules.h"
#include "programs/live/state_friend.h"

int tidemark_live_attach(void) {
    return tide_live_open() == NULL ? TIDE_ATTACH_NOT_YET : (int)tide_attach_try();
}

int tidemark_live_is_open(void) {
    return tide_live_is_open() ? 1 : 0;
}

int tidemark_live_mark(const char *name) {
    tide_live_mark(name);
    return tide_live_is_open() ? 1 : 0;
}

int tidemark_live_snapshot(const char *path) {
    return tide_live_is_open() ? tide_live_snapshot(path) : -1;
}

uint32_t tidemark_live_scope_begin(const char *name) {
    tide_live *live = tide_live_now();
    return live == NULL ? TIDE_NONE : tide_scope_begin(live->recorder, TIDE_SCOPE_USER, name, -1);
}

void tidemark_live_scope_end(uint32_t scope) {
    tide_live *live = tide_live_now();
    if (live != NULL && scope != TIDE_NONE) {
        tide_scope_end(live->recorder, scope);
    }
}

void tidemark_live_label(uint64_t address, const char *category, const char *name, int certainty) {
    tide_live_label(&(tide_live_label_row){.address = address,
                                           .category = tide_live_text(category),
                                           .name = tide_live_text(name),
                                           .certainty = certainty});
}

uint32_t tidemark_live_text(const char *text) {
    return tide_live_text(text);
}

void tidemark_live_name(const uint64_t *addresses, const uint32_t *names, size_t n,
                        uint32_t category) {
    for (size_t i = 0; i < n; i++) {
        if (addresses[i] != 0) {
            tide_live_label(&(tide_live_label_row){.address = addresses[i],
                                                   .category = category,
                                                   .name = names[i],
                                                   .certainty = TIDE_CERTAINTY_NAMED});
        }
    }
}

void tidemark_live_describe(const char *key, const char *value) {
    tide_live_describe(key, value);
}

const char *tidemark_live_line(size_t number, int *ret_line) {
    tide_live *live = tide_live_now();
    const char *file = NULL;
    return live != NULL && tide_live_line(live, number, &file, ret_line) ? file : NULL;
}

void tidemark_live_module_code(const void *code) {
    tide_live_set_module_code(code);
}

void tidemark_live_module(const void *module, const char *path) {
    tide_live_name_module(module, path);
}

void tidemark_live_resolver(int (*resolver)(void *module)) {
    tide_live_set_resolver(resolver);
}

int tidemark_live_is_called(const void *module) {
    return tide_live_is_called(module) ? 1 : 0;
}

uint64_t tidemark_live_n_rows(void) {
    tide_live *live = tide_live_now();
    tide_recorder_stats stats = {.n_events = 0};
    if (live != NULL) {
        tide_recorder_get_stats(live->recorder, &stats);
    }
    return stats.n_events;
}

void tidemark_live_named(void) {
    tide_black_box_named();
}

void tidemark_live_finish(void) {
    tide_live_finish();
}

void tidemark_live_pause(int is_paused, int stacks) {
    tide_live *live = tide_live_now();
    if (live != NULL) {
        live->stacks = (unsigned)stacks;
        tide_recorder_set_paused(live->recorder, is_paused != 0);
    }
}
