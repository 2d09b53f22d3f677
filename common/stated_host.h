/* stated_host.h - what a launch takes of the host where no program runs, in ns.
 *
 * Forecasts of tidemark's own model, and of PyTorch's run of it, have a launch log without a host
 * whose time could be measured. These are the times that stand in its place. The logs are written
 * with them, and the answers say them.
 */
#ifndef TIDE_COMMON_STATED_HOST_H
#define TIDE_COMMON_STATED_HOST_H

/* Of tidemark's own model. No host of a GPU was measured: 2.2 us a kernel and 5 us a call of cuBLAS
 * are stated, as usual of a driver; the launch of a CUDA graph is taken to cost what a kernel's
 * does. The allocator, the recorder and its scopes were measured on the virtual device: 257 us in a
 * step of 614 launches and 716 in one of 1,617, so 0.43 us a launch (docs/virtual-time.md). */
enum {
    TIDE_STATED_KERNEL_NS = 2200, /* of the driver */
    TIDE_STATED_PRODUCT_NS = 5000,
    TIDE_STATED_OWN_NS = 430 /* beside either; a graph that is launched needs nothing of that */
};

/* Of PyTorch without the driver: Python, PyTorch and its allocator, on the machine that the model
 * of time was fitted on, when nothing else ran there (docs/virtual-time.md). */
enum {
    TIDE_STATED_FORWARD_NS = 42000, /* fp32 and TF32 */
    TIDE_STATED_MIXED_FORWARD_NS = 35000,
    TIDE_STATED_BACKWARD_NS = 18000,
    TIDE_STATED_OPTIMIZER_NS = 7000
};

#endif
