/* What `tidemark explain` derives from a recording that is read as a whole. */
#include "snapshot/ranks/digest_internal.h"
#include "snapshot/ranks/explained.h"

static tide_status explain(tide_digest_parts *of, const tide_facts *facts, tide_digest_device *to) {
    TIDE_TRY(tide_digest_add_places(of, facts, to));
    TIDE_TRY(tide_explained_make(facts, of->arena, &to->explained));
    const char *line = to->explained.failure.line;
    to->oom.line = line[0] != '\0' ? line : to->oom.line;
    return TIDE_OK;
}

tide_status tide_digest_explain(tide_digest_parts *of) {
    tide_lifetimes lifetimes;
    tide_status status = TIDE_OK;
    TIDE_TRY(tide_lifetimes_init(&lifetimes, of->snapshot, of->mem, of->error));
    for (size_t i = 0; i < of->snapshot->n_devices && status == TIDE_OK; i++) {
        tide_facts facts;
        if (tide_digest_has_memory(&of->work[i].made)) {
            status = tide_facts_init(&facts, of->snapshot, &lifetimes, i);
            if (status == TIDE_OK) {
                status = explain(of, &facts, &of->work[i].made);
            }
            tide_facts_fini(&facts);
            /* A layout that is too large to derive: the digest has the rest. */
            status = status == TIDE_LIMIT ? TIDE_OK : status;
        }
    }
    tide_lifetimes_fini(&lifetimes);
    return status;
}
