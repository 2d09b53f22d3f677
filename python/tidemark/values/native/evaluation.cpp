// evaluation.cpp: see evaluation.h.
#include "evaluation.h"

#include "running.h"
#include "table.h"

#include <algorithm>
#include <cstring>

namespace tidemark {

namespace {

constexpr double DEAR_FLOPS =
    2e7; // of a product with something unknown, which is as unknown as that
constexpr int64_t KEPT_BYTES = 1 << 20; // a larger draw is drawn again when it is needed
constexpr int64_t CUT_BYTES = 4 << 20;
constexpr double CUT_FLOPS = 1e7;

// One evaluation at a time. Its holder may wait for Python's lock: a thread that may hold Python's
// only tries to get it (cut).
std::mutex &evaluating() {
    static std::mutex &made = *new std::mutex;
    return made;
}

std::mutex *of_fork = nullptr; // held across a fork, if no evaluation was running

const std::string &kind_of(const Value &value) {
    static const std::string usual = "normal", report = "zero";
    const Plan *plan = value.drawn_for;
    if (plan == nullptr)
        return usual;
    if (plan->is(SOLVER))
        return is_float(value.dtype) || c10::isComplexType(value.dtype) ? usual : report;
    return plan->kind.empty() ? usual : plan->kind;
}

// The size of the dimension in which the operator finds its indices; 0: it finds none.
int64_t high_of(const Node &node) {
    if (!node.plan->is(IN_DIM))
        return 0;
    const bool is_by_last = node.plan->name.find("topk") != std::string::npos ||
                            node.plan->name.find("kthvalue") != std::string::npos ||
                            node.plan->name.find("multinomial") != std::string::npos;
    int64_t first = -1;
    bool is_given = false;
    for (size_t i = 0; i < node.args.size() && !is_given; i++) {
        if (node.args[i].isInt()) {
            first = node.args[i].toInt();
            is_given = true;
        }
    }
    if (node.refs.empty() || node.plan->name.find("randperm") != std::string::npos)
        return is_given ? first : 0;
    const auto &sizes = node.refs[0].geometry.sizes;
    const auto n = static_cast<int64_t>(sizes.size());
    if (n == 0)
        return 0;
    if (!is_given && !is_by_last && node.results.size() == 1)
        return node.refs[0].geometry.numel(); // argmax of all elements
    int64_t dim = is_given && !is_by_last ? first : -1;
    if (dim < 0)
        dim += n;
    return dim >= 0 && dim < n ? sizes[static_cast<size_t>(dim)] : 0;
}

// Fills a storage with the bytes of a sample, again and again.
void repeat(const c10::Storage &sample, const c10::Storage &to) {
    for (size_t at = 0; at < to.nbytes(); at += sample.nbytes())
        std::memcpy(static_cast<char *>(to.mutable_data()) + at, sample.data(),
                    std::min(sample.nbytes(), to.nbytes() - at));
}

} // namespace

bool &is_off() {
    thread_local bool off = false;
    return off;
}

at::Tensor ask_draw(const std::string &kind, int64_t n, at::ScalarType dtype, uint64_t seed,
                    int64_t high, int64_t start) {
    static const c10::OperatorHandle op =
        c10::Dispatcher::singleton().findSchemaOrThrow("tidemark_values::drawn", "");
    Stack stack;
    stack.reserve(6);
    stack.emplace_back(kind);
    stack.emplace_back(n);
    stack.emplace_back(static_cast<int64_t>(dtype));
    stack.emplace_back(static_cast<int64_t>(seed));
    stack.emplace_back(high);
    stack.emplace_back(start);
    op.callBoxed(stack);
    return stack.at(0).toTensor();
}

bool Evaluation::work_out(const ValuePtr &wanted) {
    std::vector<ValuePtr> stack{wanted};
    while (!stack.empty()) {
        const ValuePtr value = stack.back();
        if (value->held) {
            stack.pop_back();
            continue;
        }
        if (value->same != nullptr) {
            if (!value->same->held) {
                stack.push_back(value->same);
                continue;
            }
            value->held = value->same->held;
            value->same = nullptr;
            value->depth = 0;
            continue;
        }
        if (value->node == nullptr) {
            if (!draw(value, value->dtype))
                return false;
            stack.pop_back();
            continue;
        }
        const std::shared_ptr<Node> node = value->node;
        const bool is_window = is_window_reduction(*node);
        if (!is_window && is_dear(*node)) {
            make_unknown(*node);
            continue;
        }
        if (!is_window && push_needed(*node, stack))
            continue;
        if (is_window)
            reduce(node);
        else
            run(node);
        stack.pop_back();
        if (value->node != nullptr ||
            !value->held) { // its result has another form than on the card
            if (value->node != nullptr)
                make_unknown(*node);
            stack.push_back(value);
        }
    }
    return static_cast<bool>(wanted->held);
}

bool Evaluation::push_needed(const Node &node, std::vector<ValuePtr> &stack) {
    const size_t before = stack.size();
    for (const Ref &ref : node.refs) {
        if (ref.value != nullptr && !ref.value->held)
            stack.push_back(ref.value);
    }
    TORCH_CHECK(stack.size() < 1000000, "a cycle of values");
    return stack.size() > before;
}

bool Evaluation::is_dear(const Node &node) const {
    if (node.n_bytes > bytes_ || node.flops > flops_ || nodes_ <= 0)
        return true;
    int64_t missing = 0, unknown = 0;
    for (const Ref &ref : node.refs) {
        if (ref.value == nullptr)
            continue;
        if (node.plan->is(PRODUCT) && node.flops > DEAR_FLOPS && ref.value->is_assumed &&
            is_float(ref.geometry.dtype))
            return true;
        if (!ref.value->held) {
            missing += ref.value->n_bytes;
            unknown += ref.value->is_leaf() ? ref.value->n_bytes : 0;
        }
    }
    return missing > bytes_ || unknown > BUDGET_UNKNOWN;
}

// The results represent what the operator could have given, each drawn when it is asked for.
void Evaluation::make_unknown(Node &node) {
    const int64_t high = high_of(node);
    for (Node::Result &result : node.results) {
        Value *value = result.value;
        if (value == nullptr)
            continue;
        result.value = nullptr;
        value->is_assumed = true;
        value->seed = table().next_seed();
        value->drawn_for = node.plan;
        value->dtype = result.geometry.dtype;
        value->high = is_float(value->dtype) ? 0 : high;
        value->depth = 0;
        value->index = -1;
        std::shared_ptr<Node> last = std::move(value->node); // of which the caller holds another
        value->node = nullptr;
    }
}

bool Evaluation::draw(const ValuePtr &value, at::ScalarType dtype) {
    if (value->n_bytes > BUDGET_BYTES)
        return false;
    if (value->seed == 0)
        value->seed = table().next_seed();
    const auto item = static_cast<int64_t>(c10::elementSize(dtype));
    const int64_t n = value->n_bytes / item;
    const std::string kind = kind_of(*value);
    const uint64_t seed = value->seed;
    const int64_t high = value->high;
    c10::Storage held = unlocked([&] {
        c10::Storage storage = host_storage(value->n_bytes);
        if (value->is_sample) {
            repeat(value->window, storage);
            return storage;
        }
        const at::Tensor made =
            n > 0 ? ask_draw(kind, n, dtype, seed, high, 0).contiguous() : at::Tensor();
        if (made.defined())
            std::memcpy(storage.mutable_data(), made.const_data_ptr(),
                        static_cast<size_t>(std::min(n, made.numel()) * item));
        return storage;
    });
    if (value->window) { // elements that a reduction has looked at
        const size_t known = std::min(value->window.nbytes(), held.nbytes());
        std::memcpy(held.mutable_data(), value->window.data(), known);
    }
    value->held = std::move(held);
    value->is_assumed = true;
    bytes_ -= value->n_bytes;
    if (value->drawn_for != nullptr)
        const_cast<Plan *>(value->drawn_for)->counts.drawn++;
    if (value->n_bytes > KEPT_BYTES)
        large_draws_.push_back(value);
    return true;
}

void Evaluation::release_draws() {
    for (const ValuePtr &value : large_draws_)
        value->held = c10::Storage();
    large_draws_.clear();
}

// Arguments of one call: each storage once, and copies of those that it writes to.
class Call {
  public:
    explicit Call(const Node &node) {
        is_assumed = node.plan->is(RANDOM);
        for (const Ref &ref : node.refs) {
            c10::Storage storage = storage_of(node, ref);
            Geometry geometry = ref.geometry;
            tensors.push_back(host_tensor(storage, geometry));
            is_assumed = is_assumed || (ref.value != nullptr && ref.value->is_assumed);
        }
    }
    std::vector<at::Tensor> tensors;
    bool is_assumed;

  private:
    c10::Storage storage_of(const Node &node, const Ref &ref) {
        if (ref.value == nullptr)
            return host_storage(ref.n_bytes);
        for (const auto &[value, storage] : copies_) {
            if (value == ref.value.get())
                return storage;
        }
        bool is_written = false;
        for (const Ref &other : node.refs)
            is_written = is_written || (other.is_written && other.value == ref.value);
        if (!is_written)
            return ref.value->held;
        c10::Storage copy = host_storage(ref.value->n_bytes);
        std::memcpy(copy.mutable_data(), ref.value->held.data(),
                    static_cast<size_t>(ref.value->n_bytes));
        copies_.emplace_back(ref.value.get(), copy);
        return copy;
    }
    c10::SmallVector<std::pair<const Value *, c10::Storage>, 2> copies_;
};

void Evaluation::run(const std::shared_ptr<Node> &node) {
    nodes_--;
    flops_ -= node->flops;
    bytes_ -= node->n_bytes;
    Made made;
    bool is_assumed = true;
    try {
        Call call(*node);
        is_assumed = call.is_assumed;
        made = unlocked([&] { return run_on_host(*node, call.tensors); });
        for (const auto *list : {&made.written, &made.fresh}) {
            for (const at::Tensor &t : *list) {
                if (is_assumed)
                    replace_nan(t);
                if (is_assumed && node->plan->is(SOLVER) && t.defined() &&
                    c10::isIntegralType(t.scalar_type(), true))
                    t.zero_(); // its report: drawn matrices are regular
            }
        }
    } catch (const std::exception &error) { // the CPU has not each operator for each type
        node->plan->counts.errors++;
        node->plan->last_error = std::string(error.what()).substr(0, 200);
        make_unknown(*node);
        return;
    }
    node->plan->counts.evaluated++;
    for (Node::Result &result : node->results) {
        Value *value = result.value;
        if (value == nullptr)
            continue;
        const auto &list = result.is_write ? made.written : made.fresh;
        const auto i = static_cast<size_t>(result.index);
        c10::Storage held;
        if (i < list.size())
            held = result.is_write ? list[i].storage()
                                   : laid_out(list[i], result.geometry, value->n_bytes);
        if (!held)
            continue; // such as a buffer that only the GPU leaves empty: work_out draws it
        result.value = nullptr;
        value->held = std::move(held);
        value->is_assumed = value->is_assumed || is_assumed;
        value->index = -1;
        value->depth = 0;
        value->node = nullptr;
    }
    bool is_done = true;
    for (const Node::Result &result : node->results)
        is_done = is_done && result.value == nullptr;
    if (!is_done)
        make_unknown(*node);
    node->args.clear();
    node->refs.clear();
    node->lists.clear();
    node->direct.clear();
}

namespace {

void lock_before_fork() {
    of_fork = evaluating().try_lock() ? &evaluating() : nullptr;
}

void unlock_in_parent() {
    if (of_fork != nullptr)
        of_fork->unlock();
}

// A child forked during another thread's evaluation starts with a new lock.
void unlock_in_child() {
    if (of_fork != nullptr)
        of_fork->unlock();
    else
        new (&evaluating()) std::mutex;
}

bool &is_evaluating() {
    thread_local bool evaluating = false;
    return evaluating;
}

struct Marked {
    Marked() {
        is_evaluating() = true;
    }
    ~Marked() {
        is_evaluating() = false;
    }
};

void watch_forks() {
    static const int once = pthread_atfork(lock_before_fork, unlock_in_parent, unlock_in_child);
    (void)once;
}

} // namespace

void cut(const std::shared_ptr<Node> &node) {
    if (is_evaluating() || !evaluating().try_lock())
        return; // the next node of the chain tries again
    std::lock_guard<std::mutex> evaluation_lock(evaluating(), std::adopt_lock);
    const Marked marked;
    const Below below;
    std::vector<ValuePtr> values;
    for (const Ref &ref : node->refs)
        if (ref.value != nullptr)
            values.push_back(ref.value);
    std::unique_lock<std::mutex> lock(table().lock, std::adopt_lock);
    try {
        for (const ValuePtr &value : values) {
            if (value->depth < DEPTH / 2)
                continue;
            Evaluation evaluation(lock, CUT_BYTES, CUT_FLOPS, 4 * DEPTH);
            evaluation.work_out(value);
            evaluation.release_draws();
        }
    } catch (const std::exception &) {
        // The chain is longer then, and the next node of it tries again.
    }
    node->depth = 1;
    for (const Ref &ref : node->refs)
        node->depth = std::max(node->depth, ref.value != nullptr ? ref.value->depth + 1 : 1);
    for (const Node::Result &result : node->results)
        if (result.value != nullptr)
            result.value->depth = node->depth;
    values.clear();
    lock.release(); // the caller's
}

at::Tensor read(const at::Tensor &t, bool &ret_is_assumed) {
    watch_forks();
    ret_is_assumed = true;
    if (!is_card(t) || is_evaluating())
        return at::Tensor();
    std::lock_guard<std::mutex> evaluation_lock(evaluating());
    const Marked marked;
    const Below below;
    std::unique_lock<std::mutex> lock(table().lock);
    table().forget_generated();
    ValuePtr value = table().value_of(t);
    at::Tensor made;
    if (value->is_leaf() && !value->held && value->n_bytes > BUDGET_BYTES)
        return made;
    Evaluation evaluation(lock, BUDGET_BYTES, BUDGET_FLOPS, BUDGET_NODES);
    try {
        if (evaluation.work_out(value)) {
            Geometry geometry = geometry_of(t);
            made = host_tensor(value->held, geometry);
            ret_is_assumed = value->is_assumed;
        }
    } catch (const std::exception &) { // the program does not see it
        made = at::Tensor();
    }
    evaluation.release_draws();
    value.reset();
    return made;
}

bool read_bytes(void *to, uint64_t address, size_t n_bytes) {
    if (is_evaluating() || !evaluating().try_lock())
        return false; // another thread may wait for this one
    std::lock_guard<std::mutex> evaluation_lock(evaluating(), std::adopt_lock);
    const Marked marked;
    const Below below;
    std::unique_lock<std::mutex> lock(table().lock);
    table().forget_generated();
    int64_t offset = 0;
    bool is_known = false;
    ValuePtr value = table().find_at(address, offset);
    if (value == nullptr || value->is_assumed ||
        value->n_bytes - offset < static_cast<int64_t>(n_bytes))
        return false;
    Evaluation evaluation(lock, BUDGET_BYTES, BUDGET_FLOPS, BUDGET_NODES);
    try {
        is_known = evaluation.work_out(value) && !value->is_assumed && value->held;
        if (is_known)
            std::memcpy(to, static_cast<const char *>(value->held.data()) + offset, n_bytes);
    } catch (const std::exception &) { // the program does not see it
        is_known = false;
    }
    evaluation.release_draws();
    value.reset();
    return is_known;
}

} // namespace tidemark
