// table.cpp: see table.h.
#include "table.h"

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <dlfcn.h>
#include <pthread.h>

namespace tidemark {

namespace {

constexpr int64_t SWEEP_BYTES = 32 << 20;
constexpr uint64_t RING = 1 << 16; // programs/virtual_cuda/values/reached.h

constexpr int64_t CARD_FLOATS = 1 << 20, CARD_BYTES = 256 << 20; // asked of the card

// Functions of the preloaded card (programs/virtual_cuda/values/unknown.h).
struct Card {
    int (*read)(void *to, uint64_t address, size_t n_bytes);
    uint64_t (*n_generated)();
    uint64_t (*reached)(uint64_t from, uint64_t *ret, uint64_t n);
};

template <class T> void look_up(T &function, const char *name) {
    function = reinterpret_cast<T>(dlsym(RTLD_DEFAULT, name));
}

const Card &card() {
    static const Card found = [] {
        Card c{};
        look_up(c.read, "tidemark_values_read");
        look_up(c.n_generated, "tidemark_values_generated");
        look_up(c.reached, "tidemark_values_reached");
        return c;
    }();
    return found;
}

int64_t version_of(const at::Tensor &t) {
    const c10::VariableVersion &version = t.unsafeGetTensorImpl()->version_counter();
    return version.enabled() ? static_cast<int64_t>(version.current_version()) : -1;
}

// PyTorch hides the counter itself. Its address distinguishes the counters of x and x.data.
const void *counter_of(const at::Tensor &t) {
    static_assert(sizeof(c10::VariableVersion) == sizeof(void *), "a pointer to the counter");
    return *reinterpret_cast<void *const *>(&t.unsafeGetTensorImpl()->version_counter());
}

// The bytes of a storage that the card itself knows: small copies from the host, and fills.
ValuePtr leaf_of_card(const at::Tensor &t, const c10::StorageImpl &storage) {
    const auto n = static_cast<int64_t>(storage.nbytes());
    const bool is_large = is_float(t.scalar_type()) ? n > CARD_FLOATS : n > CARD_BYTES;
    if (n == 0 || is_large || card().read == nullptr)
        return nullptr;
    const auto address = reinterpret_cast<uint64_t>(storage.data());
    const auto ends = static_cast<size_t>(std::min<int64_t>(8, n));
    char few[8]; // both ends, before memory of the host is allocated
    if (!card().read(few, address, ends) ||
        !card().read(few, address + static_cast<uint64_t>(n) - ends, ends))
        return nullptr;
    c10::Storage held = host_storage(n);
    if (!card().read(held.mutable_data(), address, static_cast<size_t>(n)))
        return nullptr;
    auto value = std::make_shared<Value>(n, t.scalar_type());
    value->held = std::move(held);
    return value;
}

// An operator that is not replaced wrote a float: its old bytes are the best guess, as for
// parameters after a fused optimizer's step.
ValuePtr assumed(const ValuePtr &value) {
    if (value->is_assumed)
        return value;
    auto copy = std::make_shared<Value>(value->n_bytes, value->dtype);
    copy->is_assumed = true;
    copy->depth = value->depth;
    if (value->is_leaf() && !value->held) {
        copy->is_sample = value->is_sample;
        copy->seed = value->seed;
        copy->drawn_for = value->drawn_for;
        copy->window = value->window;
    } else {
        copy->same = value->same != nullptr ? value->same : value;
    }
    return copy;
}

void lock_before_fork() {
    table().lock.lock();
}

void unlock_after_fork() {
    table().lock.unlock();
}

} // namespace

Table &table() {
    // Never destroyed: kernels may run until the process ends.
    static Table &made = []() -> Table & {
        pthread_atfork(lock_before_fork, unlock_after_fork, unlock_after_fork);
        return *new Table;
    }();
    return made;
}

bool is_card(const at::Tensor &t) {
    return t.defined() && t.is_cuda() && t.layout() == at::kStrided && t.has_storage() &&
           !t._is_zerotensor();
}

bool Table::is_same(Row &row, const at::Tensor &t) {
    const int64_t now = version_of(t);
    const void *counter = counter_of(t);
    if (now < 0 || row.version < 0 || counter != row.counter) {
        // Parameters moved by Module.to keep their counter and get another storage.
        row.version = now;
        row.counter = counter;
        row.may_bump = false;
        return true;
    }
    if (now == row.version)
        return true;
    if (row.may_bump && now == row.version + 1) {
        row.version = now;
        row.may_bump = false;
        return true;
    }
    return false;
}

ValuePtr Table::find(const at::Tensor &t) {
    c10::StorageImpl *storage = t.storage().unsafeGetStorageImpl();
    const auto found = rows_.find(storage);
    if (found == rows_.end())
        return nullptr;
    Row &row = found->second;
    if (row.value->n_bytes == static_cast<int64_t>(storage->nbytes()) &&
        row.address == reinterpret_cast<uintptr_t>(storage->data())) {
        if (is_same(row, t))
            return row.value;
        if (is_float(t.scalar_type()) && leaf_of_card(t, *storage) == nullptr) {
            row.value = assumed(row.value);
            row.version = version_of(t);
            row.may_bump = false;
            return row.value;
        }
    }
    rows_.erase(found);
    return nullptr;
}

ValuePtr Table::find_at(uint64_t address, int64_t &ret_offset) {
    for (auto &[storage, row] : rows_) {
        const auto n = static_cast<uint64_t>(row.value->n_bytes);
        if (address < row.address || address - row.address >= n)
            continue;
        const auto alive = row.storage.lock(); // an older storage may have had the address
        if (alive == nullptr || reinterpret_cast<uintptr_t>(alive->data()) != row.address ||
            alive->nbytes() != n)
            continue;
        ret_offset = static_cast<int64_t>(address - row.address);
        return row.value;
    }
    return nullptr;
}

ValuePtr Table::value_of(const at::Tensor &t) {
    ValuePtr value = find(t);
    if (value != nullptr)
        return value;
    const c10::StorageImpl &storage = *t.storage().unsafeGetStorageImpl();
    value = leaf_of_card(t, storage);
    if (value == nullptr) {
        value = std::make_shared<Value>(static_cast<int64_t>(storage.nbytes()), t.scalar_type());
        value->is_assumed = true;
        value->seed = next_seed();
    }
    put(t, value, false);
    return value;
}

void Table::put(const at::Tensor &t, ValuePtr value, bool is_write) {
    c10::StorageImpl *storage = t.storage().unsafeGetStorageImpl();
    const auto address = reinterpret_cast<uintptr_t>(storage->data());
    count_held(*value);
    const auto found = rows_.find(storage);
    if (found != rows_.end()) {
        Row &row = found->second;
        row.value = std::move(value);
        row.version = version_of(t);
        row.counter = counter_of(t);
        row.may_bump = is_write;
        row.address = address;
        return;
    }
    if (rows_.size() >= next_sweep_)
        sweep();
    rows_.emplace(storage, Row{t.storage().getWeakStorageImpl(), std::move(value), version_of(t),
                               counter_of(t), is_write, address});
}

void Table::forget(const at::Tensor &t) {
    rows_.erase(t.storage().unsafeGetStorageImpl());
}

void Table::promise(const at::Tensor &t) {
    forget(t);
    promised_.insert(t.storage().unsafeGetStorageImpl());
    is_any_promised_ = true;
}

void Table::keep_promises(Arguments args) {
    if (!is_any_promised_)
        return;
    std::vector<at::Tensor> kept;
    {
        const std::lock_guard<std::mutex> guard(lock);
        for (const IValue &arg : args) {
            each_tensor(arg, [&](const at::Tensor &t) {
                if (is_card(t) && promised_.erase(t.storage().unsafeGetStorageImpl()) > 0)
                    kept.push_back(t);
            });
        }
        is_any_promised_ = !promised_.empty();
    }
    for (const at::Tensor &t : kept) {
        ValuePtr value = leaf_of_card(t, *t.storage().unsafeGetStorageImpl());
        const std::lock_guard<std::mutex> guard(lock);
        if (value != nullptr && find(t) == nullptr)
            put(t, std::move(value), false);
    }
}

void Table::written(const at::Tensor &t) {
    const auto found = rows_.find(t.storage().unsafeGetStorageImpl());
    if (found == rows_.end())
        return;
    Row &row = found->second;
    if (!is_float(t.scalar_type())) {
        rows_.erase(found);
        return;
    }
    row.value = assumed(row.value);
    row.version = version_of(t);
    row.counter = counter_of(t);
    row.may_bump = true;
}

void Table::count_held(const Value &value) {
    n_held_ += value.held     ? value.n_bytes
               : value.window ? static_cast<int64_t>(value.window.nbytes())
                              : 0;
    if (n_held_ > SWEEP_BYTES)
        sweep();
}

void Table::sweep() {
    n_held_ = 0;
    for (auto at = rows_.begin(); at != rows_.end();)
        at = at->second.storage.expired() ? rows_.erase(at) : std::next(at);
    next_sweep_ = std::max<size_t>(SWEPT_ROWS, 2 * rows_.size());
}

void Table::forget_addresses(const uint64_t *addresses, size_t n) {
    std::vector<uint64_t> sorted(addresses, addresses + n);
    std::sort(sorted.begin(), sorted.end());
    for (auto at = rows_.begin(); at != rows_.end();) {
        Row &row = at->second;
        const auto first = std::lower_bound(sorted.begin(), sorted.end(), row.address);
        if (first == sorted.end() ||
            *first >= row.address + static_cast<uint64_t>(row.value->n_bytes)) {
            ++at;
        } else if (is_float(row.value->dtype)) {
            row.value = assumed(row.value);
            ++at;
        } else {
            at = rows_.erase(at);
        }
    }
}

void Table::forget_generated() {
    if (card().n_generated == nullptr || card().reached == nullptr)
        return;
    const uint64_t now = card().n_generated();
    if (now == n_generated_)
        return;
    n_generated_ = now;
    std::vector<uint64_t> room(1 << 12);
    for (;;) {
        const uint64_t end = card().reached(n_reached_, room.data(), room.size());
        if (end - n_reached_ > RING) { // some are lost
            n_reached_ = end;
            forget_all();
            return;
        }
        const uint64_t n = std::min<uint64_t>(end - n_reached_, room.size());
        if (std::find(room.begin(), room.begin() + static_cast<int64_t>(n), 0) !=
            room.begin() + static_cast<int64_t>(n))
            forget_all(); // the kernel may have written anywhere
        forget_addresses(room.data(), n);
        n_reached_ += n;
        if (n == 0 || n_reached_ >= end)
            return;
    }
}

// ---- values.h

int64_t Geometry::numel() const {
    int64_t n = 1;
    for (const int64_t size : sizes)
        n *= size;
    return n;
}

Geometry geometry_of(const at::Tensor &t) {
    Geometry made;
    made.dtype = t.scalar_type();
    made.sizes.append(t.sizes().begin(), t.sizes().end());
    made.strides.append(t.strides().begin(), t.strides().end());
    made.offset = t.storage_offset();
    made.is_conj = t.is_conj();
    made.is_neg = t.is_neg();
    return made;
}

Value::~Value() {
    if (node != nullptr && index >= 0)
        node->results[static_cast<size_t>(index)].value = nullptr;
}

c10::Storage host_storage(int64_t n_bytes) {
    return c10::Storage(c10::Storage::use_byte_size_t(), c10::SymInt(n_bytes),
                        c10::GetCPUAllocator(), true);
}

at::Tensor host_tensor(const c10::Storage &storage, const Geometry &geometry) {
    at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(
        c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
        c10::scalarTypeToTypeMeta(geometry.dtype));
    made.unsafeGetTensorImpl()->set_sizes_and_strides(geometry.sizes, geometry.strides,
                                                      geometry.offset);
    if (geometry.is_conj)
        made.unsafeGetTensorImpl()->_set_conj(true);
    if (geometry.is_neg)
        made.unsafeGetTensorImpl()->_set_neg(true);
    return made;
}

} // namespace tidemark
