/* run_card.h - the file PID.card of a run's folder: what the virtual card does not know exactly, or
 * does not simulate (programs/virtual_cuda/process/inexact.h has its lines).
 */
#ifndef TIDE_COMMON_RUN_CARD_H
#define TIDE_COMMON_RUN_CARD_H

/* The call of a line that says that kernels of the program were not built for the card. It is no
 * fault of the card's: the program fails as on a real one. */
#define TIDE_RUN_NO_KERNELS "kernels"

#endif
