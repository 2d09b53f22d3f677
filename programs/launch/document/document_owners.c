/* document_owners.c - the owners of memory at the driver's level, from the accounts in the log
 * (programs/live/account.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "programs/launch/document/document_internal.h"

enum { MAX_OWNERS = 64, KEY_BYTES = 64, NAME_BYTES = 256 };

/* One owner's line of an account. */
typedef struct owner_line {
    char name[NAME_BYTES];
    int64_t bytes;
} owner_line;

/* A device's account at one instant; -1: unknown. */
typedef struct account {
    int64_t total_bytes, used_bytes, context_bytes;
    owner_line owners[MAX_OWNERS];
    size_t n_owners;
} account;

/* Reads lines of a number and a name: "84929347584 total", "512 owner PyTorch". */
static account read_account(const tide_recover_notes *notes, size_t device, const char *instant) {
    char key[KEY_BYTES];
    account found = {.total_bytes = -1, .used_bytes = -1, .context_bytes = -1};
    snprintf(key, sizeof(key), "live.account.%zu.%s.bytes", device, instant);
    const char *at = tide_document_text(notes, key);
    while (*at != '\0') {
        char *end = NULL;
        int64_t bytes = strtoll(at, &end, 10);
        const char *name = end + (*end == ' ');
        size_t n = strcspn(name, "\n");
        if (n == strlen("total") && strncmp(name, "total", n) == 0) {
            found.total_bytes = bytes;
        } else if (n == strlen("used") && strncmp(name, "used", n) == 0) {
            found.used_bytes = bytes;
        } else if (n == strlen("context") && strncmp(name, "context", n) == 0) {
            found.context_bytes = bytes;
        } else if (strncmp(name, "owner ", strlen("owner ")) == 0 && found.n_owners < MAX_OWNERS) {
            owner_line *line = &found.owners[found.n_owners++];
            line->bytes = bytes;
            snprintf(line->name, sizeof(line->name), "%.*s", (int)(n - strlen("owner ")),
                     name + strlen("owner "));
        }
        at = name + n;
        at += *at == '\n';
    }
    return found;
}

static int64_t bytes_of(const account *of, const char *owner) {
    for (size_t i = 0; i < of->n_owners; i++) {
        if (strcmp(of->owners[i].name, owner) == 0) {
            return of->owners[i].bytes;
        }
    }
    return of->used_bytes >= 0 ? 0 : -1;
}

static int64_t count_calls(const tide_recover_notes *notes, size_t device, const char *owner) {
    int64_t n = 0;
    for (size_t i = 0; i < notes->n_calls; i++) {
        const tide_recover_call *call = &notes->calls[i];
        n += call->action % 2 == 0 && call->row.device == device && strcmp(call->owner, owner) == 0;
    }
    return n;
}

/* Adds the owners in either of the two accounts that `rows` does not have yet. */
static tide_status add_owners(tide_snapshot *snapshot, const tide_recover_notes *notes,
                              size_t device, const account *peak, const account *end,
                              tide_snapshot_owner *rows, size_t *n_rows) {
    const account *const both[2] = {peak, end};
    size_t first = *n_rows;
    for (size_t b = 0; b < 2; b++) {
        for (size_t i = 0; i < both[b]->n_owners; i++) {
            const char *name = both[b]->owners[i].name;
            bool is_there = false;
            for (size_t k = first; k < *n_rows; k++) {
                is_there = is_there || strcmp(rows[k].name, name) == 0;
            }
            if (is_there) {
                continue;
            }
            rows[*n_rows] =
                (tide_snapshot_owner){.name = tide_arena_text(&snapshot->arena, name),
                                      .device = (uint32_t)device,
                                      .peak_bytes = bytes_of(peak, name),
                                      .end_bytes = bytes_of(end, name),
                                      .n_allocations = count_calls(notes, device, name)};
            if (rows[(*n_rows)++].name == NULL) {
                return TIDE_NO_MEMORY;
            }
        }
    }
    return TIDE_OK;
}

tide_status tide_document_add_owners(tide_snapshot *snapshot, const tide_recover_notes *notes) {
    tide_arena *arena = &snapshot->arena;
    size_t n_devices = snapshot->n_devices;
    tide_snapshot_owner *rows =
        tide_arena_alloc(arena, (size_t)2 * MAX_OWNERS * n_devices, sizeof(*rows));
    tide_snapshot_driver_account *accounts = tide_arena_alloc(arena, n_devices, sizeof(*accounts));
    size_t n_rows = 0;
    size_t n_accounts = 0;
    if (rows == NULL || accounts == NULL) {
        return TIDE_NO_MEMORY;
    }
    for (size_t device = 0; device < n_devices; device++) {
        account begin = read_account(notes, device, "begin");
        account peak = read_account(notes, device, "peak");
        account end = read_account(notes, device, "end");
        if (begin.used_bytes < 0 && peak.used_bytes < 0) {
            continue;
        }
        accounts[n_accounts++] = (tide_snapshot_driver_account){
            .device = (uint32_t)device,
            .total_bytes = begin.total_bytes >= 0 ? begin.total_bytes : peak.total_bytes,
            .used_at_start_bytes = begin.used_bytes,
            .used_at_peak_bytes = peak.used_bytes,
            .used_at_end_bytes = end.used_bytes,
            .context_bytes = peak.context_bytes,
            .unmeasured_bytes = -1};
        TIDE_TRY(add_owners(snapshot, notes, device, &peak, &end, rows, &n_rows));
    }
    snapshot->owners = rows;
    snapshot->n_owners = n_rows;
    snapshot->driver_accounts = accounts;
    snapshot->n_driver_accounts = n_accounts;
    return TIDE_OK;
}
