#include "snapshot/kinds/page_source.h"

#include <string.h>

enum { AT_MARK, AT_OPENER, IN_DATA, AT_END };

enum { NO_DIGIT = -1, BITS_OF_DIGIT = 6, BITS_OF_BYTE = 8 };

void tide_page_source_init(tide_page_source *page, tide_kind kind, const tide_source *from) {
    bool is_own = kind == TIDE_KIND_OWN_PAGE;
    memset(page, 0, offsetof(tide_page_source, in));
    page->from = from;
    /* The first character of a mark occurs in it only once, or at its end: a mark that fails to
     * match can begin only at the character that failed. */
    page->mark = is_own ? "class=\"tidemark-snapshot\"" : "\"base64\"";
    page->opener = is_own ? '>' : '"';
    page->step = AT_MARK;
}

static int digit_of(char c) {
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c != '\0' ? strchr(DIGITS, c) : NULL;
    return found != NULL ? (int)(found - DIGITS) : NO_DIGIT;
}

static void search(tide_page_source *page, char c) {
    if (page->step == AT_OPENER) {
        page->step = c == page->opener ? IN_DATA : AT_OPENER;
        return;
    }
    page->n_matched = c == page->mark[page->n_matched] ? page->n_matched + 1 : c == page->mark[0];
    if (page->mark[page->n_matched] == '\0') {
        page->step = AT_OPENER;
    }
}

/* Whether the character completes a byte. */
static bool decode(tide_page_source *page, char c, char *ret_byte) {
    int digit = digit_of(c);
    if (digit == NO_DIGIT) {
        page->step = strchr(" \t\r\n", c) != NULL && c != '\0' ? IN_DATA : AT_END;
        return false;
    }
    page->bits = page->bits << BITS_OF_DIGIT | (uint32_t)digit;
    page->n_bits += BITS_OF_DIGIT;
    if (page->n_bits < BITS_OF_BYTE) {
        return false;
    }
    page->n_bits -= BITS_OF_BYTE;
    *ret_byte = (char)(page->bits >> page->n_bits & 0xFF);
    return true;
}

static tide_status fill(tide_page_source *page, tide_error *error) {
    TIDE_TRY(page->from->read(page->from->ctx, page->in, TIDE_PAGE_BUFFER, &page->n_in, error));
    page->n_taken = 0;
    if (page->n_in > 0) {
        return TIDE_OK;
    }
    return tide_fail(error, TIDE_FORMAT,
                     page->step == IN_DATA ? "the page is cut off inside of its snapshot"
                                           : "the page has no snapshot: it is cut off, or was "
                                             "written without one");
}

tide_status tide_page_source_read(void *ctx, char *to, size_t n_room, size_t *ret_bytes,
                                  tide_error *error) {
    tide_page_source *page = ctx;
    size_t n = 0;
    while (n < n_room && page->step != AT_END) {
        if (page->n_taken == page->n_in) {
            if (n > 0) {
                break; /* a failure of the next part must not lose this one */
            }
            TIDE_TRY(fill(page, error));
        }
        char c = page->in[page->n_taken++];
        if (page->step == IN_DATA) {
            n += decode(page, c, to + n);
        } else {
            search(page, c);
        }
    }
    *ret_bytes = n;
    return TIDE_OK;
}
