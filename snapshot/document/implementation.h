/* implementation.h - whose memory a run's figures describe: our own model's, or the forecast of
 * PyTorch's for the same model.
 */
#ifndef TIDE_SNAPSHOT_IMPLEMENTATION_H
#define TIDE_SNAPSHOT_IMPLEMENTATION_H

#ifdef __cplusplus
extern "C" {
#endif

#define TIDE_IMPLEMENTATION_OWN "tidemark"
#define TIDE_IMPLEMENTATION_PYTORCH                                                                \
    "pytorch-eager-" /* followed by the year of the PyTorch release that is forecast */

#define TIDE_IMPLEMENTATION_RECORDED "pytorch" /* a recorded program that uses PyTorch */

/* Their names in reports. */
#define TIDE_WORDS_OWN "tidemark's own model in C"
#define TIDE_WORDS_PYTORCH "PyTorch, eager"

/* The name of a run's implementation in reports; other texts are returned as they are. "" if
 * unknown. */
const char *tide_implementation_words(const char *implementation);

#ifdef __cplusplus
}
#endif

#endif
