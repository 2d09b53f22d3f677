#include "snapshot/kinds/beginning.h"

#include <string.h>

tide_status tide_beginning_init(tide_beginning *beginning, tide_source from, tide_error *error) {
    size_t n_more = 1;
    beginning->from = from;
    beginning->n_bytes = 0;
    beginning->n_taken = 0;
    while (beginning->n_bytes < TIDE_KIND_BYTES && n_more > 0) {
        TIDE_TRY(from.read(from.ctx, beginning->bytes + beginning->n_bytes,
                           TIDE_KIND_BYTES - beginning->n_bytes, &n_more, error));
        beginning->n_bytes += n_more;
    }
    beginning->bytes[beginning->n_bytes] = '\0';
    beginning->kind = tide_kind_of(beginning->bytes, beginning->n_bytes);
    return TIDE_OK;
}

static tide_status read_again(void *ctx, char *to, size_t n_room, size_t *ret_bytes,
                              tide_error *error) {
    tide_beginning *of = ctx;
    size_t n_left = of->n_bytes - of->n_taken;
    if (n_left == 0) {
        return of->from.read(of->from.ctx, to, n_room, ret_bytes, error);
    }
    size_t n_now = n_left < n_room ? n_left : n_room;
    memcpy(to, of->bytes + of->n_taken, n_now);
    of->n_taken += n_now;
    *ret_bytes = n_now;
    return TIDE_OK;
}

tide_source tide_beginning_source(tide_beginning *beginning) {
    return (tide_source){.read = read_again, .ctx = beginning};
}
