#define _POSIX_C_SOURCE 200809L
#include "cli/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

/* The signal slot of the process: a handler is handed nothing else. */
static volatile sig_atomic_t noted;

/* What the first one tells on stderr; set before the handler is. */
static const char *words;
static size_t n_words;

/* A second one of the other kind, too, has its usual effect: when this returns, for until then the
 * signal is blocked. */
static void note(int number) {
    if (noted != 0) {
        (void)raise(number);
        return;
    }
    noted = number;
    if (n_words > 0) {
        int before = errno;
        ssize_t n_written = write(STDERR_FILENO, words, n_words); /* safe in a handler */
        (void)n_written;                                          /* nobody may be there to read */
        errno = before;
    }
}

void tide_interrupt_begin(const char *told) {
    static const int SIGNALS[] = {SIGINT, SIGTERM};
    /* A signal takes its handler with it, so that the next one has its usual effect; calls that it
     * falls into go on. */
    struct sigaction action = {.sa_handler = note, .sa_flags = (int)SA_RESETHAND | SA_RESTART};
    words = told;
    n_words = told != NULL ? strlen(told) : 0;
    for (size_t i = 0; i < sizeof(SIGNALS) / sizeof(SIGNALS[0]); i++) {
        struct sigaction before;
        if (sigaction(SIGNALS[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            (void)sigaction(SIGNALS[i], &action, NULL); /* both may be caught: it cannot fail */
        }
    }
}

int tide_interrupt_signal(void) {
    return noted;
}
