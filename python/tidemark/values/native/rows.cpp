// rows.cpp: see rows.h.
#include "rows.h"

#include "table.h"

#include <algorithm>
#include <unordered_map>

namespace tidemark {

namespace {

struct Held {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    int64_t n;       // its rows
    double row, all; // bytes: of one row more, and of all
};

struct Sums {
    double row = 0, all = 0;

    void add(const Held &held) {
        row += held.row;
        all += held.all;
    }
    void raise_to(const Sums &other) {
        row = std::max(row, other.row);
        all = std::max(all, other.all);
    }
    bool is_above(const Sums &other) const {
        return row > other.row || all > other.all;
    }
};

struct Site {
    std::vector<Held> alive; // and some that no longer are
    Sums sums;               // of `alive`
    Sums most, most_of_one;  // that were alive at once: of all reads, and of one read
};

struct Watched {
    int64_t site, possible;
    bool is_begun = false; // a result with so many rows was seen
};

std::mutex lock;
std::atomic<bool> is_watching{false};
std::unordered_map<int64_t, Watched> by_n; // the latest read that gave n rows
std::unordered_map<int64_t, Site> sites;

void release_expired(Site &site) {
    const auto gone = [](const Held &held) { return held.storage.expired(); };
    site.alive.erase(std::remove_if(site.alive.begin(), site.alive.end(), gone), site.alive.end());
    site.sums = Sums();
    for (const Held &held : site.alive)
        site.sums.add(held);
}

bool has_alive(const Site &site, int64_t n) {
    return std::any_of(site.alive.begin(), site.alive.end(),
                       [n](const Held &held) { return held.n == n && !held.storage.expired(); });
}

// Of the results with n rows, which one read gave.
Sums sums_of_one(const Site &site, int64_t n) {
    Sums made;
    for (const Held &held : site.alive) {
        if (held.n == n)
            made.add(held);
    }
    return made;
}

} // namespace

bool is_watching_rows() {
    return is_watching.load(std::memory_order_relaxed);
}

void watch_rows(int64_t site, int64_t n, int64_t possible) {
    const std::lock_guard<std::mutex> guard(lock);
    Site &of = sites[site];
    release_expired(of);
    for (auto at = by_n.begin(); at != by_n.end();) { // reads of this line whose results are gone
        const bool is_over = at->second.site == site && !has_alive(of, at->first);
        at = is_over ? by_n.erase(at) : std::next(at);
    }
    if (n < 2 || n >= possible)
        return; // a first dimension of 1 or 0 has many other reasons
    by_n[n] = {site, possible};
    is_watching = true;
}

void look_at_rows(const at::Tensor &t) {
    if (!is_card(t) || t.dim() == 0)
        return;
    const std::lock_guard<std::mutex> guard(lock);
    const int64_t n = t.size(0);
    const auto found = by_n.find(n);
    if (found == by_n.end())
        return;
    Site &site = sites[found->second.site];
    // Later tensors may have as many rows for other reasons: only while a result is alive.
    if (found->second.is_begun && !has_alive(site, n)) {
        by_n.erase(found);
        return;
    }
    found->second.is_begun = true;
    const auto *storage = t.storage().unsafeGetStorageImpl();
    for (const Held &held : site.alive) {
        if (held.storage._unsafe_get_target() == storage)
            return;
    }
    const double row = static_cast<double>(t.storage().nbytes()) / static_cast<double>(n);
    const double all = row * static_cast<double>(found->second.possible - n);
    site.alive.push_back({t.storage().getWeakStorageImpl(), n, row, all});
    site.sums.add(site.alive.back());
    // The sums have some that are gone: they count once they would be the most.
    if (site.sums.is_above(site.most) || sums_of_one(site, n).is_above(site.most_of_one) ||
        site.alive.size() % 256 == 0) {
        release_expired(site);
        site.most.raise_to(site.sums);
        site.most_of_one.raise_to(sums_of_one(site, n));
    }
}

void rows_bytes(int64_t site, bool is_of_one, int64_t &ret_row, int64_t &ret_all) {
    const std::lock_guard<std::mutex> guard(lock);
    const Sums &most = is_of_one ? sites[site].most_of_one : sites[site].most;
    ret_row = static_cast<int64_t>(most.row);
    ret_all = static_cast<int64_t>(most.all);
}

} // namespace tidemark
