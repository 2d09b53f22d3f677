// running.h: runs the operator of a node on the CPU.
#pragma once
#include "evaluation.h"

#include <ATen/core/grad_mode.h>
#include <ATen/record_function.h>
#include <c10/core/AutogradState.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/PythonDispatcherTLS.h>

namespace tidemark {

// See evaluation.h. Profilers see nothing of what runs within it either.
class Below {
  public:
    Below();
    ~Below();
    Below(const Below &) = delete;
    Below &operator=(const Below &) = delete;

  private:
    bool was_off_;
    c10::AutogradState state_;
    c10::impl::ForceDispatchKeyGuard keys_;
    c10::impl::DisablePythonDispatcher no_python_;
    at::RecordFunctionGuard no_records_;
    int n_openmp_ = 0, n_mkl_ = 0; // threads that this one had
};

// Results of one call on the CPU.
struct Made {
    std::vector<at::Tensor> written, fresh;
};

// Runs the operator. `tensors` has one tensor of the host's for each of the node's refs. Throws
// what the kernel throws. Called without the lock; the node must not be released meanwhile.
Made run_on_host(const Node &node, const std::vector<at::Tensor> &tensors);

// A storage of n_bytes with the tensor laid out as on the card; none if its type or shape differs.
c10::Storage laid_out(const at::Tensor &made, const Geometry &geometry, int64_t n_bytes);

// NaN that a draw has led to, such as the logarithm of a negative number, becomes 1.
void replace_nan(const at::Tensor &t);

} // namespace tidemark
