#include "programs/plan/facts.h"

#include <string.h>

const char *tide_plan_fact_name(const tide_snapshot *snapshot, size_t i, const char *kind) {
    const char *key = snapshot->plan[i].name;
    size_t n = strlen(kind);
    bool is_of_kind = strncmp(key, kind, n) == 0 && (key[n] == '.' || key[n] == '\0');
    return !is_of_kind ? NULL : key[n] == '.' ? key + n + 1 : key + n;
}

const char *tide_plan_fact(const tide_snapshot *snapshot, const char *kind, const char *of) {
    for (size_t i = 0; i < snapshot->n_plan; i++) {
        const char *name = tide_plan_fact_name(snapshot, i, kind);
        if (name != NULL && strcmp(name, of) == 0) {
            return snapshot->plan[i].text;
        }
    }
    return NULL;
}
