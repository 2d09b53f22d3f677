/* attach.h - listens to every event of PyTorch's own allocator, without replacing it.
 *
 * PyTorch calls a tracker for each entry of its history, whether it keeps the history or not. The
 * tracker is a std::function, built here by hand. The virtual function that registers it is found
 * by its name in libc10_cuda's symbol table, and is used only if the allocator's table has it.
 */
#ifndef TIDE_LIVE_ATTACH_H
#define TIDE_LIVE_ATTACH_H

typedef enum tide_attach_state {
    TIDE_ATTACH_NOT_YET = 0, /* PyTorch, or its allocator, is not loaded yet */
    TIDE_ATTACH_DONE,
    TIDE_ATTACH_OTHER_ALLOCATOR, /* cudaMallocAsync or a pluggable one */
    TIDE_ATTACH_UNKNOWN          /* PyTorch has no tracker, or it was not found */
} tide_attach_state;

/* Attaches as soon as possible, once in a process. Cheap afterwards. Thread-safe: a call returns
 * without waiting if another thread is attaching. */
tide_attach_state tide_attach_try(void);

tide_attach_state tide_attach_now(void);

#endif
