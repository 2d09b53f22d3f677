// noting.h: makes nodes of calls. All functions are called with Table::lock held.
#pragma once
#include "values.h"

namespace tidemark {

// A node of a call with its arguments as they are now: before the kernel runs, if it writes to
// them. The result is not yet in the table.
std::shared_ptr<Node> make_node(Plan &plan, Arguments args);

// The kernel has run: what it wrote and returned gets values of this node. A long chain is then
// computed if no other read is running, and otherwise unknown from here on.
void put_results(const std::shared_ptr<Node> &node, Arguments args, Arguments outs);

// Notes an unknown large float whose values have a range, such as the result of a softmax.
void put_hint(const Plan &plan, const at::Tensor &t);

} // namespace tidemark
