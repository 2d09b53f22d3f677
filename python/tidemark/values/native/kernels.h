// kernels.h: kernels at the dispatch key CUDA that call the real one and note the call.
#pragma once
#include "values.h"

namespace tidemark {

// Replaces the overload's kernel; the schema's facts are filled in. Throws if it has none.
void replace(const std::string &name, int64_t flags, const std::string &kind);

// A replaced or a registered overload's plan; NULL: there is none.
Plan *plan_of(const std::string &name);
// The plan of an overload whose kernel stays, for note_call.
Plan &add_plan(const std::string &name, int64_t flags, const std::string &kind);

// The real kernel of aten::copy_.
void real_copy(const at::Tensor &to, const at::Tensor &source, bool is_non_blocking);
// Notes a call that Python made: of operators whose arguments are these.
void note_call(Plan &plan, const Stack &args, const std::vector<at::Tensor> &outs);

// Counts and last errors by overload, as JSON.
std::string statistics();

} // namespace tidemark
