#define _POSIX_C_SOURCE 200809L
#include "cli/interrupt.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "common/files/temporary_file.h"

/* Signals by which a user or the system requests the program to stop. */
static const int REQUESTS[] = {SIGINT, SIGTERM, SIGHUP};
/* Signals that end a process in an orderly way. */
static const int ENDS[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU, SIGXFSZ};

/* The signal slot of the process. A handler gets no context, so this is file-level state. */
static atomic_int noted;

/* What the handler writes on the first signal. Set before the handler is installed. */
static const char *words;
static size_t n_words;

/* Removes unfinished files and lets the signal have its usual effect, so its number is in the exit
 * status. */
static void end(int number) {
    sigset_t mask;
    tide_temporary_files_end();
    (void)signal(number, SIG_DFL); /* all of them can be caught, so nothing here can fail */
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, number);
    (void)raise(number);
    (void)pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
}

/* Notes the first signal. A second signal, even of another kind, ends the process. */
static void note(int number) {
    int none = 0;
    if (!atomic_compare_exchange_strong(&noted, &none, number)) {
        end(number);
        return;
    }
    if (n_words > 0) {
        int before = errno;
        ssize_t n_written = write(STDERR_FILENO, words, n_words); /* safe in a handler */
        (void)n_written; /* a closed stderr is not a failure */
        errno = before;
    }
}

/* A signal that is ignored, as under nohup, stays ignored. System calls are restarted. */
static void listen(const int *numbers, size_t n, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = (int)SA_RESTART};
    for (size_t i = 0; i < n; i++) {
        (void)sigaddset(&action.sa_mask, numbers[i]);
    }
    for (size_t i = 0; i < n; i++) {
        struct sigaction before;
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            (void)sigaction(numbers[i], &action, NULL); /* all can be caught, so this cannot fail */
        }
    }
}

void tide_interrupt_clean_up(void) {
    listen(ENDS, sizeof(ENDS) / sizeof(ENDS[0]), end);
}

void tide_interrupt_begin(const char *message) {
    words = message;
    n_words = message != NULL ? strlen(message) : 0;
    listen(REQUESTS, sizeof(REQUESTS) / sizeof(REQUESTS[0]), note);
}

int tide_interrupt_signal(void) {
    return atomic_load(&noted);
}

bool tide_interrupt_shall_stop(void *ctx) {
    (void)ctx;
    return tide_interrupt_signal() != 0;
}
