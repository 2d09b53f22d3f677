// running.cpp: see running.h.
#include "running.h"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/DispatchKeySet.h>

#include <cmath>
#include <cstring>
#include <dlfcn.h>

namespace tidemark {

namespace {

c10::DispatchKeySet excluded() {
    return c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset |
           c10::functorch_transforms_ks | c10::functorch_batched_ks | c10::python_ks |
           c10::DispatchKeySet({c10::DispatchKey::Functionalize, c10::DispatchKey::PythonDispatcher,
                                c10::DispatchKey::PreDispatch});
}

const c10::DispatchKeySet CPU(c10::DispatchKey::CPU);

bool is_half(const at::Tensor &t) {
    return t.defined() && (t.scalar_type() == at::kHalf || t.scalar_type() == at::kBFloat16);
}

// The tensor in another type, by the kernel of the CPU alone.
at::Tensor converted(const at::Tensor &t, at::ScalarType dtype) {
    if (t.scalar_type() == dtype)
        return t;
    return t.to(dtype);
}

// Random operators: their own generator, or the program's, which then gets its state back.
class Seeding {
  public:
    Seeding(const Node &node, Stack &stack) {
        const Plan &plan = *node.plan;
        if (!plan.is(RANDOM))
            return;
        if (plan.generator_arg >= 0) {
            static at::Generator own = at::detail::createCPUGenerator(1);
            own.set_current_seed(node.seed);
            stack[static_cast<size_t>(plan.generator_arg)] = own;
            return;
        }
        program_ = at::detail::getDefaultCPUGenerator();
        state_ = program_.get_state();
        program_.set_current_seed(node.seed);
    }
    ~Seeding() {
        if (state_.defined())
            program_.set_state(state_);
    }
    Seeding(const Seeding &) = delete;
    Seeding &operator=(const Seeding &) = delete;

  private:
    at::Generator program_;
    at::Tensor state_;
};

at::Tensor item_of(const Node::Item &item, const std::vector<at::Tensor> &tensors,
                   bool is_widened) {
    const at::Tensor &t = item.ref >= 0 ? tensors[static_cast<size_t>(item.ref)] : item.given;
    return is_widened && is_half(t) ? converted(t, at::kFloat) : t;
}

// is_widened: 16-bit floats as 32-bit ones.
Stack stack_of(const Node &node, const std::vector<at::Tensor> &tensors, bool is_widened) {
    Stack stack = node.args;
    for (const Node::Direct &direct : node.direct) {
        const at::Tensor &t = tensors[static_cast<size_t>(direct.ref)];
        stack[direct.arg] = is_widened && is_half(t) ? converted(t, at::kFloat) : t;
    }
    for (const Node::List &list : node.lists) {
        if (list.is_optional) {
            c10::List<std::optional<at::Tensor>> made;
            for (const Node::Item &item : list.items) {
                at::Tensor t = item_of(item, tensors, is_widened);
                made.push_back(t.defined() ? std::optional<at::Tensor>(t) : std::nullopt);
            }
            stack[list.arg] = std::move(made);
        } else {
            c10::List<at::Tensor> made;
            for (const Node::Item &item : list.items)
                made.push_back(item_of(item, tensors, is_widened));
            stack[list.arg] = std::move(made);
        }
    }
    const std::string &name = node.plan->name;
    if (is_widened && (name == "aten::_softmax" || name == "aten::_log_softmax"))
        stack[2] = false; // from half to float is the GPU's own
    return stack;
}

void call(const Node &node, Stack &stack) {
    const Seeding seeding(node, stack);
    node.plan->op.redispatchBoxed(CPU, &stack);
}

// Threads that wait for work spin, which costs small programs ten times what they compute. These
// are settings of the calling thread; absent from some builds of PyTorch.
struct Threads {
    void (*set_openmp)(int n) = nullptr;
    int (*get_openmp)() = nullptr;
    int (*set_mkl)(int n) = nullptr; // returns the last; 0: as the process has it
};

const Threads &threads() {
    static const Threads found = [] {
        Threads t;
        t.set_openmp = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
        t.get_openmp = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
        t.set_mkl =
            reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "MKL_Set_Num_Threads_Local"));
        return t;
    }();
    return found;
}

} // namespace

Below::Below()
    : was_off_(is_off()), state_(c10::AutogradState::get_tls_state()),
      keys_(c10::DispatchKeySet(c10::DispatchKey::BackendSelect), excluded()), no_records_(false) {
    is_off() = true;
    c10::AutogradState::set_tls_state(c10::AutogradState(false, false, false, false));
    if (threads().set_openmp != nullptr && threads().get_openmp != nullptr) {
        n_openmp_ = threads().get_openmp();
        threads().set_openmp(1);
    }
    if (threads().set_mkl != nullptr)
        n_mkl_ = threads().set_mkl(1);
}

Below::~Below() {
    if (n_openmp_ > 0)
        threads().set_openmp(n_openmp_);
    if (threads().set_mkl != nullptr)
        threads().set_mkl(n_mkl_);
    c10::AutogradState::set_tls_state(state_);
    is_off() = was_off_;
}

Made run_on_host(const Node &node, const std::vector<at::Tensor> &tensors) {
    Plan &plan = *node.plan;
    bool can_widen = false;
    for (const at::Tensor &t : tensors)
        can_widen = can_widen || (plan.writes.empty() && is_half(t));
    const bool is_widened = can_widen && plan.half_failures > 2;
    Stack stack = stack_of(node, tensors, is_widened);
    try {
        call(node, stack);
    } catch (const std::exception &) {
        if (!can_widen || is_widened)
            throw;
        stack = stack_of(node, tensors, true);
        call(node, stack);
        plan.half_failures++;
    }
    Made made;
    for (const Plan::Write &write : plan.writes) {
        for (const Node::Direct &direct : node.direct) {
            if (direct.arg == write.arg)
                made.written.push_back(tensors[static_cast<size_t>(direct.ref)]);
        }
        for (const Node::List &list : node.lists) {
            for (const Node::Item &item : list.items) {
                if (list.arg == write.arg)
                    made.written.push_back(item_of(item, tensors, false));
            }
        }
    }
    const auto add = [&](const at::Tensor &t) {
        for (const at::Tensor &own : made.written) {
            if (own.is_same(t))
                return;
        }
        made.fresh.push_back(t);
    };
    for (const IValue &out : stack) {
        if (out.isTensor()) {
            add(out.toTensor());
        } else if (out.isTensorList()) {
            for (const at::Tensor &t : out.toTensorVector())
                add(t);
        }
    }
    return made;
}

c10::Storage laid_out(const at::Tensor &given, const Geometry &geometry, int64_t n_bytes) {
    at::Tensor made = given;
    if (!made.defined() || made.sizes() != c10::IntArrayRef(geometry.sizes))
        return c10::Storage();
    if (made.scalar_type() != geometry.dtype) {
        if (!is_float(made.scalar_type()) || !is_float(geometry.dtype))
            return c10::Storage();
        made = converted(made, geometry.dtype);
    }
    const bool is_same = static_cast<int64_t>(made.storage().nbytes()) == n_bytes &&
                         made.storage_offset() == geometry.offset &&
                         made.strides() == c10::IntArrayRef(geometry.strides);
    if (is_same && !made.is_conj() && !made.is_neg())
        return made.storage();
    c10::Storage held = host_storage(n_bytes);
    Geometry plain = geometry;
    plain.is_conj = plain.is_neg = false;
    host_tensor(held, plain).copy_(made);
    return held;
}

namespace {

template <class T> void replace_in(T *values, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        if (values[i] != values[i])
            values[i] = T(1);
    }
}

} // namespace

void replace_nan(const at::Tensor &t) {
    if (!t.defined() || !is_float(t.scalar_type()))
        return;
    // The whole storage, whatever the strides: results of the CPU have storages of their own.
    void *data = t.storage().mutable_data();
    const auto n = static_cast<int64_t>(t.storage().nbytes() / t.itemsize());
    switch (t.scalar_type()) {
    case at::kFloat:
        return replace_in(static_cast<float *>(data), n);
    case at::kDouble:
        return replace_in(static_cast<double *>(data), n);
    case at::kHalf:
        return replace_in(static_cast<c10::Half *>(data), n);
    case at::kBFloat16:
        return replace_in(static_cast<c10::BFloat16 *>(data), n);
    default:
        return;
    }
}

} // namespace tidemark
