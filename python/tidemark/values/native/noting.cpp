// noting.cpp: see noting.h.
#include "noting.h"

#include "evaluation.h"
#include "running.h"
#include "table.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tidemark {

namespace {

int64_t storage_bytes(const at::Tensor &t) {
    return static_cast<int64_t>(t.storage().nbytes());
}

bool is_whole(const at::Tensor &t) {
    return t.numel() * static_cast<int64_t>(t.itemsize()) >= storage_bytes(t);
}

// The host's tensor as it is now; the program may change it afterwards.
at::Tensor kept(const at::Tensor &t) {
    if (!t.defined() || t.unsafeGetTensorImpl()->is_wrapped_number())
        return t; // made for this call
    if (!t.device().is_cpu() || t.layout() != at::kStrided || !t.has_storage())
        return t.defined() ? t.detach() : t;
    // The tensor's own elements: its storage may be a whole data set.
    Geometry geometry;
    geometry.dtype = t.scalar_type();
    geometry.sizes.append(t.sizes().begin(), t.sizes().end());
    geometry.strides.resize(t.sizes().size());
    int64_t stride = 1;
    for (size_t i = geometry.sizes.size(); i-- > 0; stride *= geometry.sizes[i])
        geometry.strides[i] = stride;
    c10::Storage held = host_storage(geometry.n_bytes());
    at::Tensor made = host_tensor(held, geometry);
    if (t.is_contiguous() && !t.is_conj() && !t.is_neg()) {
        std::memcpy(held.mutable_data(), t.const_data_ptr(),
                    static_cast<size_t>(geometry.n_bytes()));
    } else {
        const Below below;
        made.copy_(t);
    }
    return made;
}

class Making {
  public:
    Making(Plan &plan, Arguments args) : args_(args), node_(std::make_shared<Node>()) {
        node_->plan = &plan;
        node_->args.reserve(args.size());
    }

    std::shared_ptr<Node> make() {
        for (size_t i = 0; i < args_.size(); i++)
            add(i, args_[i]);
        for (const Ref &ref : node_->refs) {
            if (ref.value == nullptr)
                continue;
            node_->depth = std::max(node_->depth, ref.value->depth);
            node_->is_assumed = node_->is_assumed || ref.value->is_assumed;
        }
        node_->depth++;
        node_->is_assumed = node_->is_assumed || node_->plan->is(RANDOM);
        node_->seed = table().next_seed();
        count_flops();
        return std::move(node_);
    }

  private:
    void add(size_t i, const IValue &value) {
        const Plan &plan = *node_->plan;
        if (value.isTensor()) {
            add_tensor(i, value.toTensor());
        } else if (value.isTensorList()) {
            add_list(i, value.toTensorVector());
        } else if (value.isList() && !value.isIntList() && !value.isDoubleList() &&
                   !value.isBoolList()) {
            add_optional(i, value);
        } else if (value.isGenerator() || static_cast<int>(i) == plan.pin_arg) {
            node_->args.emplace_back();
        } else if (value.isDevice()) {
            node_->args.emplace_back(c10::Device(c10::kCPU));
        } else {
            node_->args.push_back(value);
        }
    }

    void add_tensor(size_t i, const at::Tensor &t) {
        if (!is_card(t)) {
            node_->args.emplace_back(kept(t));
            return;
        }
        node_->args.emplace_back();
        node_->direct.push_back({i, add_ref(i, t)});
    }

    Node::Item item_of(size_t i, const at::Tensor &t) {
        Node::Item item;
        if (is_card(t))
            item.ref = add_ref(i, t);
        else
            item.given = kept(t);
        return item;
    }

    void add_list(size_t i, const std::vector<at::Tensor> &list) {
        node_->args.emplace_back();
        Node::List made{i, false, {}};
        for (const at::Tensor &t : list)
            made.items.push_back(item_of(i, t));
        node_->lists.push_back(std::move(made));
    }

    // Such as the indices of aten::index, of which some are None; other lists stay as they are.
    void add_optional(size_t i, const IValue &value) {
        const auto list = value.toListRef();
        if (std::none_of(list.begin(), list.end(), [](const IValue &v) { return v.isTensor(); })) {
            node_->args.push_back(value);
            return;
        }
        node_->args.emplace_back();
        Node::List made{i, true, {}};
        for (const IValue &v : list)
            made.items.push_back(v.isTensor() ? item_of(i, v.toTensor()) : Node::Item());
        node_->lists.push_back(std::move(made));
    }

    int add_ref(size_t i, const at::Tensor &t) {
        const Plan &plan = *node_->plan;
        Ref ref;
        ref.n_bytes = storage_bytes(t);
        bool is_over = plan.is(WHOLE) && i == 0;
        for (const Plan::Write &write : plan.writes) {
            if (write.arg == i) {
                ref.is_written = true;
                is_over = is_over || write.is_out;
            }
        }
        if (!is_over || !is_whole(t) || !is_only(t))
            ref.value = table().value_of(t);
        ref.geometry = geometry_of(t);
        node_->refs.push_back(std::move(ref));
        return static_cast<int>(node_->refs.size()) - 1;
    }

    // Whether no other argument has the storage. Kernels of operators in place call others with the
    // tensor as an input and as the result.
    bool is_only(const at::Tensor &t) const {
        const auto shares = [&t](const IValue &value) {
            return value.isTensor() && value.toTensor().defined() &&
                   value.toTensor().is_alias_of(t);
        };
        return std::count_if(args_.begin(), args_.end(), shares) == 1;
    }

    // Only products and solvers need more than time in proportion to their bytes.
    void count_flops() {
        if (!node_->plan->is(PRODUCT | SOLVER))
            return;
        double largest = 0, inner = 1;
        int matrices = 0;
        for (const Ref &ref : node_->refs) {
            const auto &sizes = ref.geometry.sizes;
            largest = std::max(largest, static_cast<double>(ref.geometry.numel()));
            if (sizes.size() > 1) {
                matrices++;
                inner = std::max(inner, static_cast<double>(std::min(sizes[sizes.size() - 1],
                                                                     sizes[sizes.size() - 2])));
            }
        }
        if (node_->plan->is(SOLVER))
            node_->flops = 4 * std::pow(largest, 1.5);
        else
            node_->flops = 2 * largest * (matrices > 1 ? inner : 1);
    }

    Arguments args_;
    std::shared_ptr<Node> node_;
};

void put_result(const std::shared_ptr<Node> &node, const at::Tensor &t, int index, bool is_write) {
    auto value = std::make_shared<Value>(storage_bytes(t), t.scalar_type());
    value->node = node;
    value->index = static_cast<int>(node->results.size());
    value->depth = node->depth;
    value->is_assumed = node->is_assumed;
    node->n_bytes += value->n_bytes;
    node->results.push_back({value.get(), is_write, index, geometry_of(t)});
    table().put(t, std::move(value), is_write);
}

} // namespace

std::shared_ptr<Node> make_node(Plan &plan, Arguments args) {
    return Making(plan, args).make();
}

void put_results(const std::shared_ptr<Node> &node, Arguments args, Arguments outs) {
    const Plan &plan = *node->plan;
    c10::SmallVector<const void *, 4> written;
    int index = 0;
    for (const Plan::Write &write : plan.writes) {
        each_tensor(args[write.arg], [&](const at::Tensor &t) {
            written.push_back(t.unsafeGetTensorImpl());
            if (is_card(t))
                put_result(node, t, index, true);
            index++;
        });
    }
    index = 0;
    for (const IValue &out : outs) {
        each_tensor(out, [&](const at::Tensor &t) {
            if (std::find(written.begin(), written.end(), t.unsafeGetTensorImpl()) != written.end())
                return;
            if (is_card(t))
                put_result(node, t, index, false);
            index++;
        });
    }
    // An out= argument has its final shape only now.
    for (const Node::Direct &direct : node->direct) {
        Ref &ref = node->refs[static_cast<size_t>(direct.ref)];
        if (ref.is_written && ref.value == nullptr) {
            ref.geometry = geometry_of(args[direct.arg].toTensor());
            ref.n_bytes = storage_bytes(args[direct.arg].toTensor());
        }
    }
    node->plan->counts.noted++;
    if (node->depth > DEPTH)
        cut(node);
}

void put_hint(const Plan &plan, const at::Tensor &t) {
    auto value = std::make_shared<Value>(storage_bytes(t), t.scalar_type());
    value->is_assumed = true;
    value->seed = table().next_seed();
    value->drawn_for = &plan;
    table().put(t, std::move(value), !plan.writes.empty());
}

} // namespace tidemark
