/* entry_temporary.c - files and folders with a new unique name. */
#define _GNU_SOURCE /* mkostemps */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "programs/scratch/answer.h"
#include "programs/scratch/entries/calls_friend.h"
#include "programs/scratch/change.h"
#include "programs/scratch/entries/export.h"
#include "programs/scratch/opening.h"
#include "programs/scratch/place.h"

enum { N_LETTERS = 6, MAX_TRIES = 1000 };

/* The six letters of a template, or NULL. */
static char *letters_of(char *template, int n_suffix) {
    size_t n = strlen(template);
    if (n_suffix < 0 || n < N_LETTERS + (size_t)n_suffix) {
        return NULL;
    }
    char *letters = template + n - (size_t)n_suffix - N_LETTERS;
    return memcmp(letters, "XXXXXX", N_LETTERS) == 0 ? letters : NULL;
}

static void draw(char *letters) {
    static const char NAMES[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    unsigned char random[N_LETTERS];
    if (tide_scratch_call(SYS_getrandom, tide_scratch_word(random), sizeof(random), 0, 0, 0) !=
        (long)sizeof(random)) {
        struct timespec now = {0, 0};
        (void)tide_scratch_call(SYS_clock_gettime, CLOCK_MONOTONIC, tide_scratch_word(&now), 0, 0,
                                0);
        memcpy(random, &now.tv_nsec, sizeof(random));
    }
    for (size_t i = 0; i < N_LETTERS; i++) {
        letters[i] = NAMES[random[i] % (sizeof(NAMES) - 1)];
    }
}

TIDE_SCRATCH_EXPORT int mkostemps(char *template, int n_suffix, int flags) {
    char *letters = letters_of(template, n_suffix);
    long result = letters == NULL ? -EINVAL : -EEXIST;
    for (int i = 0; i < MAX_TRIES && result == -EEXIST; i++) {
        draw(letters);
        result = tide_scratch_open(AT_FDCWD, template,
                                   (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL, 0600);
    }
    return (int)tide_scratch_answer(result);
}
TIDE_SCRATCH_ALSO(mkostemps, mkostemps64);

TIDE_SCRATCH_EXPORT int mkostemp(char *template, int flags) {
    return mkostemps(template, 0, flags);
}
TIDE_SCRATCH_ALSO(mkostemp, mkostemp64);

TIDE_SCRATCH_EXPORT int mkstemps(char *template, int n_suffix) {
    return mkostemps(template, n_suffix, 0);
}
TIDE_SCRATCH_ALSO(mkstemps, mkstemps64);

TIDE_SCRATCH_EXPORT int mkstemp(char *template) {
    return mkostemps(template, 0, 0);
}
TIDE_SCRATCH_ALSO(mkstemp, mkstemp64);

TIDE_SCRATCH_EXPORT char *mkdtemp(char *template) {
    char *letters = letters_of(template, 0);
    long result = letters == NULL ? -EINVAL : -EEXIST;
    for (int i = 0; i < MAX_TRIES && result == -EEXIST; i++) {
        draw(letters);
        result = tide_scratch_mkdir(AT_FDCWD, template, 0700);
    }
    return tide_scratch_answer(result) < 0 ? NULL : template;
}
