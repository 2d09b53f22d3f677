/* stated_host.h - the host time of a launch when no program runs, in ns.
 *
 * Forecasts of tidemark's own model, and of PyTorch's run of it, use a launch log for which no host
 * could be measured. These times replace the measurement: the logs are written with them, and the
 * reports state them.
 */
#ifndef TIDE_WIRE_STATED_HOST_H
#define TIDE_WIRE_STATED_HOST_H

/* Of tidemark's own model. No host of a GPU was measured: 2.2 us for a kernel and 5 us for a call
 * of cuBLAS are typical values of a driver; the launch of a CUDA graph is assumed to cost the same
 * as that of a kernel. The allocator, the recorder and its scopes were measured on the virtual
 * device: 257 us in a step of 614 launches and 716 in one of 1,617, so 0.43 us a launch
 * (docs/guide/virtual-time.md). */
enum {
    TIDE_STATED_KERNEL_NS = 2200, /* of the driver */
    TIDE_STATED_PRODUCT_NS = 5000,
    TIDE_STATED_OWN_NS = 430 /* in addition to either; the launch of a graph needs none of it */
};

/* Of PyTorch without the driver: Python, PyTorch and its allocator, on the machine for which the
 * time model was fitted, with nothing else running (docs/internals/time-model.md). */
enum {
    TIDE_STATED_FORWARD_NS = 42000, /* fp32 and TF32 */
    TIDE_STATED_MIXED_FORWARD_NS = 35000,
    TIDE_STATED_BACKWARD_NS = 18000,
    TIDE_STATED_OPTIMIZER_NS = 7000
};

#endif
