// evaluation.h: computes values on the CPU, within budgets. What is over them is drawn.
//
// One evaluation runs at a time. It holds Table::lock, except while a CPU kernel or Python runs.
#pragma once
#include "values.h"

#include <mutex>

namespace tidemark {

class Evaluation {
  public:
    Evaluation(std::unique_lock<std::mutex> &lock, int64_t bytes, double flops, int64_t nodes)
        : lock_(lock), bytes_(bytes), flops_(flops), nodes_(nodes) {
    }

    // Computes the bytes of a value: value->held. False: they are more than a read may make.
    bool work_out(const ValuePtr &value);
    // Draws that can be drawn again are released.
    void release_draws();

  private:
    friend class Call;
    friend class Windows;
    bool is_dear(const Node &node) const;
    bool push_needed(const Node &node, std::vector<ValuePtr> &stack);
    bool draw(const ValuePtr &value, at::ScalarType dtype);
    void run(const std::shared_ptr<Node> &node);
    // Computes a reduction of large floats on a part of their elements (windows.cpp).
    void reduce(const std::shared_ptr<Node> &node);
    bool work_out_nested(const ValuePtr &value);
    // Calls f() without the lock.
    template <class F> auto unlocked(F f) {
        lock_.unlock();
        try {
            auto made = f();
            lock_.lock();
            return made;
        } catch (...) {
            lock_.lock();
            throw;
        }
    }
    void make_unknown(Node &node);

    std::unique_lock<std::mutex> &lock_;
    int64_t bytes_;
    double flops_;
    int64_t nodes_;
    int n_nested_ = 0;
    std::vector<ValuePtr> large_draws_;
};

// Whether the node reduces all elements of large floats that rest on an assumption.
bool is_window_reduction(const Node &node);
// The fraction of n elements by which a reduction's result over w of them is scaled.
double scale_of(const Node &node, double ratio);

// Elements of a draw, as a tensor of the host's; asks Python, and so must not hold the lock.
at::Tensor ask_draw(const std::string &kind, int64_t n, at::ScalarType dtype, uint64_t seed,
                    int64_t high, int64_t start);

// A chain that is too long is computed if that is cheap. Called with the lock held.
void cut(const std::shared_ptr<Node> &node);

// The tensor on the host; undefined: too large. Called without the lock.
at::Tensor read(const at::Tensor &t, bool &ret_is_assumed);

// Bytes at an address of the card, without waiting for another rank; false: they are unknown or
// rest on an assumption. For the virtual card (programs/virtual_cuda/values/computed.h).
bool read_bytes(void *to, uint64_t address, size_t n_bytes);

// The thread works for tidemark itself: its operators are not noted.
bool &is_off();

// Within it, operators of the thread run without autograd, autocast, modes and functorch.
class Below;

} // namespace tidemark
