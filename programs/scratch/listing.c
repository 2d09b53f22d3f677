#define _GNU_SOURCE /* O_DIRECTORY, DT_LNK */
#include "programs/scratch/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "programs/scratch/devices.h"
#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/marks.h"

enum { BUFFER_BYTES = 4096, FIRST_ROOM = 64 };

void tide_scratch_listing_release(tide_scratch_listing *listing) {
    for (size_t i = 0; i < listing->n_entries; i++) {
        free(listing->entries[i].name);
    }
    free(listing->entries);
    listing->entries = NULL;
    listing->n_entries = 0;
}

static int append(tide_scratch_listing *listing, const struct dirent64 *row) {
    if (listing->n_entries == listing->n_room) {
        size_t n_room = listing->n_room == 0 ? FIRST_ROOM : 2 * listing->n_room;
        tide_scratch_entry *grown = realloc(listing->entries, n_room * sizeof(*grown));
        if (grown == NULL) {
            return -ENOMEM;
        }
        listing->entries = grown;
        listing->n_room = n_room;
    }
    char *name = strdup(row->d_name);
    if (name == NULL) {
        return -ENOMEM;
    }
    listing->entries[listing->n_entries++] =
        (tide_scratch_entry){.inode = row->d_ino, .type = row->d_type, .name = name};
    return 0;
}

/* Appends the rows of a real folder. */
static int append_folder(tide_scratch_listing *listing, const char *path) {
    int fd = tide_sys_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0) {
        return fd;
    }
    _Alignas(struct dirent64) char buffer[BUFFER_BYTES];
    long n = 0;
    int result = 0;
    while (result == 0 && (n = tide_sys_list(fd, buffer, sizeof(buffer))) > 0) {
        for (long at = 0; at < n && result == 0;) {
            const struct dirent64 *row = (const void *)(buffer + at);
            result = append(listing, row);
            at += row->d_reclen;
        }
    }
    (void)tide_sys_close(fd);
    return n < 0 ? (int)n : result;
}

int tide_scratch_list_real(const char *path, tide_scratch_listing *ret_listing) {
    tide_scratch_listing listing = {.n_entries = 0};
    int result = append_folder(&listing, path);
    if (result != 0) {
        tide_scratch_listing_release(&listing);
        return result;
    }
    *ret_listing = listing;
    return 0;
}

static int by_name(const void *left, const void *right) {
    const tide_scratch_entry *a = left;
    const tide_scratch_entry *b = right;
    return strcmp(a->name, b->name);
}

/* Removes entry i from the listing, unless it is wanted. */
static void keep_if(tide_scratch_listing *listing, size_t i, size_t *n_kept, bool wanted) {
    if (wanted) {
        listing->entries[(*n_kept)++] = listing->entries[i];
    } else {
        free(listing->entries[i].name);
    }
}

static bool is_shown(const tide_scratch_place *place, const tide_scratch_entry *entry) {
    if (entry->type != DT_LNK && entry->type != DT_UNKNOWN &&
        strcmp(entry->name, TIDE_SCRATCH_COVERS) != 0) {
        return true;
    }
    char path[TIDE_SCRATCH_PATH_BYTES];
    size_t n = strlen(place->copy);
    size_t n_name = strlen(entry->name);
    if (n + 1 + n_name >= sizeof(path)) {
        return false;
    }
    memcpy(path, place->copy, n);
    path[n] = '/';
    memcpy(path + n + 1, entry->name, n_name + 1);
    return !tide_scratch_is_mark(path, entry->name);
}

/* Moves "." and ".." to the front; the rest keeps its order. */
static void dots_first(tide_scratch_listing *listing) {
    size_t n_first = 0;
    for (size_t i = 0; i < listing->n_entries && n_first < 2; i++) {
        const char *name = listing->entries[i].name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
            tide_scratch_entry entry = listing->entries[i];
            memmove(listing->entries + n_first + 1, listing->entries + n_first,
                    (i - n_first) * sizeof(entry));
            listing->entries[n_first++] = entry;
        }
    }
}

int tide_scratch_list(const tide_scratch_place *place, tide_scratch_listing *ret_listing) {
    tide_scratch_listing listing = {.n_entries = 0};
    int result = place->has_copy ? append_folder(&listing, place->copy) : 0;
    size_t n_copies = listing.n_entries;
    if (n_copies > 0) {
        qsort(listing.entries, n_copies, sizeof(listing.entries[0]), by_name);
    }
    if (result == 0 && place->shows_below) {
        result = append_folder(&listing, tide_scratch_below(place));
        result = place->has_copy && result == -ENOENT ? 0 : result;
    } else if (result == 0 && !place->has_copy) {
        result = -ENOENT;
    }
    if (result != 0) {
        tide_scratch_listing_release(&listing);
        return result;
    }
    /* Real entries show through if they have neither copy nor mark. */
    size_t n_kept = n_copies;
    for (size_t i = n_copies; i < listing.n_entries; i++) {
        keep_if(&listing, i, &n_kept,
                n_copies == 0 || bsearch(&listing.entries[i], listing.entries, n_copies,
                                         sizeof(listing.entries[0]), by_name) == NULL);
    }
    listing.n_entries = n_kept;
    n_kept = 0;
    for (size_t i = 0; i < listing.n_entries; i++) {
        keep_if(&listing, i, &n_kept, i >= n_copies || is_shown(place, &listing.entries[i]));
    }
    listing.n_entries = n_kept;
    dots_first(&listing);
    *ret_listing = listing;
    return 0;
}

int tide_scratch_list_devices(const char *path, const char *card,
                              tide_scratch_listing *ret_listing) {
    tide_scratch_listing listing = {.n_entries = 0};
    int result = append_folder(&listing, path);
    size_t n_real = listing.n_entries;
    result = result == 0 ? append_folder(&listing, card) : result;
    if (result != 0) {
        tide_scratch_listing_release(&listing);
        return result;
    }
    size_t n_kept = 0;
    for (size_t i = 0; i < listing.n_entries; i++) {
        /* The card's folder also lists "." and "..". */
        bool is_device = tide_scratch_device_hides(listing.entries[i].name);
        if (i >= n_real && listing.entries[i].type == DT_REG) {
            listing.entries[i].type = DT_CHR;
        }
        keep_if(&listing, i, &n_kept, is_device == (i >= n_real));
    }
    listing.n_entries = n_kept;
    dots_first(&listing);
    *ret_listing = listing;
    return 0;
}

int tide_scratch_is_empty(const tide_scratch_place *place) {
    tide_scratch_listing listing;
    int result = tide_scratch_list(place, &listing);
    if (result == 0) {
        result = listing.n_entries <= 2;
        tide_scratch_listing_release(&listing);
    }
    return result;
}
