/* same_as.c - functions that another function answers, from the rows SAME_AS, PER_THREAD and
 * PER_THREAD_NULL of the tables. The arguments are the other function's, so it is entered by a
 * jump: the caller's frame stays as it is.
 *
 * A program compiled with --default-stream per-thread calls the functions with the suffix _ptsz and
 * _ptds: NULL is the stream of the thread. A function with a stream as its argument gets the handle
 * of that stream; the others are called while NULL means it.
 */
#include <stdint.h>

#include "programs/virtual_cuda/api/export.h"
#include "programs/virtual_cuda/order/streams.h"

#define FUNCTION(...)
#define FUNCTION_64(...)
#define HAND_WRITTEN(...)
#define WITHOUT_OUTPUT(...)
#define REFUSED_BY_HAND(...)
#define INEXACT_BY_HAND(...)
#define PARTLY_BY_HAND(...)
#define LEFT_TO_REAL(...)
#define NOT_SERVED(...)
#define NOT_SIMULATED(...)

/* Where the words of the arguments are when a function begins. */
#define WORD_0 "%rdi"
#define WORD_1 "%rsi"
#define WORD_2 "%rdx"
#define WORD_3 "%rcx"
#define WORD_4 "%r8"
#define WORD_5 "%r9"
#define WORD_6 "8(%rsp)"
#define WORD_7 "16(%rsp)"
#define WORD_8 "24(%rsp)"
#define WORD_9 "32(%rsp)"

#define BEGIN(name) ".pushsection .text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"
#define JUMP(name, other) "jmp " #other "@PLT\n.size " #name ", . - " #name "\n.popsection\n"

#define SAME_AS(name, other) __asm__(BEGIN(name) JUMP(name, other));
/* The stream is that word of the arguments. 2 is TIDE_VC_PER_THREAD. */
#define PER_THREAD(name, other, stream)                                                            \
    __asm__(BEGIN(name) "cmpq $0, " WORD_##stream "\njne 1f\nmovq $2, " WORD_##stream              \
            "\n1:\n" JUMP(name, other));
_Static_assert(TIDE_VC_PER_THREAD == 2, "PER_THREAD passes this handle");

/* As many words as the longest argument lists need. Words beyond the arguments are the caller's own
 * frame, which is read and not used. */
#define WORDS                                                                                      \
    uintptr_t a0, uintptr_t a1, uintptr_t a2, uintptr_t a3, uintptr_t a4, uintptr_t a5,            \
        uintptr_t a6, uintptr_t a7, uintptr_t a8, uintptr_t a9, uintptr_t a10, uintptr_t a11,      \
        uintptr_t a12
#define GIVEN a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12
typedef int words_function(WORDS);

static int call_of_thread(words_function *function, WORDS) {
    tide_vc_stream_null_is_of_thread(true);
    int status = function(GIVEN);
    tide_vc_stream_null_is_of_thread(false);
    return status;
}

/* NOLINTBEGIN(readability-function-size): see WORDS. */
#define PER_THREAD_NULL(name, other)                                                               \
    words_function other;                                                                          \
    TIDE_VC_EXPORT int name(WORDS);                                                                \
    int name(WORDS) {                                                                              \
        return call_of_thread(other, GIVEN);                                                       \
    }

#include "programs/virtual_cuda/libraries/cudart.def"
#include "programs/virtual_cuda/libraries/driver.def"
#include "programs/virtual_cuda/libraries/nccl.def"
#include "programs/virtual_cuda/libraries/nvml.def"
/* NOLINTEND(readability-function-size) */
