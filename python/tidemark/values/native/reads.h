// reads.h: numbers that the program reads, and copies between the host and the card.
//
// Python is asked only for what is unusual, and for the program's line of what is assumed.
#pragma once
#include "noting.h"

namespace tidemark {

// Within it, the card reports no reads of unknown bytes: the values are known in another way.
class Quietly {
  public:
    Quietly();
    ~Quietly();
    Quietly(const Quietly &) = delete;
    Quietly &operator=(const Quietly &) = delete;
};

// The number of a tensor with one element. ret_value: what the card gave, and is replaced.
void read_number(const at::Tensor &t, IValue &ret_value);

// Whether copied_to_host can serve a copy from the card to the host, before the real kernel runs.
bool is_small_copy(const at::Tensor &to, const at::Tensor &source);
// The real kernel has copied: `to` gets the values.
void copied_to_host(const at::Tensor &to, const at::Tensor &source);

// The same of a copy from the host to the card.
bool is_plain_source(const at::Tensor &to, const at::Tensor &source);
void copied_to_card(Plan &plan, Arguments args);

// The host's values laid out as the tensor of the card is.
ValuePtr value_of_host(const at::Tensor &t, const at::Tensor &values);
// Large floats of the host are kept up to a sum; then the oldest leave a sample of themselves.
// With the lock held.
void limit_held(const ValuePtr &value);

// Tensors that the host has copied to the card so far, without single numbers.
int64_t count_inputs();

// Captures of graphs begin and end.
void add_captures(int n);

} // namespace tidemark
