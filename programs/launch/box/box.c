#define _POSIX_C_SOURCE 200809L
#include "programs/launch/box/box.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "capture/recover.h"
#include "common/arena.h"
#include "common/hostmem.h"
#include "programs/launch/box/box_internal.h"
#include "programs/launch/document/document.h"
#include "programs/launch/logs/logs.h"
#include "snapshot/ranks/digest.h"

#define SNAPSHOT ".json.gz"
#define DIGEST ".digest.json.gz"

static bool is_ring(const char *name) {
    size_t n = strlen(name), n_ending = strlen(TIDE_BOX_RING);
    return n > n_ending && strcmp(name + n - n_ending, TIDE_BOX_RING) == 0;
}

/* FOLDER/NAME.ring -> FOLDER/NAME.json.gz */
static tide_status name_file(const char *ring, const char *ending,
                             char ret_path[TIDE_LAUNCH_PATH_BYTES], tide_error *error) {
    size_t n = strlen(ring) - (is_ring(ring) ? strlen(TIDE_BOX_RING) : 0);
    int n_path = snprintf(ret_path, TIDE_LAUNCH_PATH_BYTES, "%.*s%s", (int)n, ring, ending);
    return n_path > 0 && n_path < TIDE_LAUNCH_PATH_BYTES
               ? TIDE_OK
               : tide_fail(error, TIDE_INVALID, "the name of the ring is too long");
}

static tide_status save(tide_digest *digest, const tide_box_ended *ended, const char *path,
                        tide_error *error) {
    if (ended->text[0] != '\0') {
        digest->ended = ended->text;
        digest->ended_unix_us = ended->unix_us;
    }
    return tide_digest_save(digest, path, error);
}

static tide_status write_digest(const tide_snapshot *snapshot, const char *path,
                                const char *snapshot_path, const tide_box_ended *ended,
                                tide_error *error) {
    const tide_digest_source source = {.path = snapshot_path, .rank = -1};
    tide_digest *digest = NULL;
    tide_arena arena;
    tide_arena_init(&arena, tide_hostmem_default());
    tide_status status = tide_digest_make(snapshot, &source, &arena, &digest, error);
    if (status == TIDE_OK) {
        status = save(digest, ended, path, error);
    }
    tide_arena_fini(&arena);
    return status;
}

tide_status tide_box_add_end(const char *ring, const tide_box_ended *ended, tide_error *error) {
    char path[TIDE_LAUNCH_PATH_BYTES];
    tide_digest *digest = NULL;
    tide_arena arena;
    TIDE_TRY(name_file(ring, DIGEST, path, error));
    tide_arena_init(&arena, tide_hostmem_default());
    tide_status status = tide_digest_load(path, &arena, &digest, error);
    if (status == TIDE_OK) {
        status = save(digest, ended, path, error);
    }
    tide_arena_fini(&arena);
    return status;
}

tide_status tide_box_write(const char *ring, const tide_box_ended *ended, tide_error *error) {
    char path[TIDE_LAUNCH_PATH_BYTES], digest[TIDE_LAUNCH_PATH_BYTES];
    tide_snapshot *snapshot = NULL;
    tide_recover_report report;
    TIDE_TRY(name_file(ring, SNAPSHOT, path, error));
    TIDE_TRY(name_file(ring, DIGEST, digest, error));
    TIDE_TRY(tide_launch_recover(ring, &snapshot, &report, error));
    tide_status status = tide_snapshot_save(snapshot, path, error);
    if (status == TIDE_OK) { /* last: it marks the ring as written */
        status = write_digest(snapshot, digest, path, ended, error);
    }
    tide_snapshot_destroy(snapshot);
    return status;
}

bool tide_box_is_written(const char *ring) {
    char path[TIDE_LAUNCH_PATH_BYTES];
    return name_file(ring, DIGEST, path, NULL) == TIDE_OK && access(path, F_OK) == 0;
}

void tide_box_remove(const char *ring) {
    char target[TIDE_LAUNCH_PATH_BYTES];
    ssize_t n = readlink(ring, target, sizeof(target) - 1);
    (void)unlink(ring); /* another process may have been faster */
    if (n > 0) {        /* the link of the library is absolute */
        target[n] = '\0';
        (void)unlink(target);
    }
}

/* A ring that is not on this machine. */
static void note_absent(const char *ring, tide_box_place place, tide_box_folder *to) {
    if (place == TIDE_BOX_LOST) {
        to->n_rings--;
        tide_box_remove(ring);
    } else if (place == TIDE_BOX_ELSEWHERE && to->n_elsewhere++ == 0) {
        (void)snprintf(to->elsewhere, sizeof(to->elsewhere),
                       "'%.512s' is in the memory of another machine, or was there: run tidemark "
                       "recover on it",
                       ring);
    } else if (place == TIDE_BOX_ABSENT && to->n_failed++ == 0) {
        (void)snprintf(to->message, sizeof(to->message),
                       "the ring of '%.512s' is missing: run tidemark recover in the container "
                       "that has it, or remove this link",
                       ring);
    }
}

static void recover_ring(const char *ring, tide_box_folder *to) {
    tide_recover_head header;
    tide_error error = {""};
    to->n_rings++;
    tide_box_place place = tide_box_find(ring);
    if (place != TIDE_BOX_HERE) {
        note_absent(ring, place, to);
        return;
    }
    if (tide_logs_is_written(ring)) {
        to->n_running++;
        return;
    }
    tide_status status = tide_recover_look(ring, &header, &error);
    if (status == TIDE_OK && header.is_empty) { /* killed before its first event */
        to->n_rings--;
        tide_box_remove(ring);
        return;
    }
    if (status == TIDE_OK && !(header.is_closed && tide_box_is_written(ring))) {
        status = tide_box_write(ring, &(tide_box_ended){.text = ""}, &error);
    }
    if (status == TIDE_OK) {
        to->n_made++;
        tide_box_remove(ring);
    } else if (access(ring, F_OK) == 0) {
        if (to->n_failed++ == 0) {
            (void)snprintf(to->message, sizeof(to->message), "%s", error.message);
        }
    } else { /* the process that watches it was faster */
        to->n_made++;
    }
}

tide_status tide_box_recover(const char *folder, tide_box_folder *ret, tide_error *error) {
    char path[TIDE_LAUNCH_PATH_BYTES];
    *ret = (tide_box_folder){.n_rings = 0};
    DIR *listing = opendir(folder);
    if (listing == NULL) {
        return tide_fail(error, TIDE_IO, "cannot read the folder '%s': %s", folder,
                         strerror(errno));
    }
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing)) {
        if (is_ring(entry->d_name) &&
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) < TIDE_LAUNCH_PATH_BYTES) {
            recover_ring(path, ret);
        }
    }
    (void)closedir(listing);
    return TIDE_OK;
}
