/* calls.c - a library that calls the function passed to it, for the test of owners. */
#include "unit/live/calls.h"

unsigned call_it(asked *function, const struct question *question) {
    unsigned answer = function(question);
    /* Not the last action, or the call would become a jump. */
    __asm__ volatile("" ::: "memory");
    return answer;
}

unsigned call_what_it_holds(const struct question *question) {
    return call_it(question->function, question);
}
