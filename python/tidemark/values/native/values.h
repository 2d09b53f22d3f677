// values.h: what is known of the bytes of the card's storages, and the operators that make them.
//
// A Value is the bytes of one storage after one write. It has a Node (the operator and arguments
// that make it), or bytes on the host, or neither: then it is unknown and is drawn at its first
// use. Nodes refer to storages of the card by Values, never by tensors, which would change the
// lifetime of the card's memory. Values and nodes are changed and released under Table::lock only.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Storage.h>
#include <c10/util/SmallVector.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tidemark {

using c10::IValue;
using c10::Stack;

constexpr int64_t SMALL = 1 << 18;             // elements of a float that is always noted
constexpr int64_t BUDGET_BYTES = 384LL << 20;  // results of one read
constexpr double BUDGET_FLOPS = 2e9;           // of products and solvers, one read
constexpr int64_t BUDGET_NODES = 20000;        // of one read
constexpr int64_t BUDGET_UNKNOWN = 32LL << 20; // bytes of unknown inputs of one node
constexpr int DEPTH = 256;                     // of a chain of nodes before it is cut
constexpr int64_t WINDOW = 1 << 16;            // elements that represent a large float

// What Python knows about an overload (overloads.py), as bits.
enum Flags : int64_t {
    RANDOM = 1,
    PRODUCT = 2,
    SOLVER = 4,
    POINTWISE = 8,
    REDUCTION = 16,
    WHOLE = 32,           // writes its first argument without reading it
    OBSERVED = 64,        // only the rows of its results are watched
    SUM_OVER_DIMS = 128,  // as gradients of biases are made
    SCALES = 256,         // a full reduction that grows with the number of elements
    SCALES_BY_ROOT = 512, // a norm
    COPY = 1024,          // aten::copy_
    IN_DIM = 2048,        // its integers are places within a dimension of the first argument
    RANGED = 4096,        // its floats have a range even if nothing is known of the argument
    JOINS = 8192,         // aten::cat
    LISTS = 16384,        // of lists of tensors: noted if all are small, as in small optimizers
};

struct Counts {
    std::atomic<int64_t> noted{0}, fast{0}, evaluated{0}, windowed{0}, drawn{0}, errors{0};
};

// One replaced overload.
struct Plan {
    explicit Plan(const c10::OperatorHandle &handle) : op(handle) {
    }
    struct Write {
        size_t arg;
        bool is_out;
    };
    c10::OperatorHandle op;
    int64_t flags = 0;
    std::string name; // with namespace and overload
    std::string kind; // of draws
    c10::SmallVector<Write, 2> writes;
    size_t n_args = 0, n_returns = 0;
    c10::SmallVector<size_t, 2> running; // statistics that its kernel updates
    int pin_arg = -1, generator_arg = -1;
    std::atomic<int> half_failures{0}; // of its CPU kernel in half precision
    Counts counts;
    std::string last_error;
    bool is(int64_t flag) const {
        return (flags & flag) != 0;
    }
};

struct Geometry {
    at::ScalarType dtype = at::kFloat;
    c10::SmallVector<int64_t, 4> sizes, strides;
    int64_t offset = 0;
    bool is_conj = false, is_neg = false;
    int64_t numel() const;
    int64_t n_bytes() const {
        return numel() * static_cast<int64_t>(c10::elementSize(dtype));
    }
};

Geometry geometry_of(const at::Tensor &t);
inline bool is_float(at::ScalarType dtype) {
    return c10::isFloatingType(dtype);
}

struct Node;
struct Value {
    explicit Value(int64_t bytes, at::ScalarType type) : n_bytes(bytes), dtype(type) {
    }
    ~Value();
    Value(const Value &) = delete;
    Value &operator=(const Value &) = delete;
    int64_t n_bytes;
    at::ScalarType dtype;            // of the tensor that it was noted for
    bool is_assumed = false;         // rests on something unknown
    bool is_sample = false;          // its window represents all of its elements
    int depth = 0;                   // of the chain of nodes
    int index = -1;                  // in node->results
    int64_t high = 0;                // draws of integers are below it; 0: no such bound
    uint64_t seed = 0;               // of its draw
    std::shared_ptr<Node> node;      // makes it; NULL: a leaf
    std::shared_ptr<Value> same;     // has its bytes, which this value only assumes
    const Plan *drawn_for = nullptr; // the operator whose result a draw represents
    c10::Storage held;               // its bytes on the host, once computed
    c10::Storage window;             // of a large float: the first WINDOW elements
    bool is_leaf() const {
        return node == nullptr && same == nullptr;
    }
};
using ValuePtr = std::shared_ptr<Value>;

// A tensor of the card in a node's arguments.
struct Ref {
    ValuePtr value; // NULL: overwritten in whole, and never read
    int64_t n_bytes = 0;
    bool is_written = false;
    Geometry geometry;
};

struct Node {
    struct Item { // of a list of tensors
        int ref = -1;
        at::Tensor given; // of the host
    };
    struct List {
        size_t arg;
        bool is_optional;
        std::vector<Item> items;
    };
    struct Direct {
        size_t arg;
        int ref;
    };
    struct Result {
        Value *value; // NULL: released
        bool is_write;
        int index; // among written, or among fresh tensors
        Geometry geometry;
    };
    Plan *plan = nullptr;
    std::vector<IValue> args; // without the card's tensors
    c10::SmallVector<Ref, 2> refs;
    c10::SmallVector<Direct, 3> direct;
    std::vector<List> lists;
    c10::SmallVector<Result, 1> results;
    uint64_t seed = 0;
    int depth = 0;
    int64_t n_bytes = 0; // of all results
    double flops = 0;    // of products and solvers
    bool is_assumed = false;
};

c10::Storage host_storage(int64_t n_bytes);
at::Tensor host_tensor(const c10::Storage &storage, const Geometry &geometry);

using Arguments = c10::ArrayRef<IValue>;

// Calls f(tensor) for each tensor of an argument, alone or in a list.
template <class F> void each_tensor(const IValue &value, F f) {
    if (value.isTensor()) {
        f(value.toTensor());
    } else if (value.isTensorList()) {
        for (const IValue &item : value.toListRef())
            f(item.toTensor());
    } else if (value.isList()) {
        for (const IValue &item : value.toListRef()) {
            if (item.isTensor())
                f(item.toTensor());
        }
    }
}

} // namespace tidemark
