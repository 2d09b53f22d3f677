#include "snapshot/explain/stack_facts.h"

#include <string.h>

#include "common/assert.h"
#include "snapshot/analysis/path_text_friend.h"
#include "snapshot/analysis/stack_signs_friend.h"
#include "snapshot/analysis/user_frame.h"
#include "snapshot/explain/launcher.h"

/* A frame has the trait if its file contains `file` and its function contains `function`; a
 * function that begins with '$' is the end of the name. NULL fits everything. Native recordings
 * have qualified names ("Module._call_impl"), PyTorch's have plain ones. */
typedef struct sign {
    uint32_t trait;
    const char *file;
    const char *function;
} sign;

static const sign PYTHON_SIGNS[] = {
    {TIDE_IN_FORWARD, "torch/nn/modules/module.py", "_call_impl"},
    {TIDE_IN_FORWARD, "torch/nn/modules/module.py", "__call__"},
    {TIDE_IN_MODULE_INIT, "torch/nn/", "__init__"},
    {TIDE_IN_MODULE_INIT, "torch/nn/", "reset_parameters"},
    {TIDE_IN_MODULE_INIT, "torch/nn/init", NULL},
    {TIDE_IN_INIT, NULL, "$__init__"},
    {TIDE_IN_CONVERSION, "torch/nn/modules/module", "$_apply"},
    {TIDE_IN_CONVERSION, "torch/nn/modules/module", "$half"},
    {TIDE_IN_CONVERSION, "torch/nn/modules/module", "$bfloat16"},
    {TIDE_IN_CONVERSION, "torch/nn/modules/module", "$float"},
    {TIDE_IN_CONVERSION, "torch/nn/modules/module", "$double"},
    {TIDE_IN_CONVERSION, "torch/nn/modules/module", "$cuda"},
    {TIDE_IN_CONVERSION, "torch/nn/modules/module", "$to"},
    {TIDE_IN_DOUBLE, "torch/nn/modules/module", "$double"},
    {TIDE_IN_DEEPCOPY, "copy.py", "deepcopy"},
    {TIDE_IN_DEEPCOPY, NULL, "__deepcopy__"},
    {TIDE_IN_LOAD, "torch/serialization", NULL},
    {TIDE_IN_LOAD, "safetensors", NULL},
    {TIDE_IN_LBFGS, "torch/optim/lbfgs", NULL},
    {TIDE_IN_FOREACH, NULL, "_multi_tensor"},
    {TIDE_IN_FOREACH, NULL, "_foreach"},
    {TIDE_IN_FOREACH, NULL, "_group_tensors"},
    {TIDE_IN_DDP, "torch/nn/parallel/distributed", "__init__"},
    {TIDE_IN_DDP, "torch/nn/parallel/distributed", "_ddp_init_helper"},
    {TIDE_IN_DDP, "torch/nn/parallel/distributed", "_rebuild"},
    {TIDE_IN_RECOMPUTE, "torch/utils/checkpoint", "unpack_hook"},
    {TIDE_IN_RECOMPUTE, "torch/utils/checkpoint", "recompute_fn"},
    {TIDE_IN_RECOMPUTE, "torch/utils/checkpoint", "backward"},
    {TIDE_IN_RECOMPUTE, "torch/utils/checkpoint", "_run_fn_with_dynamo"},
    {TIDE_IN_ATTENTION, NULL, "multi_head_attention_forward"},
    {TIDE_IN_WORKER, NULL, "_worker_loop"},
    {TIDE_IN_EMPTY_CACHE, NULL, "empty_cache"},
    {TIDE_IN_CAPTURE, "torch/cuda/graphs", NULL},
    {TIDE_IN_LAYERS | TIDE_IN_TORCH, "torch/nn/", NULL},
    {TIDE_IN_LAYERS | TIDE_IN_TORCH, "torch/optim/", NULL},
    {TIDE_IN_LAYERS | TIDE_IN_TORCH, "torch/autograd/", NULL},
    {TIDE_IN_LAYERS | TIDE_IN_TORCH, "torch/_tensor.py", NULL},
    {TIDE_IN_LAYERS | TIDE_IN_TORCH, "torch/utils/checkpoint", NULL},
    {TIDE_IN_LAYERS | TIDE_IN_TORCH, "torch/serialization", NULL},
    {TIDE_IN_TORCH, "torch/_dynamo", NULL},
    {TIDE_IN_TORCH, "torch/_inductor", NULL},
    {TIDE_IN_TORCH, "torch/_functorch", NULL},
    {TIDE_IN_TORCH, "torch/_native", NULL},
    {TIDE_IN_TORCH, "torch/functional", NULL},
    {TIDE_IN_TORCH, "torch/distributed/fsdp", NULL},
    {TIDE_IN_TORCH, "torch/distributed/tensor", NULL},
    {TIDE_IN_TORCH, "torch/distributed/algorithms", NULL},
    {TIDE_IN_TORCH, "torch/distributed/utils", NULL},
};

static const sign NATIVE_SIGNS[] = {
    {TIDE_IN_GRADIENT, NULL, "AccumulateGrad"},
    {TIDE_IN_GRADIENT, NULL, "autograd::Engine"},
    {TIDE_IN_DDP, NULL, "Reducer"},
    {TIDE_IN_DDP, NULL, "reducer"},
};

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text);
    size_t n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

static bool fits(const sign *of, const char *file, const char *function) {
    if (of->file != NULL && strstr(file, of->file) == NULL) {
        return false;
    }
    return of->function == NULL ||
           (of->function[0] == '$' ? ends_with(function, of->function + 1)
                                   : strstr(function, of->function) != NULL);
}

static uint32_t signs_of(const sign *signs, size_t n, const char *file, const char *function) {
    uint32_t traits = 0;
    for (size_t i = 0; i < n; i++) {
        traits |= fits(&signs[i], file, function) ? signs[i].trait : 0;
    }
    return traits;
}

/* The traits that one frame adds to its stack. */
static uint32_t traits_of_frame(const tide_snapshot *snapshot, uint32_t frame) {
    char file[TIDE_PATH_TEXT];
    const tide_frame_row *row = &snapshot->frames[frame];
    const char *function = tide_snapshot_text(snapshot, row->function);
    tide_path_text(tide_snapshot_text(snapshot, row->file), file);
    if (tide_file_is_python(file)) {
        return TIDE_HAS_PYTHON |
               signs_of(PYTHON_SIGNS, sizeof(PYTHON_SIGNS) / sizeof(PYTHON_SIGNS[0]), file,
                        function);
    }
    bool is_node = strstr(function, "Backward") != NULL && strstr(function, "apply") != NULL;
    return (is_node ? TIDE_IN_GRADIENT : 0U) |
           signs_of(NATIVE_SIGNS, sizeof(NATIVE_SIGNS) / sizeof(NATIVE_SIGNS[0]), file, function);
}

/* The optimizer's own code: a closure that it calls has passes of its own. */
static uint32_t of_optimizer(uint32_t traits, uint16_t signs) {
    const uint32_t own = TIDE_IN_OPTIMIZER | TIDE_IN_LBFGS;
    return (signs & TIDE_SIGN_OPTIMIZER) != 0 ? traits | TIDE_IN_OPTIMIZER : traits & ~own;
}

static void find(tide_stack_facts *facts, const uint32_t *of_frame, const uint16_t *signs,
                 const bool *is_program) {
    const tide_snapshot *snapshot = facts->snapshot;
    for (uint32_t i = 0; i < snapshot->n_stacks; i++) {
        const tide_stack_row *row = &snapshot->stacks[i];
        uint32_t own = of_frame[row->frame];
        bool is_root = row->parent == TIDE_NONE;
        TIDE_ASSERT(is_root || row->parent < i); /* parents come first */
        uint32_t outer = is_root ? 0 : facts->traits[row->parent];
        bool is_visible = (own & TIDE_HAS_PYTHON) != 0 && ((own | outer) & TIDE_IN_TORCH) == 0;
        facts->traits[i] = of_optimizer(own | outer, signs[i]);
        facts->visible[i] = is_visible ? i : is_root ? TIDE_NONE : facts->visible[row->parent];
        facts->program[i] = is_program[row->frame] ? i
                            : is_root              ? TIDE_NONE
                                                   : facts->program[row->parent];
        facts->python[i] = (own & TIDE_HAS_PYTHON) != 0 ? i
                           : is_root                    ? TIDE_NONE
                                                        : facts->python[row->parent];
        facts->has_python = facts->has_python || (own & TIDE_HAS_PYTHON) != 0;
    }
}

tide_status tide_stack_facts_init(tide_stack_facts *facts, const tide_snapshot *snapshot,
                                  const tide_hostmem *mem) {
    *facts = (tide_stack_facts){.snapshot = snapshot, .mem = mem};
    uint32_t *of_frame = tide_hostmem_array(mem, snapshot->n_frames, sizeof(*of_frame));
    bool *is_program = tide_hostmem_array(mem, snapshot->n_frames, sizeof(*is_program));
    uint16_t *signs = tide_stack_signs(snapshot, mem);
    facts->traits = tide_hostmem_array(mem, snapshot->n_stacks, sizeof(*facts->traits));
    facts->visible = tide_hostmem_array(mem, snapshot->n_stacks, sizeof(*facts->visible));
    facts->program = tide_hostmem_array(mem, snapshot->n_stacks, sizeof(*facts->program));
    facts->python = tide_hostmem_array(mem, snapshot->n_stacks, sizeof(*facts->python));
    bool has_room = of_frame != NULL && is_program != NULL && signs != NULL &&
                    facts->traits != NULL && facts->visible != NULL && facts->program != NULL &&
                    facts->python != NULL;
    tide_status status = has_room ? TIDE_OK : TIDE_NO_MEMORY;
    if (has_room) {
        for (uint32_t i = 0; i < snapshot->n_frames; i++) {
            of_frame[i] = traits_of_frame(snapshot, i);
            is_program[i] = tide_frame_is_user(snapshot, i);
        }
        status = tide_launcher_mark(snapshot, mem, is_program);
        find(facts, of_frame, signs, is_program);
    }
    mem->release(mem->ctx, of_frame);
    mem->release(mem->ctx, is_program);
    mem->release(mem->ctx, signs);
    return status;
}

void tide_stack_facts_fini(tide_stack_facts *facts) {
    if (facts->mem != NULL) {
        facts->mem->release(facts->mem->ctx, facts->traits);
        facts->mem->release(facts->mem->ctx, facts->visible);
        facts->mem->release(facts->mem->ctx, facts->program);
        facts->mem->release(facts->mem->ctx, facts->python);
        *facts = (tide_stack_facts){.mem = facts->mem};
    }
}

uint32_t tide_stack_traits(const tide_stack_facts *facts, uint32_t stack) {
    return stack != TIDE_NONE ? facts->traits[stack] : 0;
}

static uint32_t outwards(const tide_stack_facts *facts, const uint32_t *of, uint32_t node) {
    uint32_t parent = facts->snapshot->stacks[node].parent;
    return parent != TIDE_NONE ? of[parent] : TIDE_NONE;
}

uint32_t tide_stack_visible_caller(const tide_stack_facts *facts, uint32_t node) {
    return outwards(facts, facts->visible, node);
}

uint32_t tide_stack_program_caller(const tide_stack_facts *facts, uint32_t node) {
    return outwards(facts, facts->program, node);
}

uint32_t tide_stack_program(const tide_stack_facts *facts, uint32_t stack) {
    return stack != TIDE_NONE ? facts->program[stack] : TIDE_NONE;
}
