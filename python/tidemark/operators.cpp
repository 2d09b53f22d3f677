// Names the results of PyTorch's operators in the log of tidemark's library, as each operator ends.
// operators.py builds it for the PyTorch of the program.
#include <ATen/core/Tensor.h>
#include <ATen/record_function.h>

#include <cctype>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

namespace {

void (*label)(uint64_t address, const char *category, const char *name, int certainty); // exports.h
uint64_t (*n_rows)();                                                                   // exports.h

// The last block that this thread named, and the rows of the log then: an operator within another
// names it first.
thread_local uint64_t last_address, last_rows;

bool begins(const char *name, const char *with) {
    return std::strncmp(name, with, std::strlen(with)) == 0;
}

// Views have the memory of their arguments; others make memory that a later operator fills.
bool makes_nothing(const std::string &name) {
    static const char *const NAMES[] = {
        "alias",     "as_strided", "chunk",           "contiguous",
        "detach",    "diagonal",   "expand",          "expand_as",
        "flatten",   "lift_fresh", "movedim",         "narrow",
        "permute",   "reshape",    "reshape_alias",   "select",
        "slice",     "split",      "squeeze",         "split_with_sizes",
        "t",         "to",         "transpose",       "unbind",
        "unflatten", "unfold",     "unsafe_view",     "unsqueeze",
        "view",      "view_as",    "view_as_complex", "view_as_real"};
    if (begins(name.c_str(), "empty") || begins(name.c_str(), "new_empty") || name.back() == '_')
        return true;
    for (const char *known : NAMES) {
        if (name == known)
            return true;
    }
    return false;
}

// "float32" as Python has it.
std::string type_of(const at::Tensor &tensor) {
    static const char *const NAMES[][2] = {{"Float", "float32"},
                                           {"Double", "float64"},
                                           {"Half", "float16"},
                                           {"Long", "int64"},
                                           {"Int", "int32"},
                                           {"Short", "int16"},
                                           {"Char", "int8"},
                                           {"Byte", "uint8"},
                                           {"ComplexFloat", "complex64"},
                                           {"ComplexDouble", "complex128"}};
    std::string name = c10::toString(tensor.scalar_type());
    for (const auto &known : NAMES) {
        if (name == known[0])
            return known[1];
    }
    for (char &c : name)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return name;
}

void tell(const std::string &name, size_t number, const at::Tensor &tensor) {
    if (!tensor.defined() || !tensor.is_cuda() || !tensor.has_storage())
        return;
    const auto address = reinterpret_cast<uint64_t>(tensor.storage().data_ptr().get());
    if (address == 0 || (address == last_address && n_rows() == last_rows))
        return;
    std::string text = name;
    if (number > 0)
        text += ".result" + std::to_string(number);
    if (static_cast<size_t>(tensor.numel()) * tensor.itemsize() == tensor.storage().nbytes()) {
        text += " [";
        for (int64_t i = 0; i < tensor.dim(); i++)
            text += (i > 0 ? ", " : "") + std::to_string(tensor.size(i));
        text += "] " + type_of(tensor);
    }
    label(address, "", text.c_str(), 0);
    last_address = address;
    last_rows = n_rows();
}

void end(const at::RecordFunction &function, at::ObserverContext *) {
    const char *name = function.name();
    if (begins(name, "aten::"))
        name += 6;
    while (*name == '_')
        name++;
    const std::string bare = name;
    if (bare.empty() || makes_nothing(bare))
        return;
    size_t number = 0;
    for (const c10::IValue &value : function.outputs()) {
        if (value.isTensor()) {
            tell(bare, number, value.toTensor());
        } else if (value.isTensorList()) {
            for (const at::Tensor &tensor : value.toTensorVector())
                tell(bare, number, tensor);
        }
        number++;
    }
}

} // namespace

// The two functions of the library, by address.
extern "C" void tidemark_operators_start(void *label_function, void *n_rows_function) {
    label = reinterpret_cast<decltype(label)>(label_function);
    n_rows = reinterpret_cast<decltype(n_rows)>(n_rows_function);
    at::addGlobalCallback(
        at::RecordFunctionCallback([](const at::RecordFunction &)
                                       -> std::unique_ptr<at::ObserverContext> { return nullptr; },
                                   end)
            .needsOutputs(true)
            .scopes({at::RecordScope::FUNCTION}));
}
