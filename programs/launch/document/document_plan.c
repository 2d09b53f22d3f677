/* document_plan.c - what a program that observes for `tidemark plan` reported: the log's texts
 * under "plan." (python/tidemark/changes/). */
#include <string.h>

#include "common/assert.h"
#include "common/hostmem.h"
#include "programs/launch/document/document_internal.h"

#define KEY "plan."

enum { MAX_FACTS = 1024 }; /* as many as the reader of snapshots accepts */

tide_status tide_document_add_plan(tide_snapshot *snapshot, const tide_recover_notes *notes) {
    TIDE_ASSERT(snapshot->n_plan == 0);
    size_t n = 0;
    tide_snapshot_setting *rows = tide_arena_alloc(&snapshot->arena, MAX_FACTS, sizeof(*rows));
    if (rows == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t i = 0; i < notes->n_texts; i++) {
        const tide_recover_text *text = &notes->texts[i];
        if (strncmp(text->key, KEY, strlen(KEY)) != 0 || text->key[strlen(KEY)] == '\0') {
            continue;
        }
        const char *name = text->key + strlen(KEY);
        size_t at = 0;
        while (at < n && strcmp(rows[at].name, name) != 0) {
            at++;
        }
        if (at < MAX_FACTS) { /* a later text replaces the earlier one */
            rows[at] = (tide_snapshot_setting){.name = name, .text = text->value};
            n += at == n;
        }
    }
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++) { /* an empty text withdraws its fact */
        rows[n_kept] = rows[i];
        n_kept += rows[i].text[0] != '\0';
    }
    snapshot->plan = rows;
    snapshot->n_plan = n_kept;
    return TIDE_OK;
}
