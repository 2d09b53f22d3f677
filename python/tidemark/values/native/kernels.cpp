// kernels.cpp: see kernels.h.
#include "kernels.h"

#include "evaluation.h"
#include "noting.h"
#include "reads.h"
#include "rows.h"
#include "table.h"

#include <torch/library.h>

#include <map>

namespace tidemark {

namespace {

using Real = c10::SafeKernelFunction;

std::map<std::string, std::unique_ptr<Plan>> &plans() {
    static auto &made = *new std::map<std::string, std::unique_ptr<Plan>>;
    return made;
}

torch::Library &library() {
    static auto &made = *new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA,
                                            __FILE__, __LINE__);
    return made;
}

bool is_large_float(const at::Tensor &t) {
    return t.defined() && t.numel() > SMALL && is_float(t.scalar_type());
}

// Whether it is known, as far as that can be seen without computing it. With the lock held.
bool is_known(const at::Tensor &t) {
    const ValuePtr value = table().find(t);
    return value != nullptr && !value->is_assumed;
}

Arguments last(const Stack &stack, size_t n) {
    return Arguments(stack).slice(stack.size() - n, n);
}

void look_at_outs(Arguments outs) {
    if (!is_watching_rows())
        return;
    for (const IValue &out : outs)
        each_tensor(out, look_at_rows);
}

// Kernels whose results are unknown are running in this thread: what they call is not noted.
thread_local int n_unknown = 0;

struct Unknown {
    Unknown() {
        n_unknown++;
    }
    ~Unknown() {
        n_unknown--;
    }
};

// With the lock held.
void mark_written(const Plan &plan, Arguments args) {
    const auto mark = [](const at::Tensor &t) {
        if (is_card(t))
            table().written(t);
    };
    for (const Plan::Write &write : plan.writes)
        each_tensor(args[write.arg], mark);
    for (const size_t i : plan.running)
        each_tensor(args[i], mark);
}

// A kernel whose results are unknown: only their rows count, and what it writes to is unknown.
class Observed : public c10::OperatorKernel {
  public:
    Observed(Plan &plan, Real real) : plan_(plan), real_(std::move(real)) {
    }
    void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack) {
        c10::SmallVector<IValue, 8> args;
        const bool is_writing = !plan_.writes.empty() || !plan_.running.empty();
        if (is_writing)
            args.append(stack->end() - static_cast<ptrdiff_t>(plan_.n_args), stack->end());
        table().keep_promises(last(*stack, plan_.n_args));
        {
            const Unknown unknown;
            real_.callBoxed(op, keys, stack);
        }
        look_at_outs(last(*stack, plan_.n_returns));
        if (!is_writing || is_off())
            return;
        const std::lock_guard<std::mutex> guard(table().lock);
        mark_written(plan_, args);
    }

  private:
    Plan &plan_;
    Real real_;
};

// A kernel that computes something.
class Noted : public c10::OperatorKernel {
  public:
    Noted(Plan &plan, Real real) : plan_(plan), real_(std::move(real)) {
    }

    void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack) {
        if (is_off()) {
            real_.callBoxed(op, keys, stack);
            return;
        }
        const c10::SmallVector<IValue, 8> args(stack->end() - static_cast<ptrdiff_t>(plan_.n_args),
                                               stack->end());
        table().keep_promises(args);
        if (n_unknown > 0)
            pass(op, keys, stack, args);
        else if (plan_.writes.empty())
            make(op, keys, stack, args);
        else
            write(op, keys, stack, args);
    }

  private:
    Arguments call(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack) {
        real_.callBoxed(op, keys, stack);
        const Arguments outs = last(*stack, plan_.n_returns);
        look_at_outs(outs);
        return outs;
    }

    void pass(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack,
              Arguments args) {
        real_.callBoxed(op, keys, stack);
        if (plan_.writes.empty())
            return;
        const std::lock_guard<std::mutex> guard(table().lock);
        mark_written(plan_, args);
    }

    void make(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack,
              Arguments args) {
        const Arguments outs = call(op, keys, stack);
        const std::lock_guard<std::mutex> guard(table().lock);
        try {
            if (plan_.is(LISTS) && !are_small(args))
                return;
            if (outs.size() == 1 && outs[0].isTensor() && leaves(args, outs[0].toTensor()))
                return;
            table().forget_generated();
            put_results(make_node(plan_, args), args, outs);
        } catch (const std::exception &error) {
            fail(error);
        }
    }

    // With the lock held: whether the result is left alone.
    bool leaves(Arguments args, const at::Tensor &out) {
        if (!is_card(out))
            return true;
        const at::Tensor *first =
            args.empty() || !args[0].isTensor() ? nullptr : &args[0].toTensor();
        if (is_large_float(out)) {
            if (is_worth(args, out))
                return false;
            plan_.counts.fast++;
            if (plan_.is(RANGED))
                put_hint(plan_, out);
            return true;
        }
        // Gradients of biases are as unknown as what they are sums of.
        const bool is_sum = plan_.is(SUM_OVER_DIMS) && first != nullptr && is_large_float(*first) &&
                            out.numel() > 1;
        if (is_sum && is_float(out.scalar_type()) && !is_known(*first)) {
            plan_.counts.fast++;
            return true;
        }
        return false;
    }

    // A large result of floats is noted where something is known of what goes in, and of vectors,
    // whose products decide where an optimizer such as LBFGS goes on.
    bool is_worth(Arguments args, const at::Tensor &out) {
        if (plan_.is(PRODUCT))
            return false;
        if (plan_.is(WHOLE) || (plan_.is(POINTWISE | JOINS) && out.dim() == 1))
            return true;
        bool is_given = false;
        if (plan_.is(JOINS)) {
            bool is_any_known = false;
            each_tensor(args[0], [&](const at::Tensor &t) {
                is_any_known = is_any_known || (is_card(t) && is_known(t));
            });
            return is_any_known;
        }
        for (size_t i = 0; i < args.size() && i < 2; i++) {
            if (!args[i].isTensor() || !is_card(args[i].toTensor()))
                continue;
            const bool is_out = args[i].toTensor().is_same(out);
            if (is_out && (plan_.writes.empty() || plan_.writes[0].is_out))
                continue;
            is_given = true;
            if (is_known(args[i].toTensor()))
                return true;
        }
        return !is_given;
    }

    // All tensors of the lists together.
    static bool are_small(Arguments args) {
        int64_t n = 0;
        for (const IValue &arg : args) {
            each_tensor(arg, [&](const at::Tensor &t) { n += t.defined() ? t.numel() : 0; });
            if (n > SMALL)
                return false;
        }
        return true;
    }

    void write(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack,
               Arguments args) {
        std::shared_ptr<Node> node;
        const IValue &target = args[plan_.writes[0].arg];
        const bool is_large = target.isTensor() && is_large_float(target.toTensor());
        try {
            // Before the kernel: within it, operators may be noted that write to the same storage.
            const std::lock_guard<std::mutex> guard(table().lock);
            if (plan_.is(LISTS) ? are_small(args)
                                : !is_large || is_worth_writing(args, target.toTensor())) {
                table().forget_generated();
                node = make_node(plan_, args);
            }
        } catch (const std::exception &error) {
            fail(error);
        }
        const Releasing releasing{node};
        const Arguments outs = call(op, keys, stack);
        const std::lock_guard<std::mutex> guard(table().lock);
        try {
            if (node != nullptr) {
                put_results(node, args, outs);
                node.reset();
                return;
            }
        } catch (const std::exception &error) {
            fail(error);
        }
        node.reset();
        leave_written(args);
    }

    // A storage that an operator writes to in part, and of which something is known, stays known.
    bool is_worth_writing(Arguments args, const at::Tensor &target) {
        if (!is_card(target))
            return false;
        return is_worth(args, target) || is_known(target);
    }

    void leave_written(Arguments args) {
        plan_.counts.fast++;
        for (const Plan::Write &write : plan_.writes) {
            each_tensor(args[write.arg], [&](const at::Tensor &t) {
                if (!is_card(t))
                    return;
                if (plan_.is(RANGED) && is_large_float(t))
                    put_hint(plan_, t);
                else if (plan_.is(WHOLE) || write.is_out)
                    table().forget(t);
                else
                    table().written(t);
            });
        }
    }

    void fail(const std::exception &error) {
        plan_.counts.errors++;
        plan_.last_error = std::string(error.what()).substr(0, 200);
    }

    // A node is released with the lock held, also if the kernel throws.
    struct Releasing {
        std::shared_ptr<Node> &node;
        ~Releasing() {
            if (node == nullptr)
                return;
            const std::lock_guard<std::mutex> guard(table().lock);
            node.reset();
        }
    };

  protected:
    Plan &plan_;
    Real real_;
};

Real *copy_kernel = nullptr;
thread_local c10::DispatchKeySet copy_keys(c10::DispatchKey::CUDA);

// Copies within the card are noted; Python has those from and to the host.
class Copy : public Noted {
  public:
    Copy(Plan &plan, const Real &real) : Noted(plan, real) {
        copy_kernel = new Real(real);
    }

    void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack) {
        const auto args = last(*stack, 3);
        const at::Tensor to = args[0].toTensor(), source = args[1].toTensor();
        if (is_off() || to.layout() != at::kStrided || source.layout() != at::kStrided) {
            real_.callBoxed(op, keys, stack);
        } else if (to.is_cuda() && source.is_cuda()) {
            table().keep_promises(args);
            if (n_unknown > 0 || is_unknown(source)) {
                real_.callBoxed(op, keys, stack);
                look_at_outs(last(*stack, 1));
                const std::lock_guard<std::mutex> guard(table().lock);
                plan_.counts.fast++;
                table().forget(to);
            } else {
                Noted::operator()(op, keys, stack);
            }
        } else {
            from_or_to_host(op, keys, stack, to, source);
        }
    }

  private:
    void from_or_to_host(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack,
                         const at::Tensor &to, const at::Tensor &source) {
        if (is_small_copy(to, source)) {
            {
                const Quietly quietly;
                real_.callBoxed(op, keys, stack);
            }
            copied_to_host(to, source);
        } else if (is_plain_source(to, source)) {
            const c10::SmallVector<IValue, 3> args(stack->end() - 3, stack->end());
            real_.callBoxed(op, keys, stack);
            copied_to_card(plan_, args);
        } else {
            const bool is_non_blocking = last(*stack, 1)[0].toBool();
            copy_keys = keys;
            ask_python(to, source, is_non_blocking);
            stack->erase(stack->end() - 3, stack->end());
            stack->emplace_back(to);
        }
    }

    // Casts of what is unknown, such as weights under autocast.
    static bool is_unknown(const at::Tensor &source) {
        if (!is_float(source.scalar_type()) || !is_card(source))
            return false;
        const std::lock_guard<std::mutex> guard(table().lock);
        const ValuePtr value = table().find(source);
        if (source.numel() > SMALL && source.dim() == 1)
            return false; // see is_worth
        return value == nullptr || (value->is_assumed && source.numel() > SMALL);
    }

    static void ask_python(const at::Tensor &to, const at::Tensor &source, bool is_non_blocking) {
        static const c10::OperatorHandle op =
            c10::Dispatcher::singleton().findSchemaOrThrow("tidemark_values::copy_host", "");
        Stack stack;
        stack.emplace_back(to);
        stack.emplace_back(source);
        stack.emplace_back(is_non_blocking);
        op.callBoxed(stack);
    }
};

// A number or a truth value is read: `.item()`, `bool(x)`, `if x:`.
class Number : public c10::OperatorKernel {
  public:
    explicit Number(Real real) : real_(std::move(real)) {
    }
    void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet keys, Stack *stack) {
        if (is_off()) {
            real_.callBoxed(op, keys, stack);
            return;
        }
        const at::Tensor t = stack->back().toTensor();
        {
            const Quietly quietly;
            real_.callBoxed(op, keys, stack);
        }
        read_number(t, stack->back());
    }

  private:
    Real real_;
};

std::string as_json(const std::string &text) {
    std::string made = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            made += '\\';
        made += static_cast<unsigned char>(c) < 32 ? ' ' : c;
    }
    return made + "\"";
}

} // namespace

Plan *plan_of(const std::string &name) {
    const auto found = plans().find(name);
    return found == plans().end() ? nullptr : found->second.get();
}

Plan &add_plan(const std::string &name, int64_t flags, const std::string &kind) {
    const size_t dot = name.find('.');
    const std::string base = name.substr(0, dot),
                      overload = dot == std::string::npos ? "" : name.substr(dot + 1);
    const c10::OperatorHandle op =
        c10::Dispatcher::singleton().findSchemaOrThrow(base.c_str(), overload.c_str());
    auto plan = std::make_unique<Plan>(op);
    const c10::FunctionSchema &schema = op.schema();
    plan->name = name;
    plan->flags = flags;
    plan->kind = kind;
    plan->n_args = schema.arguments().size();
    plan->n_returns = schema.returns().size();
    for (size_t i = 0; i < plan->n_args; i++) {
        const c10::Argument &argument = schema.arguments()[i];
        if (argument.alias_info() != nullptr && argument.alias_info()->isWrite())
            plan->writes.push_back({i, argument.is_out()});
        if (argument.name().rfind("running_", 0) == 0)
            plan->running.push_back(i);
        if (argument.name() == "pin_memory")
            plan->pin_arg = static_cast<int>(i);
        if (argument.name() == "generator")
            plan->generator_arg = static_cast<int>(i);
    }
    return *(plans()[name] = std::move(plan));
}

void replace(const std::string &name, int64_t flags, const std::string &kind) {
    Plan &plan = add_plan(name, flags, kind);
    Real real = plan.op.getComputedKernelForDispatchKey(c10::DispatchKey::CUDA);
    const char *bare = name.c_str() + name.find("::") + 2;
    if (plan.is(COPY))
        library().impl(bare, torch::CppFunction::makeFromBoxedFunctor(
                                 std::make_unique<Copy>(plan, std::move(real))));
    else if (name == "aten::_local_scalar_dense")
        library().impl(bare, torch::CppFunction::makeFromBoxedFunctor(
                                 std::make_unique<Number>(std::move(real))));
    else if (plan.is(OBSERVED))
        library().impl(bare, torch::CppFunction::makeFromBoxedFunctor(
                                 std::make_unique<Observed>(plan, std::move(real))));
    else
        library().impl(bare, torch::CppFunction::makeFromBoxedFunctor(
                                 std::make_unique<Noted>(plan, std::move(real))));
}

void real_copy(const at::Tensor &to, const at::Tensor &source, bool is_non_blocking) {
    TORCH_CHECK(copy_kernel != nullptr, "aten::copy_ is not replaced");
    Stack stack;
    stack.emplace_back(to);
    stack.emplace_back(source);
    stack.emplace_back(is_non_blocking);
    copy_kernel->callBoxed(plan_of("aten::copy_")->op, copy_keys, &stack);
}

void note_call(Plan &plan, const Stack &args, const std::vector<at::Tensor> &outs) {
    const std::vector<IValue> values(outs.begin(), outs.end());
    const std::lock_guard<std::mutex> guard(table().lock);
    try {
        table().forget_generated();
        put_results(make_node(plan, args), args, values);
    } catch (const std::exception &error) {
        plan.counts.errors++;
        plan.last_error = std::string(error.what()).substr(0, 200);
    }
}

std::string statistics() {
    std::string made = "{";
    for (const auto &[name, plan] : plans()) {
        const Counts &counts = plan->counts;
        if (counts.noted + counts.fast + counts.evaluated + counts.windowed + counts.drawn +
                counts.errors ==
            0)
            continue;
        made += (made.size() > 1 ? ", " : "") + as_json(name) +
                ": {\"noted\": " + std::to_string(counts.noted) +
                ", \"fast\": " + std::to_string(counts.fast) +
                ", \"evaluated\": " + std::to_string(counts.evaluated) +
                ", \"windowed\": " + std::to_string(counts.windowed) +
                ", \"drawn\": " + std::to_string(counts.drawn) +
                ", \"errors\": " + std::to_string(counts.errors) +
                ", \"error\": " + as_json(plan->last_error) + "}";
    }
    return made + "}";
}

} // namespace tidemark
