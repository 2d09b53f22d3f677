/* calls.h - the functions of the libraries for the test of owners. */
#ifndef TIDE_TESTS_CALLS_H
#define TIDE_TESTS_CALLS_H

struct question;
typedef unsigned asked(const struct question *question);
struct question {
    asked *function;
};

/* Calls the function from within the library. */
typedef unsigned call_it_function(asked *function, const struct question *question);
call_it_function call_it;

/* Calls the function in the question. */
asked call_what_it_holds;

#endif
