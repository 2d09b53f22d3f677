/* A build without tidemark's own transformer. */
#include "cli/own_model.h"

const tide_own_model *const tide_own_model_here = NULL;
