// operators.cpp: what Python calls, as operators of PyTorch: no header of Python is needed, and
// tensors pass without a copy. native.py describes them.
#include "evaluation.h"
#include "kernels.h"
#include "reads.h"
#include "rows.h"
#include "running.h"
#include "table.h"

#include <torch/library.h>

#include <algorithm>
#include <cstring>
#include <dlfcn.h>

namespace tidemark {

namespace {

constexpr int64_t LIMITED_BYTES = 1 << 20; // of one tensor of floats that counts

template <size_t N> c10::SmallVector<IValue, N> take(Stack *stack) {
    c10::SmallVector<IValue, N> args(stack->end() - N, stack->end());
    stack->erase(stack->end() - N, stack->end());
    return args;
}

// PyTorch warns of each kernel that is replaced.
class Silent : public c10::WarningHandler {
  public:
    void process(const c10::Warning &) override {
    }
};

void silence_warnings(bool is_silent) {
    static auto &silent = *new Silent;
    static c10::WarningHandler *before = nullptr;
    if (is_silent)
        before = c10::WarningUtils::get_warning_handler();
    c10::WarningUtils::set_warning_handler(is_silent ? &silent : before);
}

// replace(str[] names, int[] flags, str[] kinds) -> str: those that could not be
void replace_all(const c10::OperatorHandle &, Stack *stack) {
    const auto args = take<3>(stack);
    const auto names = args[0].toListRef();
    const auto flags = args[1].toIntVector();
    const auto kinds = args[2].toListRef();
    std::string failed;
    silence_warnings(true);
    for (size_t i = 0; i < names.size(); i++) {
        try {
            replace(names[i].toStringRef(), flags[i], kinds[i].toStringRef());
        } catch (const std::exception &) {
            failed += (failed.empty() ? "" : ", ") + names[i].toStringRef();
        }
    }
    silence_warnings(false);
    stack->emplace_back(failed);
}

// read(Tensor t) -> (Tensor?, bool)
void read_one(const c10::OperatorHandle &, Stack *stack) {
    const auto args = take<1>(stack);
    bool is_assumed = true;
    at::Tensor made = read(args[0].toTensor(), is_assumed);
    if (made.defined())
        stack->emplace_back(std::move(made));
    else
        stack->emplace_back();
    stack->emplace_back(is_assumed);
}

// put_sample(Tensor t, Tensor source) -> (): of large floats, the first elements represent all
void put_sample(const c10::OperatorHandle &, Stack *stack) {
    const auto args = take<2>(stack);
    const at::Tensor t = args[0].toTensor(), source = args[1].toTensor();
    if (!is_card(t))
        return;
    const auto item = static_cast<int64_t>(t.itemsize());
    const bool is_same = source.scalar_type() == t.scalar_type() &&
                         source.strides() == t.strides() && t.is_non_overlapping_and_dense() &&
                         t.numel() * item == static_cast<int64_t>(t.storage().nbytes());
    if (!is_same) {
        const std::lock_guard<std::mutex> guard(table().lock);
        table().forget(t);
        return;
    }
    auto value =
        std::make_shared<Value>(static_cast<int64_t>(t.storage().nbytes()), t.scalar_type());
    value->window = host_storage(std::min(WINDOW, t.numel()) * item);
    std::memcpy(value->window.mutable_data(), source.const_data_ptr(), value->window.nbytes());
    value->is_sample = value->is_assumed = true;
    const std::lock_guard<std::mutex> guard(table().lock);
    value->seed = table().next_seed();
    table().put(t, std::move(value), true);
}

// written(Tensor t) -> (): by an operator that is not noted
void written(const c10::OperatorHandle &, Stack *stack) {
    const auto args = take<1>(stack);
    const std::lock_guard<std::mutex> guard(table().lock);
    if (is_card(args[0].toTensor()))
        table().written(args[0].toTensor());
}

// put(Tensor t, Tensor values, bool is_assumed, bool is_copy) -> (): is_copy: PyTorch raises the
// version afterwards
void put(const c10::OperatorHandle &, Stack *stack) {
    const auto args = take<4>(stack);
    const at::Tensor t = args[0].toTensor();
    if (!is_card(t))
        return;
    if (t.numel() * static_cast<int64_t>(t.itemsize()) <
        static_cast<int64_t>(t.storage().nbytes())) { // a part: the rest is not known from it
        const std::lock_guard<std::mutex> guard(table().lock);
        table().forget(t);
        return;
    }
    ValuePtr value = value_of_host(t, args[1].toTensor());
    value->is_assumed = args[2].toBool();
    const std::lock_guard<std::mutex> guard(table().lock);
    if (is_float(value->dtype) && value->n_bytes > LIMITED_BYTES)
        limit_held(value);
    table().put(t, std::move(value), args[3].toBool());
}

// note_call(str name, Tensor[] args, Tensor[] outs) -> (): of operators that take tensors first
void note_one(const c10::OperatorHandle &, Stack *stack) {
    const auto args = take<3>(stack);
    const std::string &name = args[0].toStringRef();
    Plan *plan = plan_of(name);
    if (plan == nullptr)
        plan = &add_plan(name, name == "aten::copy_" ? COPY | WHOLE | POINTWISE : 0, "");
    Stack given;
    for (const at::Tensor &t : args[1].toTensorVector())
        given.emplace_back(t);
    for (size_t i = given.size(); i < plan->n_args; i++)
        given.emplace_back(plan->op.schema().arguments()[i].default_value().value_or(IValue()));
    note_call(*plan, given, args[2].toTensorVector());
}

// forget(Tensor t) -> ()
void forget(const c10::OperatorHandle &, Stack *stack) {
    const auto args = take<1>(stack);
    const std::lock_guard<std::mutex> guard(table().lock);
    if (is_card(args[0].toTensor()))
        table().forget(args[0].toTensor());
}

// promise(Tensor t) -> (): another rank gives its bytes
void promise(const c10::OperatorHandle &, Stack *stack) {
    const auto args = take<1>(stack);
    const std::lock_guard<std::mutex> guard(table().lock);
    if (is_card(args[0].toTensor()))
        table().promise(args[0].toTensor());
}

void forget_everything(const c10::OperatorHandle &, Stack *) {
    const std::lock_guard<std::mutex> guard(table().lock);
    table().forget_all();
}

// forget_addresses(int[] addresses) -> ()
void forget_addresses(const c10::OperatorHandle &, Stack *stack) {
    const auto args = take<1>(stack);
    const std::vector<int64_t> given = args[0].toIntVector();
    const std::vector<uint64_t> addresses(given.begin(), given.end());
    const std::lock_guard<std::mutex> guard(table().lock);
    table().forget_addresses(addresses.data(), addresses.size());
}

// find(Tensor t) -> int: 0 not noted, 1 noted, but rests on an assumption, 2 known
void find(const c10::OperatorHandle &, Stack *stack) {
    const auto args = take<1>(stack);
    const at::Tensor t = args[0].toTensor();
    int64_t found = 0;
    if (is_card(t)) {
        const std::lock_guard<std::mutex> guard(table().lock);
        const ValuePtr value = table().find(t);
        found = value == nullptr ? 0 : value->is_assumed ? 1 : 2;
    }
    stack->emplace_back(found);
}

// watch_rows(int site, int n, int possible) -> ()
void watch(const c10::OperatorHandle &, Stack *stack) {
    const auto args = take<3>(stack);
    watch_rows(args[0].toInt(), args[1].toInt(), args[2].toInt());
}

void bytes_of_rows(const c10::OperatorHandle &, Stack *stack) {
    const auto args = take<2>(stack);
    int64_t row = 0, all = 0;
    rows_bytes(args[0].toInt(), args[1].toBool(), row, all);
    stack->emplace_back(row);
    stack->emplace_back(all);
}

void copy(const c10::OperatorHandle &, Stack *stack) {
    const auto args = take<3>(stack);
    real_copy(args[0].toTensor(), args[1].toTensor(), args[2].toBool());
}

// capturing(bool is_begin) -> ()
void capturing(const c10::OperatorHandle &, Stack *stack) {
    const auto args = take<1>(stack);
    add_captures(args[0].toBool() ? 1 : -1);
}

// pause(bool is_off) -> bool: this thread's operators are not noted; what it was
void pause(const c10::OperatorHandle &, Stack *stack) {
    const auto args = take<1>(stack);
    const bool was = is_off();
    is_off() = args[0].toBool();
    stack->emplace_back(was);
}

void tell_statistics(const c10::OperatorHandle &, Stack *stack) {
    stack->emplace_back(statistics());
}

// Conjugated and negated views come as they are: PyTorch would copy them on the card first.
void pass_views(torch::Library &library, const std::string &name) {
    for (const auto key :
         {c10::DispatchKey::Conjugate, c10::DispatchKey::Negative, c10::DispatchKey::ZeroTensor})
        library.impl(name.c_str(), torch::dispatch(key, torch::CppFunction::makeFallthrough()));
}

void tell_inputs(const c10::OperatorHandle &, Stack *stack) {
    stack->emplace_back(count_inputs());
}

int compute(void *to, uint64_t address, size_t n_bytes) {
    return read_bytes(to, address, n_bytes) ? 1 : 0;
}

// answer_card() -> (): the card asks for values that decide how much a kernel does
void answer_card(const c10::OperatorHandle &, Stack *) {
    using Function = int (*)(void *, uint64_t, size_t);
    const auto computes =
        reinterpret_cast<void (*)(Function)>(dlsym(RTLD_DEFAULT, "tidemark_values_computes"));
    if (computes != nullptr)
        computes(compute);
}

template <c10::BoxedKernel::BoxedKernelFunction *function>
void add(torch::Library &library, const char *schema) {
    const std::string text = schema;
    library.def(schema);
    const std::string name = text.substr(0, text.find('('));
    library.impl(name.c_str(),
                 torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd,
                                 torch::CppFunction::makeFromBoxedFunction<function>()));
    pass_views(library, name);
}

} // namespace

TORCH_LIBRARY(tidemark_values, library) {
    add<replace_all>(library, "replace(str[] names, int[] flags, str[] kinds) -> str");
    add<read_one>(library, "read(Tensor t) -> (Tensor?, bool)");
    add<put>(library, "put(Tensor t, Tensor values, bool is_assumed, bool is_copy) -> ()");
    add<put_sample>(library, "put_sample(Tensor t, Tensor source) -> ()");
    add<written>(library, "written(Tensor t) -> ()");
    add<note_one>(library, "note_call(str name, Tensor[] args, Tensor[] outs) -> ()");
    add<forget>(library, "forget(Tensor t) -> ()");
    add<promise>(library, "promise(Tensor t) -> ()");
    add<forget_addresses>(library, "forget_addresses(int[] addresses) -> ()");
    add<forget_everything>(library, "forget_all() -> ()");
    add<find>(library, "find(Tensor t) -> int");
    add<watch>(library, "watch_rows(int site, int n, int possible) -> ()");
    add<bytes_of_rows>(library, "rows_bytes(int site, bool is_of_one) -> (int, int)");
    add<copy>(library, "real_copy(Tensor to, Tensor source, bool non_blocking) -> ()");
    add<capturing>(library, "capturing(bool is_begin) -> ()");
    add<pause>(library, "pause(bool is_off) -> bool");
    add<tell_statistics>(library, "statistics() -> str");
    add<tell_inputs>(library, "n_inputs() -> int");
    add<answer_card>(library, "answer_card() -> ()");
    // Python implements these.
    library.def(
        "drawn(str kind, int n, ScalarType dtype, int seed, int high, int start) -> Tensor");
    library.def("copy_host(Tensor to, Tensor source, bool non_blocking) -> ()");
    pass_views(library, "copy_host");
    library.def("said_number(Scalar value) -> bool");
    library.def("said_copied() -> ()");
    library.def("is_capturing() -> bool");
}

} // namespace tidemark
