#include "device/card_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/chips.h"

enum {
    ITEM_BYTES = 96,
    MAX_CLOCK_KHZ = 100000000,
    MAX_MULTIPROCESSORS = 1024,
    MAX_BUS_BITS = 65536
};

#define MAX_BYTES (INT64_C(1) << 50)

static const char *const MEMBERS[] = {"total_bytes",       "context_bytes", "compute_capability",
                                      "n_multiprocessors", "sm_clock_khz",  "memory_clock_khz",
                                      "memory_bus_bits",   "cache_bytes"};

const char *tide_card_member(size_t i) {
    return i < sizeof(MEMBERS) / sizeof(MEMBERS[0]) ? MEMBERS[i] : NULL;
}

static bool set_int(int *member, int64_t value, int64_t highest) {
    bool fits = value > 0 && value <= highest;
    *member = fits ? (int)value : *member;
    return fits;
}

static bool set_bytes(int64_t *member, int64_t value, int64_t lowest) {
    bool fits = value >= lowest && value <= MAX_BYTES;
    *member = fits ? value : *member;
    return fits;
}

static bool set_capability(tide_card *card, int64_t value) {
    if (value <= 0 || value > INT16_MAX || tide_card_chip_find((int)value) == NULL) {
        return false;
    }
    card->compute_capability = (int)value;
    card->workspace_bytes = tide_card_workspace_bytes((int)value);
    return true;
}

bool tide_card_set(tide_card *card, const char *member, int64_t value) {
    tide_card_board *board = &card->board;
    size_t i = 0;
    while (tide_card_member(i) != NULL && strcmp(MEMBERS[i], member) != 0) {
        i++;
    }
    switch (i) {
    case 0:
        return set_bytes(&card->total_bytes, value, 1);
    case 1:
        return set_bytes(&card->context_bytes, value, 0);
    case 2:
        return set_capability(card, value);
    case 3:
        return set_int(&board->n_multiprocessors, value, MAX_MULTIPROCESSORS);
    case 4:
        return set_int(&board->sm_clock_khz, value, MAX_CLOCK_KHZ);
    case 5:
        return set_int(&board->memory_clock_khz, value, MAX_CLOCK_KHZ);
    case 6:
        return set_int(&board->memory_bus_bits, value, MAX_BUS_BITS);
    case 7:
        return set_bytes(&board->cache_bytes, value, 0);
    default:
        return false;
    }
}

/* "total_bytes=150754820096" */
static bool read_member(char *item, tide_card *card) {
    char *value = strchr(item, '=');
    char *end = NULL;
    if (value == NULL) {
        return false;
    }
    *value++ = '\0';
    errno = 0;
    long long number = strtoll(value, &end, 10);
    return errno == 0 && end != value && *end == '\0' && tide_card_set(card, item, number);
}

bool tide_card_read(const char *text, size_t n, tide_card *ret_card) {
    for (size_t at = 0, length = 0; at <= n; at += length + 1) {
        char item[ITEM_BYTES];
        bool is_first = at == 0;
        length = 0;
        while (at + length < n && text[at + length] != ':') {
            length++;
        }
        if (length >= sizeof(item)) {
            return false;
        }
        memcpy(item, text + at, length);
        item[length] = '\0';
        const tide_card *base = is_first ? tide_card_find(item) : NULL;
        if (base != NULL) {
            *ret_card = *base;
        }
        if (is_first ? base == NULL : !read_member(item, ret_card)) {
            return false;
        }
    }
    return true;
}

void tide_card_uuid(int number, char ret_text[TIDE_CARD_UUID_BYTES]) {
    (void)snprintf(ret_text, TIDE_CARD_UUID_BYTES, "GPU-%02x000000-0000-0000-0000-000000000000",
                   (unsigned)number + 1);
}

void tide_card_pci(int number, char ret_text[TIDE_CARD_PCI_BYTES]) {
    (void)snprintf(ret_text, TIDE_CARD_PCI_BYTES, "0000:%02x:00.0", (unsigned)number + 1);
}
