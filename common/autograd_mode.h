/* autograd_mode.h - whether autograd recorded operations in the thread that allocated memory, as
 * numbers of logs and files. In a node of a backward pass it does so only with create_graph=True.
 */
#ifndef TIDE_COMMON_AUTOGRAD_MODE_H
#define TIDE_COMMON_AUTOGRAD_MODE_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tide_autograd_mode {
    TIDE_AUTOGRAD_UNKNOWN = 0, /* and of rows that do not allocate */
    TIDE_AUTOGRAD_ON,
    TIDE_AUTOGRAD_OFF,       /* as in torch.no_grad() */
    TIDE_AUTOGRAD_INFERENCE, /* as in torch.inference_mode() */
    TIDE_N_AUTOGRAD_MODES
} tide_autograd_mode;

#ifdef __cplusplus
}
#endif

#endif
