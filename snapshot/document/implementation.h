/* implementation.h - whose memory a run's figures are: that of our own model, or that of PyTorch's
 * run of the same model as it is forecast.
 */
#ifndef TIDE_SNAPSHOT_IMPLEMENTATION_H
#define TIDE_SNAPSHOT_IMPLEMENTATION_H

#ifdef __cplusplus
extern "C" {
#endif

#define TIDE_IMPLEMENTATION_OWN "tidemark"
#define TIDE_IMPLEMENTATION_PYTORCH                                                                \
    "pytorch-eager-" /* and the year of the PyTorch that is forecast */

#define TIDE_IMPLEMENTATION_RECORDED "pytorch" /* a program with PyTorch that was recorded */

/* What reports call them. */
#define TIDE_WORDS_OWN "tidemark's own model in C"
#define TIDE_WORDS_PYTORCH "PyTorch, eager"

/* The words for a run's implementation; of another program's its own text, "" for none. */
const char *tide_implementation_words(const char *implementation);

#ifdef __cplusplus
}
#endif

#endif
