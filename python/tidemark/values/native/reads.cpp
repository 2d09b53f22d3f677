// reads.cpp: see reads.h.
#include "reads.h"

#include "evaluation.h"
#include "running.h"
#include "table.h"

#include <ATen/ops/_local_scalar_dense.h>

#include <atomic>
#include <cstring>
#include <deque>
#include <dlfcn.h>

namespace tidemark {

namespace {

constexpr int64_t ALL_HELD_BYTES = 128 << 20; // of floats of the host that are kept
constexpr int64_t DRAWN_BYTES = 1 << 20;      // a larger copy of floats is Python's
constexpr int64_t COPIED_BYTES = 1 << 20;     // floats of the host up to this are copied
constexpr int64_t INTEGERS_BYTES = 64 << 20;

std::atomic<int> n_captures{0};
std::atomic<int64_t> n_inputs{0}; // tensors that the host copied to the card

void set_mode(int n_true, int is_quiet) {
    static const auto mode =
        reinterpret_cast<void (*)(int, int)>(dlsym(RTLD_DEFAULT, "tidemark_values_mode"));
    if (mode != nullptr)
        mode(n_true, is_quiet);
}

c10::OperatorHandle operator_of(const char *name) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
}

// Asked only while some capture is on.
bool is_capturing() {
    static const c10::OperatorHandle op = operator_of("tidemark_values::is_capturing");
    if (n_captures.load(std::memory_order_relaxed) <= 0)
        return false;
    Stack stack;
    op.callBoxed(stack);
    return stack.at(0).toBool();
}

// A number that rests on an assumption was read. Whether it is to be true: PyTorch checks its
// arguments.
bool say_number(const IValue &value) {
    static const c10::OperatorHandle op = operator_of("tidemark_values::said_number");
    Stack stack{value};
    op.callBoxed(stack);
    return stack.at(0).toBool();
}

void say_copied() {
    static const c10::OperatorHandle op = operator_of("tidemark_values::said_copied");
    Stack stack;
    op.callBoxed(stack);
}

int64_t bytes_of(const at::Tensor &t) {
    return t.numel() * static_cast<int64_t>(t.itemsize());
}

void fill_with(const at::Tensor &to, const at::Tensor &values) {
    const bool is_same = to.scalar_type() == values.scalar_type() && to.is_contiguous() &&
                         values.is_contiguous() && to.sizes() == values.sizes() && !to.is_neg() &&
                         !to.is_conj() && !values.is_neg() && !values.is_conj();
    if (is_same) {
        std::memcpy(to.data_ptr(), values.const_data_ptr(), static_cast<size_t>(bytes_of(to)));
        return;
    }
    const Below below;
    to.copy_(values);
}

} // namespace

Quietly::Quietly() {
    set_mode(0, 1);
}

Quietly::~Quietly() {
    set_mode(0, 0);
}

int64_t count_inputs() {
    return n_inputs;
}

void add_captures(int n) {
    n_captures += n;
}

void read_number(const at::Tensor &t, IValue &ret_value) {
    if (is_capturing())
        return;
    bool is_assumed = true;
    try {
        const at::Tensor made = read(t, is_assumed);
        if (!made.defined())
            return;
        const Below below;
        ret_value = at::_local_scalar_dense(made);
    } catch (const std::exception &) { // a type that the CPU does not have
        return;
    }
    if (is_assumed && say_number(ret_value))
        ret_value = true;
}

bool is_small_copy(const at::Tensor &to, const at::Tensor &source) {
    return is_card(source) && to.is_cpu() && source.numel() > 0 && to.numel() == source.numel() &&
           (!is_float(source.scalar_type()) || bytes_of(source) <= DRAWN_BYTES);
}

void copied_to_host(const at::Tensor &to, const at::Tensor &source) {
    bool is_assumed = true;
    try {
        const at::Tensor made = read(source, is_assumed);
        if (made.defined()) {
            fill_with(to, made);
        } else if (is_float(source.scalar_type())) {
            const auto seed = reinterpret_cast<uintptr_t>(source.storage().data()) >> 9;
            fill_with(
                to, ask_draw("normal", to.numel(), to.scalar_type(), seed, 0, 0).view(to.sizes()));
        }
    } catch (const std::exception &) { // a type that the CPU does not have: zeros
        is_assumed = true;
    }
    if (is_assumed)
        say_copied();
}

bool is_plain_source(const at::Tensor &to, const at::Tensor &source) {
    const int64_t n_bytes = to.numel() * static_cast<int64_t>(to.itemsize());
    return is_card(to) && source.is_cpu() && source.has_storage() && !source._is_zerotensor() &&
           (n_bytes != static_cast<int64_t>(to.storage().nbytes()) ||
            n_bytes <= (is_float(to.scalar_type()) ? COPIED_BYTES : INTEGERS_BYTES));
}

void copied_to_card(Plan &plan, Arguments args) {
    const at::Tensor &to = args[0].toTensor(), &source = args[1].toTensor();
    const auto all_bytes = static_cast<int64_t>(to.storage().nbytes());
    if (to.numel() == 0)
        return;
    n_inputs += to.numel() > 1; // a loop that waits may copy single numbers
    ValuePtr value = bytes_of(to) == all_bytes ? value_of_host(to, source) : nullptr;
    const std::lock_guard<std::mutex> guard(table().lock);
    if (value != nullptr) {
        table().put(to, std::move(value), true);
        return;
    }
    if (bytes_of(to) > (is_float(to.scalar_type()) ? COPIED_BYTES : INTEGERS_BYTES)) {
        table().written(to); // a node would hold the host's bytes
        return;
    }
    try {
        table().forget_generated();
        put_results(make_node(plan, args), args, args.slice(0, 1));
    } catch (const std::exception &error) {
        plan.counts.errors++;
        plan.last_error = std::string(error.what()).substr(0, 200);
    }
}

ValuePtr value_of_host(const at::Tensor &t, const at::Tensor &values) {
    auto value =
        std::make_shared<Value>(static_cast<int64_t>(t.storage().nbytes()), t.scalar_type());
    const Geometry geometry = geometry_of(t);
    const bool is_same = values.scalar_type() == t.scalar_type() &&
                         values.strides() == t.strides() && values.sizes() == t.sizes() &&
                         t.is_non_overlapping_and_dense() && !values.is_conj() &&
                         !values.is_neg() && !t.is_conj() && !t.is_neg();
    value->held = host_storage(value->n_bytes);
    if (is_same) {
        std::memcpy(static_cast<char *>(value->held.mutable_data()) +
                        geometry.offset * static_cast<int64_t>(t.itemsize()),
                    values.const_data_ptr(), static_cast<size_t>(geometry.n_bytes()));
    } else {
        const Below below;
        host_tensor(value->held, geometry).copy_(values);
    }
    return value;
}

void limit_held(const ValuePtr &value) {
    static auto &held = *new std::deque<std::weak_ptr<Value>>;
    held.push_back(value);
    int64_t n_bytes = 0;
    for (const auto &other : held) {
        const ValuePtr alive = other.lock();
        n_bytes += alive != nullptr ? alive->n_bytes : 0;
    }
    while (n_bytes > ALL_HELD_BYTES || (!held.empty() && held.front().expired())) {
        const ValuePtr old = held.front().lock();
        held.pop_front();
        if (old == nullptr)
            continue;
        n_bytes -= old->n_bytes;
        if (!old->held)
            continue;
        const auto few = std::min<int64_t>(
            old->n_bytes, WINDOW * static_cast<int64_t>(c10::elementSize(old->dtype)));
        old->window = host_storage(few);
        std::memcpy(old->window.mutable_data(), old->held.data(), static_cast<size_t>(few));
        old->held = c10::Storage();
        old->is_sample = old->is_assumed = true;
    }
}

} // namespace tidemark
