/* text.c - data of a running recording for error messages: texts, scopes, and the history of an
 * address. */
#include <stdio.h>
#include <string.h>

#include "recorder/recorder_friend.h"
#include "recorder/state_internal.h"

enum { MAX_DEPTH = 8 }; /* scopes in a path, counted from the innermost */

const char *tide_recorder_text(tide_recorder *recorder, uint32_t number) {
    if (recorder == NULL || number == TIDE_NONE) {
        return NULL;
    }
    pthread_mutex_lock(&recorder->strings_lock);
    const char *text = tide_strings_text(&recorder->strings, number);
    pthread_mutex_unlock(&recorder->strings_lock);
    return text;
}

/* Copies the scope and those around it, innermost first, and returns their number. */
static size_t copy_chain(tide_recorder *recorder, uint32_t scope, tide_scope_row rows[MAX_DEPTH]) {
    size_t n = 0;
    pthread_mutex_lock(&recorder->scopes_lock);
    while (n < MAX_DEPTH && scope < recorder->n_scopes) {
        rows[n] = recorder->scopes[scope];
        scope = rows[n++].parent;
    }
    pthread_mutex_unlock(&recorder->scopes_lock);
    return n;
}

void tide_recorder_scope_path(tide_recorder *recorder, uint32_t scope, char *text, size_t n_bytes) {
    tide_scope_row rows[MAX_DEPTH];
    size_t n_used = 0;
    text[0] = '\0';
    if (recorder == NULL || scope == TIDE_NONE) {
        return;
    }
    for (size_t i = copy_chain(recorder, scope, rows); i > 0 && n_used + 1 < n_bytes; i--) {
        const char *name = tide_recorder_text(recorder, rows[i - 1].name);
        char index[16] = "";
        if (rows[i - 1].index >= 0) {
            (void)snprintf(index, sizeof(index), " %d", (int)rows[i - 1].index);
        }
        (void)snprintf(text + n_used, n_bytes - n_used, "%s%.60s%s", n_used == 0 ? "" : "/",
                       name == NULL ? "?" : name, index);
        n_used += strlen(text + n_used);
    }
}

/* Looks at one more row; rows come newest first. True if older rows cannot add anything. */
static bool look_at(const tide_event *event, uint64_t number, uint64_t address,
                    tide_address_history *history) {
    if (!tide_action_has_address(event->action) || address - event->address >= event->block_bytes) {
        return false; /* for an address below the block the difference wraps around */
    }
    const tide_found_row row = {*event, number, true};
    switch (event->action) {
    case TIDE_ACTION_ALLOC:
        history->alloc = row;
        return true;
    case TIDE_ACTION_FREE:
    case TIDE_ACTION_FREE_REQUESTED:
        history->freed = history->freed.is_found ? history->freed : row;
        return false;
    case TIDE_ACTION_FREE_COMPLETED:
        history->completed = history->completed.is_found ? history->completed : row;
        return false;
    case TIDE_ACTION_SEGMENT_FREE:
    case TIDE_ACTION_SEGMENT_UNMAP:
        history->segment_free = history->segment_free.is_found ? history->segment_free : row;
        return false;
    case TIDE_ACTION_SEGMENT_ALLOC:
    case TIDE_ACTION_SEGMENT_MAP:
        history->is_unused = !history->freed.is_found && !history->completed.is_found;
        return true;
    default:
        return false;
    }
}

void tide_recorder_look_back(tide_recorder *recorder, uint64_t address, size_t max_rows,
                             tide_address_history *ret_history) {
    tide_address_history history = {.now_ns = 0};
    if (recorder != NULL) {
        const tide_event_log *log = &recorder->log;
        /* A log that has stopped lacks the latest events, so its answers would be outdated. */
        size_t n_rows = tide_event_log_has_newest(log) ? tide_event_log_n_kept(log) : 0;
        n_rows = n_rows < max_rows ? n_rows : max_rows;
        for (size_t i = 0; i < n_rows; i++) {
            if (look_at(tide_event_log_newest(log, i), log->n_appended - 1 - i, address,
                        &history)) {
                break;
            }
        }
        history.now_ns = tide_recorder_now_ns(recorder);
    }
    if (!history.freed.is_found) {
        history.freed = history.completed;
        history.completed = (tide_found_row){.is_found = false};
    }
    *ret_history = history;
}
