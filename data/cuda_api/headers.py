"""Reads the functions that NVIDIA's headers declare, with a C++ compiler: how each argument travels, and what it points to."""
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from table import split_parameters

# Headers of others that NVIDIA's headers of graphics include: only these types are needed. Then functions that exist
# and that no header of NVIDIA's declares today: what nvcc puts into a program, and what cuDNN 8 had.
FOREIGN = {
    "GL/gl.h": "typedef unsigned int GLenum, GLuint;",
    "EGL/egl.h": "typedef void *EGLSyncKHR; typedef int EGLint; typedef unsigned int EGLBoolean;",
    "EGL/eglext.h": "typedef void *EGLImageKHR, *EGLStreamKHR;",
    "vdpau/vdpau.h": "#include <stdint.h>\ntypedef uint32_t VdpDevice, VdpVideoSurface, VdpOutputSurface, VdpStatus, VdpFuncId;\n"
                     "typedef VdpStatus VdpGetProcAddress(VdpDevice, VdpFuncId, void **);",
    "undeclared/cudart.h": """
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function);
char __cudaInitModule(void **image);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem, void *stream);
unsigned int __cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem, cudaStream_t stream);
void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFatBinaryEnd(void **image);
void __cudaRegisterFunction(void **image, const char *host, char *device, const char *name, int threads, uint3 *thread, uint3 *block,
                            dim3 *blockDim, dim3 *gridDim, int *warp);
void __cudaRegisterManagedVar(void **image, void **host, char *device, const char *name, int is_external, size_t bytes, int constant, int global);
void __cudaRegisterVar(void **image, char *host, char *device, const char *name, int is_external, size_t bytes, int constant, int global);
void __cudaUnregisterFatBinary(void **image);
""",
    "undeclared/cudnn.h": """
cudnnStatus_t cudnnGetRNNLinLayerBiasParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int pseudoLayer, cudnnTensorDescriptor_t xDesc,
    cudnnFilterDescriptor_t wDesc, const void *w, int linLayerID, cudnnFilterDescriptor_t linLayerBiasDesc, void **linLayerBias);
cudnnStatus_t cudnnGetRNNLinLayerMatrixParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int pseudoLayer, cudnnTensorDescriptor_t xDesc,
    cudnnFilterDescriptor_t wDesc, const void *w, int linLayerID, cudnnFilterDescriptor_t linLayerMatDesc, void **linLayerMat);
cudnnStatus_t cudnnGetRNNParamsSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, cudnnTensorDescriptor_t xDesc, size_t *sizeInBytes,
    cudnnDataType_t dataType);
cudnnStatus_t cudnnGetRNNTrainingReserveSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int seqLength, cudnnTensorDescriptor_t *const xDesc,
    size_t *sizeInBytes);
cudnnStatus_t cudnnGetRNNWorkspaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int seqLength, cudnnTensorDescriptor_t *const xDesc,
    size_t *sizeInBytes);
cudnnStatus_t cudnnRNNBackwardData(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int seqLength, const cudnnTensorDescriptor_t *yDesc,
    const void *y, const cudnnTensorDescriptor_t *dyDesc, const void *dy, cudnnTensorDescriptor_t dhyDesc, const void *dhy,
    cudnnTensorDescriptor_t dcyDesc, const void *dcy, cudnnFilterDescriptor_t wDesc, const void *w, cudnnTensorDescriptor_t hxDesc, const void *hx,
    cudnnTensorDescriptor_t cxDesc, const void *cx, const cudnnTensorDescriptor_t *dxDesc, void *dx, cudnnTensorDescriptor_t dhxDesc, void *dhx,
    cudnnTensorDescriptor_t dcxDesc, void *dcx, void *workSpace, size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes);
cudnnStatus_t cudnnRNNBackwardWeights(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int seqLength, const cudnnTensorDescriptor_t *xDesc,
    const void *x, cudnnTensorDescriptor_t hxDesc, const void *hx, const cudnnTensorDescriptor_t *yDesc, const void *y, const void *workSpace,
    size_t workSpaceSizeInBytes, cudnnFilterDescriptor_t dwDesc, void *dw, const void *reserveSpace, size_t reserveSpaceSizeInBytes);
cudnnStatus_t cudnnRNNForwardInference(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int seqLength, const cudnnTensorDescriptor_t *xDesc,
    const void *x, cudnnTensorDescriptor_t hxDesc, const void *hx, cudnnTensorDescriptor_t cxDesc, const void *cx, cudnnFilterDescriptor_t wDesc,
    const void *w, const cudnnTensorDescriptor_t *yDesc, void *y, cudnnTensorDescriptor_t hyDesc, void *hy, cudnnTensorDescriptor_t cyDesc, void *cy,
    void *workSpace, size_t workSpaceSizeInBytes);
cudnnStatus_t cudnnRNNForwardTraining(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int seqLength, const cudnnTensorDescriptor_t *xDesc,
    const void *x, cudnnTensorDescriptor_t hxDesc, const void *hx, cudnnTensorDescriptor_t cxDesc, const void *cx, cudnnFilterDescriptor_t wDesc,
    const void *w, const cudnnTensorDescriptor_t *yDesc, void *y, cudnnTensorDescriptor_t hyDesc, void *hy, cudnnTensorDescriptor_t cyDesc, void *cy,
    void *workSpace, size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes);
cudnnStatus_t cudnnSetRNNDescriptor_v6(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int hiddenSize, int numLayers,
    cudnnDropoutDescriptor_t dropoutDesc, cudnnRNNInputMode_t inputMode, cudnnDirectionMode_t direction, cudnnRNNMode_t cellMode, cudnnRNNAlgo_t algo,
    cudnnDataType_t mathPrec);
cudnnStatus_t cudnnSetRNNMatrixMathType(cudnnRNNDescriptor_t rnnDesc, cudnnMathType_t mType);
cudnnStatus_t cudnnSetRNNProjectionLayers(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int recProjSize, int outProjSize);
""",
}

# Prints a line a function: its name, its return type, and its arguments. Of each type: how it travels (P pointer,
# I integer or enumeration, F floating register, M by value in memory or in several registers, V void), its size, and
# for a pointer whether the target is constant, what kind of thing it is and its size.
PROBE = r"""
template <class T, class = void> struct bytes { static constexpr unsigned value = 0; };
template <class T> struct bytes<T, std::void_t<decltype(sizeof(T))>> { static constexpr unsigned value = sizeof(T); };
template <> struct bytes<void> { static constexpr unsigned value = 0; };
template <class T> constexpr bool is_floating = std::is_floating_point_v<T> || std::is_same_v<T, cuComplex> ||
                                                std::is_same_v<T, cuDoubleComplex>;
template <class T> constexpr char travels() {
    if (std::is_void_v<T>) return 'V';
    if (std::is_pointer_v<T>) return 'P';
    if (std::is_integral_v<T> || std::is_enum_v<T>) return 'I';
    return is_floating<T> ? 'F' : 'M';
}
template <class T> constexpr char target() {
    if (std::is_void_v<T>) return 'v';
    if (std::is_function_v<T>) return 'c';
    if (std::is_pointer_v<T>) return 'p';
    if (is_floating<T>) return 'f';
    if (std::is_integral_v<T> || std::is_enum_v<T>) return 'i';
    return bytes<T>::value ? 's' : 'o';
}
template <class T> void show() {
    using to = std::remove_pointer_t<T>;
    using plain = std::remove_cv_t<to>;
    std::printf(" %c%u", travels<T>(), bytes<T>::value);
    if (std::is_pointer_v<T>)
        std::printf("%s%c%u", std::is_const_v<to> ? "<" : ">", target<plain>(),
                    std::is_function_v<plain> ? 0 : bytes<plain>::value);
}
template <class R, class... A> void show_function(const char *name, R (*)(A...)) {
    std::printf("%s", name);
    show<R>();
    (show<std::remove_cv_t<A>>(), ...);
    std::printf("\n");
}
template <class R, class... A> void show_function(const char *name, R (*)(A..., ...)) {
    show_function(name, static_cast<R (*)(A...)>(nullptr));
}
"""


@dataclass
class Group:
    """Headers that one program may include together, and what it defines before."""
    headers: list[str]
    defines: tuple[str, ...] = ()


@dataclass
class Declaration:
    name: str
    returns: str     # as C writes it
    parameters: str
    words: str       # how the result and the arguments travel: see PROBE


def preprocess(group: Group, includes: list[Path], foreign: Path) -> str:
    source = "#include <cstdio>\n#include <type_traits>\n#include <cuComplex.h>\n" + "".join(f"#include <{h}>\n" for h in group.headers)
    flags = [f"-D{d}" for d in group.defines] + [f"-I{i}" for i in includes] + ["-idirafter", str(foreign)]
    found = subprocess.run(["g++", "-w", "-std=c++17", "-E", "-P", "-xc++", "-", *flags], input=source, capture_output=True, text=True)
    return found.stdout if found.returncode == 0 else ""


def top_level(text: str) -> list[str]:
    """The statements outside of all braces but those of extern "C" {}."""
    text = re.sub(r'extern\s+"C(\+\+)?"\s*\{', ";", re.sub(r"^\s*#.*$", "", text, flags=re.M))
    statements, depth, word = [], 0, []
    for part in re.split(r"([{};])", text):
        if part == "{":
            depth += 1
        elif part == "}":
            if depth > 0:
                depth -= 1
                if depth == 0:
                    word.append(" {} ")
        elif part == ";":
            if depth == 0:
                statements.append("".join(word))
                word = []
        elif depth == 0:
            word.append(part)
    return statements


ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|\[\[[^\]]*\]\]|\b(extern|__inline__|__extension__)\b|\"C\"")


def tidy(text: str) -> str:
    text = re.sub(r"\s+", " ", ATTRIBUTE.sub(" ", text)).strip()
    return re.sub(r"\s*\*\s*", " *", text).replace("* *", "**").replace("* *", "**").replace("( ", "(").replace("*const", "* const")


def declarations(text: str, pattern: str) -> dict[str, tuple[str, str]]:
    """name -> return type and parameters, as C writes them."""
    found: dict[str, tuple[str, str]] = {}
    function = re.compile(r"^(?P<returns>[\w\s*]+?[\s*])(?P<name>" + pattern + r")\s*\((?P<parameters>.*)\)\s*(noexcept|throw\(\))?\s*$", re.S)
    for statement in top_level(text):
        # The body of an inline function ends without a semicolon, so that the next declaration follows it.
        statement = tidy(statement.rsplit("{}", 1)[-1])
        match = function.match(statement)
        if match is None or re.search(r"\b(typedef|static|inline|template|using|return|__device__)\b", match["returns"]):
            continue
        parameters = [re.sub(r"\s*=.*", "", p).strip() for p in split_parameters(match["parameters"])]
        found.setdefault(match["name"], (match["returns"].strip(), ", ".join(parameters) or "void"))
    return found


def read_group(group: Group, pattern: str, includes: list[Path], skip: set[str]) -> list[Declaration]:
    """The functions that these headers declare, whose names match, without those to skip."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in FOREIGN.items():
            path = Path(folder) / "foreign" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content + "\n")
        text = preprocess(group, includes, Path(folder) / "foreign")
        declared = {n: d for n, d in declarations(text, pattern).items() if n not in skip}
        if not declared:
            return []
        # By its type, not by its name, which C++ may overload.
        calls = "".join(f'    show_function("{n}", static_cast<{returns} (*)({parameters})>(nullptr));\n'
                        for n, (returns, parameters) in declared.items())
        program = Path(folder) / "probe"
        # Only the types are used, so the libraries need not be linked.
        subprocess.run(["g++", "-w", "-std=c++17", "-xc++", "-", "-o", str(program)],
                       input=text + PROBE + "int main() {\n" + calls + "}\n", text=True, check=True)
        lines = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.splitlines()
    words = dict(line.split(" ", 1) for line in lines)
    return [Declaration(n, returns, parameters, words[n]) for n, (returns, parameters) in declared.items()]
