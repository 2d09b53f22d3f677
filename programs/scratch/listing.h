/* listing.h - the program's view of a folder: its copies, and the real entries that show through.
 */
#ifndef TIDE_SCRATCH_LISTING_H
#define TIDE_SCRATCH_LISTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "programs/scratch/place.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tide_scratch_entry {
    uint64_t inode;
    unsigned char type; /* DT_REG and so on */
    char *name;         /* owned by the listing */
} tide_scratch_entry;

typedef struct tide_scratch_listing {
    tide_scratch_entry *entries; /* owned */
    size_t n_entries;
    size_t n_room;
} tide_scratch_listing;

/* "." and ".." come first. 0 or -errno: -ENOTDIR, -ENOMEM. After success, release the listing. */
int tide_scratch_list(const tide_scratch_place *place, tide_scratch_listing *ret_listing);

/* The same for a real folder that has files of the card (devices.h), which are in the folder
 * `card`. */
int tide_scratch_list_devices(const char *path, const char *card,
                              tide_scratch_listing *ret_listing);

/* The same for a real folder as it is, including marks. */
int tide_scratch_list_real(const char *path, tide_scratch_listing *ret_listing);

void tide_scratch_listing_release(tide_scratch_listing *listing);

/* Whether the program sees an empty folder. 1, 0 or -errno. */
int tide_scratch_is_empty(const tide_scratch_place *place);

#ifdef __cplusplus
}
#endif

#endif
