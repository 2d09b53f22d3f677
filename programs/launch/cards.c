#include "programs/launch/cards.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/nearest.h"
#include "device/card_names.h"
#include "device/card_text.h"
#include "programs/launch/card_file.h"

enum { ITEM_BYTES = 4096, CARD_BYTES = 256 };

static const char PREFIX[] = "virtual:";
static const char ENDING[] = ".json";

static const tide_words NAMES = {.word_at = tide_card_name_at};

static bool has_ending(const char *item, size_t n) {
    return n > strlen(ENDING) && strncmp(item + n - strlen(ENDING), ENDING, strlen(ENDING)) == 0;
}

/* Whether the first n bytes of "gtx1080" look like a card's name and the rest is a number. */
static bool is_card_before_number(const char *item, size_t n) {
    char name[CARD_BYTES];
    if (has_ending(item, n)) {
        return true;
    }
    (void)snprintf(name, sizeof(name), "%.*s", (int)n, item);
    return tide_card_find(name) != NULL || tide_nearest_word(&NAMES, name) != NULL;
}

/* Splits "h100-80x8" into the card and its number, unless a card has the whole name. */
static tide_status split(char *item, size_t *ret_n, tide_error *error) {
    char *times = strrchr(item, 'x');
    *ret_n = 1;
    if (tide_card_find(item) != NULL || times == NULL || times[1] == '\0' ||
        times[1 + strspn(times + 1, "0123456789")] != '\0' ||
        !is_card_before_number(item, (size_t)(times - item))) {
        return TIDE_OK;
    }
    unsigned long n = strtoul(times + 1, NULL, 10);
    if (n == 0 || n > TIDE_LAUNCH_MAX_CARDS) {
        return tide_fail(error, TIDE_INVALID, "%s: a machine has 1 to %d cards", item,
                         (int)TIDE_LAUNCH_MAX_CARDS);
    }
    *times = '\0';
    *ret_n = n;
    return TIDE_OK;
}

static tide_status read_item(const char *item, char *ret_text, size_t n_room, tide_error *error) {
    char text[TIDE_NEAREST_TEXT];
    const tide_card *card = tide_card_find(item);
    if (card != NULL) {
        snprintf(ret_text, n_room, "%s", card->name);
        return TIDE_OK;
    }
    return has_ending(item, strlen(item))
               ? tide_launch_card_file(item, ret_text, n_room, error)
               : tide_fail(error, TIDE_INVALID, "%s", tide_card_unknown(item, text));
}

static tide_status add_item(char *item, char ret_cards[TIDE_LAUNCH_CARDS_BYTES],
                            tide_error *error) {
    char text[CARD_BYTES];
    size_t n = 0;
    TIDE_TRY(split(item, &n, error));
    TIDE_TRY(read_item(item, text, sizeof(text), error));
    if (tide_launch_n_cards(ret_cards) + n > TIDE_LAUNCH_MAX_CARDS) {
        return tide_fail(error, TIDE_INVALID, "a machine has at most %d cards",
                         (int)TIDE_LAUNCH_MAX_CARDS);
    }
    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(ret_cards);
        snprintf(ret_cards + used, TIDE_LAUNCH_CARDS_BYTES - used, "%s%s", used > 0 ? "+" : "",
                 text);
    }
    return TIDE_OK;
}

tide_status tide_launch_cards(const char *spec, char ret_cards[TIDE_LAUNCH_CARDS_BYTES],
                              tide_error *error) {
    ret_cards[0] = '\0';
    if (strncmp(spec, PREFIX, strlen(PREFIX)) != 0) {
        const char *meant = tide_card_find(spec) != NULL ? spec : tide_nearest_word(&NAMES, spec);
        return tide_fail(error, TIDE_INVALID,
                         "--device %.64s: name a virtual card, such as --device virtual:%.64s",
                         spec, meant != NULL ? meant : "h100-80");
    }
    for (const char *at = spec + strlen(PREFIX); at != NULL;) {
        char item[ITEM_BYTES];
        size_t n = strcspn(at, "+");
        snprintf(item, sizeof(item), "%.*s", (int)n, at);
        tide_status status = add_item(item, ret_cards, error);
        if (status != TIDE_OK) {
            tide_error_prefix(error, "--device %.64s", spec);
            return status;
        }
        at = at[n] == '+' ? at + n + 1 : NULL;
    }
    return TIDE_OK;
}

bool tide_launch_card(const char *cards, size_t device, tide_card *ret_card) {
    for (size_t i = 0; i < device && *cards != '\0'; i++) {
        cards += strcspn(cards, "+");
        cards += *cards == '+';
    }
    return tide_card_read(cards, strcspn(cards, "+"), ret_card);
}

size_t tide_launch_n_cards(const char *cards) {
    size_t n = cards[0] != '\0';
    for (const char *at = cards; *at != '\0'; at++) {
        n += *at == '+';
    }
    return n;
}
