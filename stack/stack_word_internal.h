/* stack_word_internal.h - loads a word of the thread's own stack.
 */
#ifndef TIDE_STACK_STACK_WORD_INTERNAL_H
#define TIDE_STACK_STACK_WORD_INTERNAL_H

#include <stdint.h>
#include <string.h>

/* The sanitizers would report the load: the word may be between two variables of another function
 * (AddressSanitizer), or another thread may be writing to a variable there (ThreadSanitizer). Such
 * a word only makes the walk differ from the remembered one. */
#if defined(__GNUC__)
__attribute__((no_sanitize("address"), no_sanitize("thread")))
#endif
static inline uint64_t
tide_stack_word(uint64_t address) {
    const uint64_t *word = NULL;
    memcpy(&word, &address, sizeof(word));
    return *(const volatile uint64_t *)word;
}

#endif
