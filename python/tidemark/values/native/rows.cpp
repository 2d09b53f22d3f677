// rows.cpp: see rows.h.
#include "rows.h"

#include "table.h"

#include <algorithm>
#include <unordered_map>

namespace tidemark {

namespace {

struct Held {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    double row, all; // bytes
};

struct Site {
    std::vector<Held> alive; // and some that no longer are
    double row = 0, all = 0; // sums of `alive`
    double most_row = 0, most_all = 0;
};

struct Watched {
    int64_t site, possible;
};

std::mutex lock;
std::atomic<bool> is_watching{false};
std::unordered_map<int64_t, Watched> by_n; // the latest read that gave n rows
std::unordered_map<int64_t, Site> sites;

void release_expired(Site &site) {
    const auto gone = [](const Held &held) { return held.storage.expired(); };
    site.alive.erase(std::remove_if(site.alive.begin(), site.alive.end(), gone), site.alive.end());
    site.row = site.all = 0;
    for (const Held &held : site.alive) {
        site.row += held.row;
        site.all += held.all;
    }
}

} // namespace

bool is_watching_rows() {
    return is_watching.load(std::memory_order_relaxed);
}

void watch_rows(int64_t site, int64_t n, int64_t possible) {
    const std::lock_guard<std::mutex> guard(lock);
    sites[site];
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
    const auto *storage = t.storage().unsafeGetStorageImpl();
    for (const Held &held : site.alive) {
        if (held.storage._unsafe_get_target() == storage)
            return;
    }
    const double row = static_cast<double>(t.storage().nbytes()) / static_cast<double>(n);
    const double all = row * static_cast<double>(found->second.possible - n);
    site.alive.push_back({t.storage().getWeakStorageImpl(), row, all});
    site.row += row;
    site.all += all;
    if (site.row > site.most_row || site.all > site.most_all || site.alive.size() % 256 == 0) {
        release_expired(site); // sums grow until then
        site.most_row = std::max(site.most_row, site.row);
        site.most_all = std::max(site.most_all, site.all);
    }
}

void rows_bytes(int64_t site, int64_t &ret_row, int64_t &ret_all) {
    const std::lock_guard<std::mutex> guard(lock);
    ret_row = static_cast<int64_t>(sites[site].most_row);
    ret_all = static_cast<int64_t>(sites[site].most_all);
}

} // namespace tidemark
