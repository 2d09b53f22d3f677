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

static bool is_one_of(const char *text, const char *const *names) {
    while (*names != NULL && strcmp(text, *names) != 0) {
        names++;
    }
    return *names != NULL;
}

/* Caches of keys and values: the layers of transformers' caches, and the functions that allocate
 * the pools of vLLM and SGLang. transformers also fills a cache while it trains, and then autograd
 * keeps the same tensors, so its functions count only within generate(). */
static unsigned cache_signs(const char *file, const char *function) {
    static const char *const OF_VLLM[] = {"_allocate_kv_cache_tensors", "_allocate_kv_cache",
                                          "allocate_kv_cache", NULL};
    static const char *const OF_SGLANG[] = {"_create_buffers", "_create_buffer", NULL};
    bool is_pool = (has(file, "vllm/") && is_one_of(function, OF_VLLM)) ||
                   (has(file, "sglang/srt/mem_cache/") && is_one_of(function, OF_SGLANG));
    if (is_pool) {
        return TIDE_SIGN_GENERATES | TIDE_SIGN_CACHE;
    }
    return (has(file, "transformers/generation/") ? TIDE_SIGN_GENERATES : 0U) |
           (has(file, "transformers/cache_utils.py") ? TIDE_SIGN_CACHE : 0U);
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

/* The functions of llama.cpp in which its buffers are allocated, which it lists as "model buffer",
 * "KV buffer" and "compute buffer". */
static unsigned llama_signs(const char *function) {
    if (begins(function, "llama_kv_cache")) {
        return TIDE_SIGN_GENERATES | TIDE_SIGN_CACHE;
    }
    if (begins(function, "llama_model") && has(function, "::load_tensors(")) {
        return TIDE_SIGN_BUFFER | TIDE_SIGN_PARAMETER;
    }
    return begins(function, "ggml_backend_sched_reserve") ||
                   begins(function, "ggml_backend_sched_alloc_graph") ||
                   begins(function, "ggml_cuda_pool")
               ? TIDE_SIGN_BUFFER
               : 0U;
}

static unsigned native_signs(const char *function) {
    unsigned signs = llama_signs(function);
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

static const char *file_of(const tide_snapshot *snapshot, uint32_t frame,
                           char text[TIDE_PATH_TEXT]) {
    tide_path_text(tide_snapshot_text(snapshot, snapshot->frames[frame].file), text);
    return text;
}

/* The signs of a single frame. */
static unsigned signs_of(const tide_snapshot *snapshot, uint32_t frame, bool *ret_is_python) {
    const tide_frame_row *row = &snapshot->frames[frame];
    const char *function = tide_snapshot_text(snapshot, row->function);
    char text[TIDE_PATH_TEXT];
    const char *file = file_of(snapshot, frame, text);
    size_t n = strlen(file);
    *ret_is_python = n > 3 && strcmp(file + n - 3, ".py") == 0;
    if (!*ret_is_python) {
        return native_signs(function);
    }
    return python_signs(file, tide_last_name(function)) |
           cache_signs(file, tide_last_name(function)) |
           (has(file, "torch/distributed/") ? TIDE_SIGN_COLLECTIVE : 0U);
}

/* Whether a Python frame is code that an optimizer calls and that is not its own: a closure with
 * passes of its own, or a hook. A class of the program's may be the optimizer, whose `step` PyTorch
 * wraps. */
static bool is_closure(const tide_snapshot *snapshot, const tide_stack_row *row) {
    char file[TIDE_PATH_TEXT];
    uint32_t caller = row->parent;
    const char *function =
        tide_last_name(tide_snapshot_text(snapshot, snapshot->frames[row->frame].function));
    if (strcmp(function, "closure") == 0) {
        return true;
    }
    if (has(file_of(snapshot, row->frame, file), "torch/") || has(function, "step")) {
        return false;
    }
    while (caller != TIDE_NONE && /* a decorator, such as torch.no_grad() */
           has(file_of(snapshot, snapshot->stacks[caller].frame, file), "torch/utils/_context")) {
        caller = snapshot->stacks[caller].parent;
    }
    return caller != TIDE_NONE && has(file, "torch/optim/");
}

/* What a frame's callers have to do with its block. */
static unsigned signs_above(const tide_snapshot *snapshot, uint32_t stack, unsigned own,
                            bool is_python, unsigned above) {
    bool is_pass = (own & (TIDE_SIGN_MODULE | TIDE_SIGN_BACKWARD)) != 0;
    bool is_other = (above & TIDE_SIGN_OPTIMIZER) != 0 &&
                    (is_pass || (is_python && is_closure(snapshot, &snapshot->stacks[stack])));
    /* A wrapper of torch.distributed calls the whole model: only calls made directly by its
     * own Python code are collectives. */
    above &= is_python ? ~(unsigned)TIDE_SIGN_COLLECTIVE : ~0U;
    return is_other
               ? (above & ~(unsigned)(TIDE_SIGN_OPTIMIZER | TIDE_SIGN_STATE)) | TIDE_SIGN_CLOSURE
               : above;
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
            above = signs_above(snapshot, (uint32_t)i, of_frames[row->frame], is_python[row->frame],
                                above);
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
