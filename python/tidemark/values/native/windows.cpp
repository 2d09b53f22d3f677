// windows.cpp: large floats are computed on a part of their elements, the same part of all
// operands.
//
// Pointwise operators commute with taking a part. A chain of them over millions of elements, and a
// sum, a product or a norm of all of them, agree with each other: d.dot(-d) is negative whatever d
// is. A sum over n elements of which w were looked at is scaled by n / w.
#include "evaluation.h"
#include "running.h"
#include "table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

namespace tidemark {

namespace {

constexpr int64_t LARGE = 1 << 20;          // elements of what has several dimensions
constexpr int64_t EXACT_BYTES = 64LL << 20; // of known arguments, up to which all elements count
constexpr int MAX_NESTED = 32;              // windows that need a number that needs a window

bool is_flat(const Geometry &geometry) {
    int64_t expected = 1;
    for (size_t i = geometry.sizes.size(); i-- > 0;) {
        if (geometry.sizes[i] != 1 && geometry.strides[i] != expected)
            return false;
        expected *= geometry.sizes[i];
    }
    return !geometry.is_conj && !geometry.is_neg;
}

bool is_large(const Geometry &geometry) {
    const int64_t n = geometry.numel();
    const bool is_vector = geometry.sizes.size() == 1;
    return is_float(geometry.dtype) && (is_vector ? n > SMALL : n >= LARGE) && is_flat(geometry);
}

// One number, or one that is expanded, as gradients of sums are.
bool is_single(const Geometry &geometry) {
    for (size_t i = 0; i < geometry.sizes.size(); i++) {
        if (geometry.sizes[i] != 1 && geometry.strides[i] != 0)
            return false;
    }
    return true;
}

const Node::Result *result_of(const Value &value) {
    if (value.node == nullptr || value.index < 0)
        return nullptr;
    return &value.node->results[static_cast<size_t>(value.index)];
}

bool is_inside(const Geometry &geometry, int64_t start, int64_t n) {
    return geometry.offset <= start && start + n <= geometry.offset + geometry.numel();
}

Geometry flat(at::ScalarType dtype, int64_t start, int64_t n) {
    Geometry made;
    made.dtype = dtype;
    made.sizes = {n};
    made.strides = {1};
    made.offset = start;
    return made;
}

at::Tensor empty(at::ScalarType dtype, int64_t n) {
    return host_tensor(host_storage(n * static_cast<int64_t>(c10::elementSize(dtype))),
                       flat(dtype, 0, n));
}

} // namespace

bool is_window_reduction(const Node &node) {
    if (!node.plan->is(REDUCTION) || !node.plan->writes.empty() || node.refs.empty() ||
        !node.lists.empty())
        return false;
    for (const Node::Result &result : node.results) {
        if (result.geometry.numel() != 1)
            return false;
    }
    bool is_assumed = false, is_held = true;
    int64_t n_bytes = 0;
    for (const Ref &ref : node.refs) {
        if (ref.value == nullptr || !is_large(ref.geometry) ||
            ref.geometry.numel() != node.refs[0].geometry.numel())
            return false;
        is_assumed = is_assumed || ref.value->is_assumed;
        is_held = is_held && static_cast<bool>(ref.value->held);
        n_bytes += ref.value->n_bytes;
    }
    // Also if all elements are there by chance: others of their reductions looked at the window.
    return is_assumed || (!is_held && n_bytes > EXACT_BYTES);
}

double scale_of(const Node &node, double ratio) {
    if (node.plan->is(SCALES))
        return ratio;
    if (!node.plan->is(SCALES_BY_ROOT))
        return 1;
    double order = 2;
    for (size_t i = 1; i < node.args.size(); i++) {
        if (node.args[i].isScalar()) {
            order = node.args[i].toScalar().toDouble();
            break;
        }
    }
    return std::isinf(order) || order <= 0 ? 1 : std::pow(ratio, 1 / order);
}

// One window and those that it is made of.
class Windows {
  public:
    explicit Windows(Evaluation &evaluation) : evaluation_(evaluation) {
    }

    at::Tensor work_out(const ValuePtr &value, at::ScalarType dtype, int64_t start, int64_t n) {
        const Part wanted{value, dtype, start, n};
        std::vector<Part> stack{wanted};
        while (!stack.empty()) {
            const Part part = stack.back();
            if (found_.count(key(part)) != 0) {
                stack.pop_back();
                continue;
            }
            bool is_ready = true;
            for (const Part &needed : parts_of(part)) {
                if (found_.count(key(needed)) == 0) {
                    stack.push_back(needed);
                    is_ready = false;
                }
            }
            if (!is_ready)
                continue;
            found_[key(part)] = made(part);
            kept_.push_back(part.value); // its address is a key
            stack.pop_back();
        }
        return found_[key(wanted)];
    }

  private:
    struct Part {
        ValuePtr value;
        at::ScalarType dtype;
        int64_t start, n;
    };
    using Key = std::tuple<const Value *, int64_t, int64_t>;
    static Key key(const Part &part) {
        return {part.value.get(), part.start, part.n};
    }

    static bool is_held(const Part &part) {
        if (part.value->held)
            return true;
        const auto item = static_cast<int64_t>(c10::elementSize(part.dtype));
        return part.value->window &&
               (part.start + part.n) * item <= static_cast<int64_t>(part.value->window.nbytes());
    }

    // Whether the window can be made of windows of the arguments.
    static bool is_pointwise(const Part &part) {
        const Node::Result *result = result_of(*part.value);
        if (result == nullptr || !part.value->node->plan->is(POINTWISE) ||
            !is_inside(result->geometry, part.start, part.n) || !is_flat(result->geometry) ||
            !part.value->node->lists.empty())
            return false;
        for (const Ref &ref : part.value->node->refs) {
            const int64_t n = ref.geometry.numel();
            if (!is_single(ref.geometry) &&
                (n != result->geometry.numel() || !is_flat(ref.geometry)))
                return false;
        }
        return true;
    }

    // An operator wrote elsewhere in the storage: the argument that it wrote to has this part.
    static const Ref *untouched(const Part &part) {
        const Node::Result *result = result_of(*part.value);
        if (result == nullptr || !result->is_write)
            return nullptr;
        const Geometry &geometry = result->geometry;
        if (part.start + part.n > geometry.offset &&
            part.start < geometry.offset + geometry.numel())
            return nullptr;
        for (const Ref &ref : part.value->node->refs) {
            if (ref.is_written && ref.value != nullptr && ref.n_bytes == part.value->n_bytes &&
                is_flat(geometry))
                return &ref;
        }
        return nullptr;
    }

    std::vector<Part> parts_of(const Part &part) const {
        std::vector<Part> parts;
        if (is_held(part))
            return parts;
        if (part.value->same != nullptr)
            return {{part.value->same, part.dtype, part.start, part.n}};
        if (part.value->node == nullptr)
            return parts;
        const Node &node = *part.value->node;
        if (const Ref *ref = untouched(part))
            return {{ref->value, part.dtype, part.start, part.n}};
        if (node.plan->is(JOINS))
            return pieces(part);
        if (!is_pointwise(part) || node.plan->is(RANDOM))
            return parts;
        const int64_t shift = part.start - result_of(*part.value)->geometry.offset;
        for (const Ref &ref : node.refs) {
            if (ref.value != nullptr && !is_single(ref.geometry))
                parts.push_back(
                    {ref.value, ref.geometry.dtype, ref.geometry.offset + shift, part.n});
        }
        return parts;
    }

    // Of a concatenation of flat tensors in one dimension.
    std::vector<Part> pieces(const Part &part) const {
        const Node &node = *part.value->node;
        std::vector<Part> parts;
        int64_t begin = 0, covered = 0;
        for (const Node::List &list : node.lists) {
            for (const Node::Item &item : list.items) {
                if (item.ref < 0)
                    return {};
                const Ref &ref = node.refs[static_cast<size_t>(item.ref)];
                const int64_t length = ref.geometry.numel();
                const int64_t low = std::max(part.start, begin),
                              high = std::min(part.start + part.n, begin + length);
                if (low < high) {
                    if (ref.value == nullptr || !is_flat(ref.geometry) ||
                        ref.geometry.sizes.size() != 1)
                        return {};
                    parts.push_back({ref.value, ref.geometry.dtype,
                                     ref.geometry.offset + low - begin, high - low});
                    covered += high - low;
                }
                begin += length;
            }
        }
        return covered == part.n ? parts : std::vector<Part>();
    }

    at::Tensor made(const Part &part) {
        const ValuePtr &value = part.value;
        if (is_held(part))
            return host_tensor(value->held ? value->held : value->window,
                               flat(part.dtype, part.start, part.n));
        if (value->node == nullptr && value->same == nullptr)
            return drawn(part);
        const std::vector<Part> parts = parts_of(part);
        if (value->same != nullptr || untouched(part) != nullptr)
            return found_[key(parts.at(0))];
        const std::shared_ptr<Node> node = value->node;
        at::Tensor tensor;
        try {
            if (node->plan->is(JOINS) && !parts.empty())
                tensor = joined(part, parts);
            else if (is_pointwise(part))
                tensor = run(part, *node);
        } catch (const std::exception &error) {
            node->plan->counts.errors++;
            node->plan->last_error = std::string(error.what()).substr(0, 200);
        }
        if (!tensor.defined() || tensor.numel() != part.n || !tensor.is_contiguous())
            tensor = drawn(part);
        keep(part, node, tensor);
        return tensor;
    }

    // Elements of a storage of which a sample is known.
    static at::Tensor sampled(const Part &part) {
        at::Tensor made = empty(part.dtype, part.n);
        const auto item = static_cast<int64_t>(c10::elementSize(part.dtype));
        const int64_t known = static_cast<int64_t>(part.value->window.nbytes()) / item;
        for (int64_t at = 0; at < part.n;) {
            const int64_t from = (part.start + at) % known, n = std::min(known - from, part.n - at);
            std::memcpy(static_cast<char *>(made.storage().mutable_data()) + at * item,
                        static_cast<const char *>(part.value->window.data()) + from * item,
                        static_cast<size_t>(n * item));
            at += n;
        }
        return made;
    }

    at::Tensor drawn(const Part &part) {
        if (part.value->is_sample && part.value->node == nullptr)
            return sampled(part);
        const Value &value = *part.value;
        if (part.value->seed == 0)
            part.value->seed = table().next_seed();
        const uint64_t seed = value.seed;
        const Plan *plan = value.node != nullptr ? value.node->plan : value.drawn_for;
        const std::string kind =
            plan == nullptr || plan->kind.empty() || plan->is(SOLVER) ? "normal" : plan->kind;
        const int64_t high = value.high;
        return evaluation_.unlocked(
            [&] { return ask_draw(kind, part.n, part.dtype, seed, high, part.start); });
    }

    at::Tensor joined(const Part &part, const std::vector<Part> &parts) {
        at::Tensor made = empty(part.dtype, part.n);
        int64_t at = 0;
        for (const Part &piece : parts) {
            host_tensor(made.storage(), flat(part.dtype, at, piece.n)).copy_(found_[key(piece)]);
            at += piece.n;
        }
        return made;
    }

    at::Tensor run(const Part &part, const Node &node) {
        const Node::Result &result = *result_of(*part.value);
        const int64_t shift = part.start - result.geometry.offset;
        std::vector<at::Tensor> tensors;
        for (const Ref &ref : node.refs) {
            const at::ScalarType dtype = ref.geometry.dtype;
            if (is_single(ref.geometry) && ref.value != nullptr) {
                TORCH_CHECK(evaluation_.work_out_nested(ref.value), "a number is unknown");
                Geometry one = ref.geometry;
                for (int64_t &size : one.sizes)
                    size = 1;
                if (one.sizes.size() > 1) {
                    one.sizes = {1};
                    one.strides = {1};
                }
                tensors.push_back(host_tensor(ref.value->held, one));
            } else if (ref.value == nullptr || node.plan->is(RANDOM)) {
                tensors.push_back(empty(dtype, part.n));
            } else {
                at::Tensor given =
                    found_.at({ref.value.get(), ref.geometry.offset + shift, part.n});
                if (ref.is_written) {
                    at::Tensor copy = empty(dtype, part.n);
                    copy.copy_(given);
                    given = copy;
                }
                tensors.push_back(given);
            }
        }
        Made made = evaluation_.unlocked([&] { return run_on_host(node, tensors); });
        const auto &list = result.is_write ? made.written : made.fresh;
        at::Tensor tensor = list.at(static_cast<size_t>(result.index));
        if (tensor.scalar_type() != part.dtype) {
            at::Tensor other = empty(part.dtype, part.n);
            other.copy_(tensor);
            tensor = other;
        }
        replace_nan(tensor);
        node.plan->counts.evaluated++;
        return tensor;
    }

    // What was computed of an assumed value stays, and what it was made of can go: the rest of
    // its elements is drawn if something needs them.
    void keep(const Part &part, const std::shared_ptr<Node> &node, const at::Tensor &tensor) {
        const ValuePtr &value = part.value;
        if (part.start != 0 || !value->is_assumed ||
            part.n < std::min(WINDOW, value->n_bytes / static_cast<int64_t>(tensor.itemsize())))
            return;
        value->window = host_storage(part.n * static_cast<int64_t>(tensor.itemsize()));
        host_tensor(value->window, flat(part.dtype, 0, part.n)).copy_(tensor);
        if (value->index >= 0)
            node->results[static_cast<size_t>(value->index)].value = nullptr;
        value->index = -1;
        value->drawn_for = node->plan;
        value->seed = value->seed != 0 ? value->seed : table().next_seed();
        value->depth = 0;
        value->node = nullptr;
    }

    Evaluation &evaluation_;
    std::map<Key, at::Tensor> found_;
    std::vector<ValuePtr> kept_;
};

bool Evaluation::work_out_nested(const ValuePtr &value) {
    if (value->held)
        return true;
    if (n_nested_ >= MAX_NESTED)
        return false;
    n_nested_++;
    const bool is_there = work_out(value);
    n_nested_--;
    return is_there;
}

void Evaluation::reduce(const std::shared_ptr<Node> &node) {
    nodes_--;
    try {
        const int64_t n = node->refs[0].geometry.numel(), w = std::min(n, WINDOW);
        Windows windows(*this);
        std::vector<at::Tensor> parts;
        for (const Ref &ref : node->refs)
            parts.push_back(
                windows.work_out(ref.value, ref.geometry.dtype, ref.geometry.offset, w));
        Node reduced = *node;
        for (Node::Result &result : reduced.results)
            result.value = nullptr;
        for (IValue &arg : reduced.args) {
            if (arg.isIntList())
                arg = c10::List<int64_t>(); // all dimensions
        }
        Made made = unlocked([&] { return run_on_host(reduced, parts); });
        const double scale = scale_of(*node, static_cast<double>(n) / static_cast<double>(w));
        for (Node::Result &result : node->results) {
            if (result.value == nullptr)
                continue;
            const at::Tensor &tensor = made.fresh.at(static_cast<size_t>(result.index));
            TORCH_CHECK(tensor.numel() == 1, "not all elements are reduced");
            at::Tensor scaled = is_float(tensor.scalar_type()) ? tensor.mul(scale) : tensor;
            replace_nan(scaled);
            Geometry geometry = result.geometry;
            geometry.offset = scaled.storage_offset();
            geometry.dtype = scaled.scalar_type();
            c10::Storage held = laid_out(host_tensor(scaled.storage(), geometry), result.geometry,
                                         result.value->n_bytes);
            TORCH_CHECK(held, "another type than on the card");
            Value *value = result.value;
            result.value = nullptr;
            value->held = std::move(held);
            value->is_assumed = true;
            value->index = -1;
            value->depth = 0;
            value->node = nullptr;
        }
        node->plan->counts.windowed++;
    } catch (const std::exception &error) {
        node->plan->counts.errors++;
        node->plan->last_error = std::string(error.what()).substr(0, 200);
        make_unknown(*node);
    }
}

} // namespace tidemark
