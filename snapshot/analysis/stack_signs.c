/* Signs from the functions of a call stack about the block that is allocated or released there. */
#include <string.h>

#include "snapshot/analysis/category_rules_internal.h"
#include "snapshot/analysis/path_text_friend.h"

static bool has(const char *text, const char *part) {
    return strstr(text, part) != NULL;
}

static bool begins(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* The last part of a function's name; not all recordings have the class in "Module._apply". */
const char *tide_last_name(const char *function) {
    const char *dot = strrchr(function, '.');
    return dot != NULL ? dot + 1 : function;
}

static unsigned python_signs(const char *file, const char *function) {
    bool is_modules = has(file, "torch/nn/modules/");
    unsigned signs = 0;
    if (is_modules && strcmp(function, "_call_impl") == 0) {
        signs |= TIDE_SIGN_MODULE;
    }
    /* Batch normalisation also makes buffers in __init__, so its blocks may be either. */
    bool is_made = strcmp(function, "__init__") == 0 && !has(file, "batchnorm");
    if (is_modules &&
        (is_made || strcmp(function, "_apply") == 0 || strcmp(function, "reset_parameters") == 0)) {
        signs |= TIDE_SIGN_PARAMETER;
    }
    if (has(file, "torch/autograd/") &&
        (strcmp(function, "_engine_run_backward") == 0 || strcmp(function, "backward") == 0)) {
        signs |= TIDE_SIGN_BACKWARD;
    }
    if (strcmp(function, "zero_grad") == 0) {
        return has(file, "torch/optim/") || is_modules ? TIDE_SIGN_ZERO_GRAD : 0U;
    }
    if (has(file, "torch/optim/")) {
        signs |= TIDE_SIGN_OPTIMIZER;
        signs |= strcmp(function, "_init_group") == 0 ? TIDE_SIGN_STATE : 0U;
    }
    return signs;
}

static unsigned native_signs(const char *function) {
    unsigned signs = 0;
    if (begins(function, "torch::autograd::")) {
        signs |= has(function, "::apply(") || has(function, "Engine::") ? TIDE_SIGN_BACKWARD : 0U;
        signs |= has(function, "AccumulateGrad::") ? TIDE_SIGN_ACCUMULATE : 0U;
    }
    if (begins(function, "at::cuda::blas::") || has(function, "Workspace") ||
        has(function, "run_conv_plan") || has(function, "CUDABlas")) {
        signs |= TIDE_SIGN_WORKSPACE;
    }
    return signs | (begins(function, "c10d::") ? TIDE_SIGN_COLLECTIVE : 0U);
}

/* The signs of a single frame. */
static unsigned signs_of(const tide_snapshot *snapshot, uint32_t frame, bool *ret_is_python) {
    const tide_frame_row *row = &snapshot->frames[frame];
    const char *function = tide_snapshot_text(snapshot, row->function);
    char file[TIDE_PATH_TEXT];
    tide_path_text(tide_snapshot_text(snapshot, row->file), file);
    size_t n = strlen(file);
    *ret_is_python = n > 3 && strcmp(file + n - 3, ".py") == 0;
    if (!*ret_is_python) {
        return native_signs(function);
    }
    return python_signs(file, tide_last_name(function)) |
           (has(file, "torch/distributed/") ? TIDE_SIGN_COLLECTIVE : 0U);
}

uint16_t *tide_stack_signs(const tide_snapshot *snapshot, const tide_hostmem *mem) {
    uint16_t *signs = tide_hostmem_zeroed(mem, snapshot->n_stacks, sizeof(*signs));
    uint16_t *of_frames = tide_hostmem_zeroed(mem, snapshot->n_frames, sizeof(*of_frames));
    uint8_t *is_python = tide_hostmem_zeroed(mem, snapshot->n_frames, sizeof(*is_python));
    if (signs != NULL && of_frames != NULL && is_python != NULL) {
        for (size_t i = 0; i < snapshot->n_frames; i++) {
            bool python = false;
            unsigned signs_of_frame = signs_of(snapshot, (uint32_t)i, &python);
            of_frames[i] = (uint16_t)(signs_of_frame | (python ? 0U : TIDE_SIGN_NATIVE));
            is_python[i] = python;
        }
        for (size_t i = 0; i < snapshot->n_stacks; i++) { /* callers come first */
            const tide_stack_row *row = &snapshot->stacks[i];
            unsigned above = row->parent != TIDE_NONE ? signs[row->parent] : 0U;
            /* A wrapper of torch.distributed calls the whole model: only calls made directly by its
             * own Python code are collectives. */
            above &= is_python[row->frame] ? ~(unsigned)TIDE_SIGN_COLLECTIVE : ~0U;
            /* A closure that an optimizer calls has passes of its own. */
            bool is_pass = (of_frames[row->frame] & (TIDE_SIGN_MODULE | TIDE_SIGN_BACKWARD)) != 0;
            above &= is_pass ? ~(unsigned)(TIDE_SIGN_OPTIMIZER | TIDE_SIGN_STATE) : ~0U;
            signs[i] = (uint16_t)(above | of_frames[row->frame]);
        }
    } else {
        mem->release(mem->ctx, signs);
        signs = NULL;
    }
    mem->release(mem->ctx, is_python);
    mem->release(mem->ctx, of_frames);
    return signs;
}
