/* run_launches.h - a launch log: the work that a process gave its virtual cards, in order.
 *
 * `tidemark run --time` and `--launch-log FILE` request it; the virtual card writes PID.launches
 * into the run's folder (programs/virtual_cuda/launches/launch_log.c), and programs/step_time/
 * forecasts times from it for any card. The file is a tide_run_launches_header and then rows of 64
 * bytes, little-endian, in the order in which the calls ended, so `host_ns` may go back a little
 * between two threads. The file is longer than the rows: a row of kind 0 marks their end. A row is
 * complete once its kind is set, even if the process was killed.
 *
 * A text, such as a kernel's name, is a row of kind TIDE_RUN_TEXT and then its bytes in as many
 * whole rows as they need, filled up with zeros. Texts are numbered from 0 on in the order of their
 * rows, and a text comes before the first row that names it.
 */
#ifndef TIDE_WIRE_RUN_LAUNCHES_H
#define TIDE_WIRE_RUN_LAUNCHES_H

#include <stdint.h>

#include "common/files/launch_log.h"
#include "programs/wire/run_communicators.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Set to 1 in the environment of a process that must write the log. */
#define TIDE_RUN_LAUNCHES_VARIABLE "TIDEMARK_LAUNCHES"
/* Set if the program sees the forecast's clock: the text of programs/step_time/pace.h. The log is
 * written then as well. */
#define TIDE_RUN_CLOCK_VARIABLE "TIDEMARK_CLOCK"
/* Follows the process ID in the file's name, in the run's folder. */
#define TIDE_RUN_LAUNCHES_SUFFIX ".launches"

typedef struct tide_run_launches_header {
    uint64_t magic;                   /* TIDE_RUN_LAUNCHES_MAGIC */
    uint32_t header_bytes, row_bytes; /* of these two structs */
    char card[48]; /* the process' first card, which some kernels' grids depend on, as in
                      "virtual:NAME"; ends with 0 */
} tide_run_launches_header;

typedef enum tide_run_launch_kind {
    TIDE_RUN_LAUNCH_NONE = 0,
    TIDE_RUN_TEXT,        /* `bytes` bytes of text follow */
    TIDE_RUN_KERNEL,      /* a kernel: `family`, `bytes`, `elements`; `m` rows of `n` elements, if
                             it works by rows; `k` is a tide_run_variant; `count` pointers, if it
                             is elementwise. 0: unknown */
    TIDE_RUN_PRODUCT,     /* a product of matrices: `m`, `n`, `k`, `count`, types, layout; `bytes`
                             are read in addition, such as an addend */
    TIDE_RUN_ATTENTION,   /* fused attention: `m` queries, `n` keys, `k` channels, `count` heads.
                             For tidemark's own kernels `family` is TIDE_RUN_OWN, and `elements` is
                             the number of m x n x k products that the kernel computes for a head */
    TIDE_RUN_CONVOLUTION, /* as a matrix product: `m` outputs, `n` filters, `k` elements of a
                             filter, for each of `count` groups; `elements` is the number of places
                             of a filter, such as 9 for 3x3 */
    TIDE_RUN_COPY,        /* a copy of `bytes`; `family` is a tide_run_copy */
    TIDE_RUN_FILL,        /* cudaMemset of `bytes` */
    TIDE_RUN_COLLECTIVE,  /* of NCCL: `family` is a tide_run_exchange; `bytes` of this rank's larger
                             buffer, `count` ranks, this rank is `m`, the root or the peer is `n` */
    TIDE_RUN_GRAPH_LAUNCH, /* cudaGraphLaunch of `graph`, or of a part of one, which ends at an
                              event that the graph records or waits for. Captured: of part `m`,
                              which becomes a piece of `graph` */
    TIDE_RUN_RECORD,       /* cudaEventRecord: `bytes` is the event's number */
    TIDE_RUN_STREAM_WAIT,  /* cudaStreamWaitEvent: the stream waits for event `bytes` */
    TIDE_RUN_WAIT_EVENT,   /* the host waits for event `bytes` */
    TIDE_RUN_WAIT_STREAM,  /* the host waits for the stream */
    TIDE_RUN_WAIT_DEVICE,  /* the host waits for all streams of the device */
    TIDE_RUN_LAUNCH_MARK, /* a place in the program: text `name`, such as "step begins". Marks.valid
                             in python/tidemark/steps.py decides which of them mark steps. `bytes`
                             is the time so far, in ns, that threads waited for a processor, which
                             `host_ns` leaves out */
    TIDE_RUN_N_LAUNCH_KINDS
} tide_run_launch_kind;

/* What a kernel does, which determines how its time follows from its bytes. */
typedef enum tide_run_family {
    TIDE_RUN_OTHER = 0,       /* not known: `bytes` is 8 for each thread */
    TIDE_RUN_VECTORISED,      /* elementwise, contiguous, 16 bytes a load */
    TIDE_RUN_CASTING,         /* elementwise, contiguous, with casts between types */
    TIDE_RUN_STRIDED,         /* elementwise with strides or broadcasts */
    TIDE_RUN_REDUCTION,       /* sums, means, maxima, arg-maxima */
    TIDE_RUN_SOFTMAX,         /* softmax and log-softmax, forward and backward */
    TIDE_RUN_NORM,            /* layer, RMS, batch and group norms, forward and backward */
    TIDE_RUN_LOSS,            /* negative log likelihood, forward and backward */
    TIDE_RUN_DROPOUT,         /* dropout with its mask; random numbers */
    TIDE_RUN_GATHER_ROWS,     /* rows chosen by index: embedding, index_select, gather */
    TIDE_RUN_SCATTER_ROWS,    /* rows written by index: embedding's backward, index_put, scatter */
    TIDE_RUN_MULTI_TENSOR,    /* lists of tensors: foreach and fused optimizers, clipping */
    TIDE_RUN_SORT,            /* radix sorts and their helper kernels */
    TIDE_RUN_SCAN,            /* prefix sums, selections */
    TIDE_RUN_GENERATED,       /* made at run time: Triton */
    TIDE_RUN_LIBRARY,         /* kernels that represent one call of a library: cuSOLVER, RNNs */
    TIDE_RUN_OWN,             /* tidemark's own kernels that go through elements */
    TIDE_RUN_ATTENTION_PARTS, /* kernels before and after one of fused attention */
    TIDE_RUN_DEPTHWISE,       /* PyTorch's convolutions with a filter for each channel */
    TIDE_RUN_OWN_ROWS,        /* tidemark's own kernels that reduce, or work by rows */
    TIDE_RUN_FOURIER,         /* transforms of cuFFT */
    TIDE_RUN_QUANTIZED,       /* numbers of 4 and 8 bits and their scales: optimizers with such
                                 states, quantization, products with such weights */
    TIDE_RUN_N_FAMILIES
} tide_run_family;

/* How a kernel of a family works, where its time depends on that. */
typedef enum tide_run_variant {
    TIDE_RUN_NO_VARIANT = 0,
    /* Softmax. A warp has its row in registers; a block keeps its row in registers or in shared
     * memory, or reads it again for each pass. */
    TIDE_RUN_BY_WARP,
    TIDE_RUN_BY_WARP_BACKWARD,
    TIDE_RUN_BY_BLOCK_ONCE,
    TIDE_RUN_BY_BLOCK,
    TIDE_RUN_BY_BLOCK_BACKWARD,
    /* Norms. */
    TIDE_RUN_LAYER,
    TIDE_RUN_LAYER_BACKWARD,
    TIDE_RUN_LAYER_PARAMETERS, /* gradients of scale and shift, sums of columns */
    TIDE_RUN_GROUPS,           /* means and variances of group norm */
    TIDE_RUN_COLUMNS,          /* reductions whose results are next to each other */
    TIDE_RUN_SEGMENTS,         /* radix sorts of each row */
    TIDE_RUN_SINGLE_ELEMENTS,  /* gather and scatter of elements, not of rows */
    TIDE_RUN_INDEXED_ROWS,     /* gather of rows, with a division for the place of each element */
    TIDE_RUN_PARTIAL_SUMS,     /* embedding's backward: sums of the gradients of equal indices */
    TIDE_RUN_DIVISIONS,        /* a kernel that computes places by `m` divisions an element */
    /* Multiplies tiles of matrices of `type`: `elements` multiplications, in `m` blocks. */
    TIDE_RUN_MULTIPLIES,
    /* Each of `m` blocks reads `n` bytes, and later `count` bytes of them again. */
    TIDE_RUN_READS_AGAIN,
    TIDE_RUN_IN_TURN, /* each of `m` blocks loads and reduces rows one after the other */
    TIDE_RUN_ADDS,    /* `elements` atomic operations */
    TIDE_RUN_N_VARIANTS
} tide_run_variant;

typedef enum tide_run_copy {
    TIDE_RUN_COPY_HOST = 0, /* from host to host */
    TIDE_RUN_COPY_TO_CARD,
    TIDE_RUN_COPY_FROM_CARD,
    TIDE_RUN_COPY_ON_CARD,
    TIDE_RUN_COPY_BETWEEN_CARDS
} tide_run_copy;

/* Types of numbers. TF32 is fp32 that the library may round for its tensor cores. */
typedef enum tide_run_type {
    TIDE_RUN_FP32 = 0,
    TIDE_RUN_TF32,
    TIDE_RUN_BF16,
    TIDE_RUN_FP16,
    TIDE_RUN_FP64,
    TIDE_RUN_FP8,
    TIDE_RUN_INT8,
    TIDE_RUN_COMPLEX64,
    TIDE_RUN_COMPLEX128,
    TIDE_RUN_INT32, /* a result of 8-bit factors */
    TIDE_RUN_FP4,
    TIDE_RUN_N_TYPES
} tide_run_type;

enum {
    TIDE_RUN_TRANSPOSED_A = 1, /* of a product: the first factor is transposed, in columns first */
    TIDE_RUN_TRANSPOSED_B = 2,
    TIDE_RUN_CONTINUES = 1,     /* of a graph's launch: a part after the first, which costs the host
                                   nothing more */
    TIDE_RUN_POINTWISE = 1,     /* of a convolution: 1x1 in steps of one */
    TIDE_RUN_CHANNELS_LAST = 4, /* of a convolution: the channels of a place are together */
    TIDE_RUN_CAUSAL = 4,        /* of attention: half of the products are left out */
    TIDE_RUN_BACKWARD = 8,      /* of attention and convolutions: a gradient */
    TIDE_RUN_WAITS = 16,        /* of a copy: the host waits until it is done */
    TIDE_RUN_CAPTURED = 32,     /* belongs to `graph`, and runs when that is launched */
    TIDE_RUN_ESTIMATED = 64,    /* bytes derived from arguments that may mean something else */
    TIDE_RUN_GUESSED = 128      /* only the number of threads is known */
};

typedef struct tide_run_launch {
    int64_t host_ns;   /* monotonic clock at the call, minus the time so far that was spent on
                          logging and that threads waited for a processor */
    uint64_t stream;   /* its number, from 1 on; 0: the null stream */
    uint64_t bytes;    /* of a kernel: read and written; else see the kind */
    uint64_t elements; /* of a kernel: the elements that its threads process; of a collective: the
                          number of its communicator, the same in all its processes; of our own
                          attention and of convolutions: see these kinds; else 0 */
    uint32_t m, n, k, count; /* see the kinds; a batch of products has count > 1 */
    uint32_t name;           /* number of a text; UINT32_MAX: none */
    uint32_t graph;          /* of a part of a capture, and of its launches, from 1 on; 0: none */
    uint16_t thread;         /* of the host, by number; 0: the thread that wrote the first row */
    uint8_t kind;            /* tide_run_launch_kind; written last */
    uint8_t family;          /* tide_run_family, tide_run_copy or tide_run_exchange */
    uint8_t type, out_type;  /* tide_run_type of the factors and of the result */
    uint8_t flags;
    uint8_t device; /* as the process numbers it */
} tide_run_launch;

#ifdef __cplusplus
}
#endif

#endif
