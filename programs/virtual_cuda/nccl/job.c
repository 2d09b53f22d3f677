#include "programs/virtual_cuda/nccl/job.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/text/setting.h"
#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/process/fork.h"

enum { MAX_GROUPS = 1024, NAME_BYTES = 128 };

typedef struct group {
    int64_t *ranks; /* from malloc */
    size_t n;
    char name[NAME_BYTES]; /* "" if it has none */
} group;

static struct job {
    group groups[MAX_GROUPS]; /* the newest of them, in a ring; the lock guards it */
    size_t n_announced;       /* groups so far; the lock guards it */
    pthread_once_t once;      /* for the two below, which are constant afterwards */
    int64_t *present;         /* ranks that run, from malloc, kept; NULL: all ranks run */
    size_t n_present;
} job = {.once = PTHREAD_ONCE_INIT};
TIDE_VC_LOCK(lock, NULL);

static void read_present(void) {
    const char *text = tide_setting("TIDEMARK_PRESENT_RANKS");
    size_t n = 1;
    if (text == NULL || text[0] == '\0') {
        return;
    }
    for (const char *c = text; *c != '\0'; c++) {
        n += *c == ',';
    }
    job.present = malloc(n * sizeof(*job.present));
    while (job.present != NULL && job.n_present < n) {
        char *end = NULL;
        job.present[job.n_present++] = strtoll(text, &end, 10);
        text = *end == ',' ? end + 1 : end;
    }
}

int64_t tide_vc_job_rank(void) {
    const char *text = getenv("RANK");
    return text != NULL && text[0] != '\0' ? strtoll(text, NULL, 10) : -1;
}

size_t tide_vc_job_n_present(void) {
    pthread_once(&job.once, read_present);
    return job.n_present;
}

bool tide_vc_job_has_absent(void) {
    return tide_vc_job_n_present() > 0;
}

bool tide_vc_job_is_present(int64_t rank) {
    bool is_present = !tide_vc_job_has_absent();
    for (size_t i = 0; i < job.n_present && !is_present; i++) {
        is_present = job.present[i] == rank;
    }
    return is_present;
}

/* The i-th newest group; NULL if there are no more. The lock is held. */
static const group *newest(size_t i) {
    return i < job.n_announced && i < MAX_GROUPS
               ? &job.groups[(job.n_announced - 1 - i) % MAX_GROUPS]
               : NULL;
}

/* Whether the group may be a communicator of n members (0: any number) in which this process is
 * number `own`. */
static bool fits(const group *of, size_t n, size_t own) {
    return (n == 0 || of->n == n) && own < of->n && of->ranks[own] == tide_vc_job_rank();
}

/* Whether a communicator of that name belongs to the group: "DESCRIPTION:NAME", or the name
 * alone. */
static bool is_called(const group *of, const char *name) {
    const char *colon = name != NULL ? strrchr(name, ':') : NULL;
    return name != NULL && of->name[0] != '\0' &&
           (strcmp(of->name, name) == 0 || (colon != NULL && strcmp(of->name, colon + 1) == 0));
}

static bool are_same(const group *a, const group *b) {
    return a->n == b->n && memcmp(a->ranks, b->ranks, a->n * sizeof(*a->ranks)) == 0;
}

static bool has_rank(const group *of, int64_t rank) {
    for (size_t i = 0; i < of->n; i++) {
        if (of->ranks[i] == rank) {
            return true;
        }
    }
    return false;
}

/* Whether a communicator of two may be for messages between two members of a larger group: PyTorch
 * makes one for each pair, with the group's name. The lock is held. */
static bool may_be_pair(size_t n, const char *name) {
    bool has_larger = false;
    for (size_t i = 0; n == 2 && newest(i) != NULL; i++) {
        if (is_called(newest(i), name)) {
            return newest(i)->n > 2;
        }
        has_larger = has_larger || (newest(i)->n > 2 && has_rank(newest(i), tide_vc_job_rank()));
    }
    return has_larger;
}

/* The newest group of n members (0: any number) with this name; otherwise the newest that fits. The
 * lock is held. */
static const group *find(size_t n, size_t own, const char *name) {
    const group *found = NULL;
    for (size_t i = 0; newest(i) != NULL; i++) {
        if (fits(newest(i), n, own) && is_called(newest(i), name)) {
            return newest(i);
        }
        found = found == NULL && fits(newest(i), n, own) ? newest(i) : found;
    }
    return found;
}

/* NULL if groups with other members also fit. The lock is held. */
static const group *find_only(size_t n, size_t own, const char *name) {
    const group *found = may_be_pair(n, name) ? NULL : find(n, own, name);
    for (size_t i = 0; found != NULL && !is_called(found, name) && newest(i) != NULL; i++) {
        if (fits(newest(i), n, own) && !are_same(found, newest(i))) {
            return NULL;
        }
    }
    return found;
}

static void count_up(int64_t *ranks, int n) {
    for (int i = 0; i < n; i++) {
        ranks[i] = i;
    }
}

int64_t *tide_vc_job_members(int n, int own, const char *name) {
    const char *world = tide_setting("TIDEMARK_WORLD");
    bool is_world = world != NULL && strtoll(world, NULL, 10) == n && tide_vc_job_rank() == own;
    int64_t *made = malloc((size_t)n * sizeof(*made));
    if (made == NULL) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    const group *of = find_only((size_t)n, (size_t)own, name);
    if (of != NULL) {
        memcpy(made, of->ranks, of->n * sizeof(*made));
    }
    pthread_mutex_unlock(&lock);
    if (of == NULL && is_world) {
        count_up(made, n);
    } else if (of == NULL) {
        free(made);
        made = NULL;
    }
    return made;
}

/* split_group announces its members without a name, and then passes the parent's name to NCCL. */
int64_t *tide_vc_job_split(int own, const char *name, int *ret_n) {
    int64_t *made = NULL;
    pthread_mutex_lock(&lock);
    const group *latest = newest(0);
    bool is_split_group = latest != NULL && latest->name[0] == '\0' && fits(latest, 0, (size_t)own);
    const group *of = is_split_group ? latest : find(0, (size_t)own, name);
    if (of != NULL) {
        made = malloc(of->n * sizeof(*made));
    }
    if (made != NULL) {
        memcpy(made, of->ranks, of->n * sizeof(*made));
        *ret_n = (int)of->n;
    }
    pthread_mutex_unlock(&lock);
    return made;
}

TIDE_VC_EXPORT void tidemark_ranks_group(const int64_t *ranks, size_t n, const char *name) {
    int64_t *copy = n > 0 ? malloc(n * sizeof(*copy)) : NULL;
    if (copy == NULL) {
        return;
    }
    memcpy(copy, ranks, n * sizeof(*copy));
    pthread_mutex_lock(&lock);
    group *of = &job.groups[job.n_announced++ % MAX_GROUPS];
    int64_t *old = of->ranks;
    *of = (group){.ranks = copy, .n = n};
    (void)snprintf(of->name, sizeof(of->name), "%s", name != NULL ? name : "");
    pthread_mutex_unlock(&lock);
    free(old);
}
