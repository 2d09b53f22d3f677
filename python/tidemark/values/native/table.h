// table.h: storages of the card and their values.
//
// A row belongs to a storage, which it holds weakly, and to the version that the tensor's counter
// had. Another version means that an operator wrote there that is not replaced.
#pragma once
#include "values.h"

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

namespace tidemark {

struct Row {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    ValuePtr value;
    int64_t version;     // -1: the tensor has none (inference mode)
    const void *counter; // the version's; tensors made by .data have their own
    bool may_bump;       // operators in place raise the version after their kernel
    uintptr_t address;
};

// From so many rows on, those of dead storages are looked for. Few, because what they hold is to
// stay in the processor's cache.
constexpr size_t SWEPT_ROWS = 512;

class Table {
  public:
    // Guards all rows, values and nodes. Never held while a kernel or Python runs: an evaluation
    // releases it meanwhile, also the one in put_results (cut).
    std::mutex lock;

    // The value of the tensor's storage; NULL if there is none.
    ValuePtr find(const at::Tensor &t);
    // The value of the storage at an address of the card, and the address within it; NULL: none.
    // Never asks the card, which may wait for another rank.
    ValuePtr find_at(uint64_t address, int64_t &ret_offset);
    // The value of the tensor's storage; an unknown leaf, or the bytes that the card knows, get a
    // row first.
    ValuePtr value_of(const at::Tensor &t);
    // is_write: an operator wrote in place, and the version may still be raised once.
    void put(const at::Tensor &t, ValuePtr value, bool is_write);
    void forget(const at::Tensor &t);
    // Another rank gives its bytes. The card gets them when something reads them, and loses them at
    // the next kernel, which may write anywhere.
    void promise(const at::Tensor &t);
    // Before a kernel runs: promised arguments get rows. May wait for another rank, without the
    // lock.
    void keep_promises(Arguments args);
    // An operator wrote there that is not noted: floats count as they were, assumed.
    void written(const at::Tensor &t);
    // A kernel that is no operator may have written at these addresses of the card.
    void forget_addresses(const uint64_t *addresses, size_t n);
    void forget_all() {
        rows_.clear();
    }
    // The same for kernels that the card saw since the last call. Cheap if there were none.
    void forget_generated();
    uint64_t next_seed() {
        return ++seed_;
    }

  private:
    void sweep();
    // A value got so many bytes of the host: values of dead storages go once they add up.
    void count_held(const Value &value);
    bool is_same(Row &row, const at::Tensor &t);
    std::unordered_map<c10::StorageImpl *, Row> rows_;
    std::unordered_set<const c10::StorageImpl *> promised_; // some may be dead
    std::atomic<bool> is_any_promised_{false};              // read without the lock
    size_t next_sweep_ = SWEPT_ROWS;
    int64_t n_held_ = 0; // bytes of the host that values got since the last sweep
    uint64_t seed_ = 12345;
    uint64_t n_generated_ = 0, n_reached_ = 0;
};

// The one table of the process.
Table &table();

// Whether the tensor is one whose values can be noted.
bool is_card(const at::Tensor &t);

} // namespace tidemark
