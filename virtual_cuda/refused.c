/* Functions of the driver and of NVML that PyTorch looks up by name and that are not simulated.
 * Each says so once and fails as it does on a card that has no such feature. Without them PyTorch
 * would stop at the first driver function that it cannot find, and not at the feature. */
#include "virtual_cuda/export.h"
#include "virtual_cuda/inexact.h"
#include "virtual_cuda/status.h"

enum { NVML_NOT_SUPPORTED = 3 };

/* The arguments stay in the registers and on the stack of the caller, unread. */
#define REFUSED(name, status, why)                                                                 \
    TIDE_VC_EXPORT int name(void) {                                                                \
        tide_vc_refused(#name, why);                                                               \
        return status;                                                                             \
    }

#define GREEN "parts of a card (green contexts) are not simulated"
REFUSED(cuCtxFromGreenCtx, TIDE_VC_NOT_SUPPORTED, GREEN)
REFUSED(cuDevResourceGenerateDesc, TIDE_VC_NOT_SUPPORTED, GREEN)
REFUSED(cuDevSmResourceSplitByCount, TIDE_VC_NOT_SUPPORTED, GREEN)
REFUSED(cuDeviceGetDevResource, TIDE_VC_NOT_SUPPORTED, GREEN)
REFUSED(cuGreenCtxCreate, TIDE_VC_NOT_SUPPORTED, GREEN)
REFUSED(cuGreenCtxDestroy, TIDE_VC_NOT_SUPPORTED, GREEN)
REFUSED(cuGreenCtxStreamCreate, TIDE_VC_NOT_SUPPORTED, GREEN)

#define MULTICAST "memory that several cards map (multicast) is not simulated"
REFUSED(cuMulticastAddDevice, TIDE_VC_NOT_SUPPORTED, MULTICAST)
REFUSED(cuMulticastBindMem, TIDE_VC_NOT_SUPPORTED, MULTICAST)
REFUSED(cuMulticastCreate, TIDE_VC_NOT_SUPPORTED, MULTICAST)
REFUSED(cuMulticastUnbind, TIDE_VC_NOT_SUPPORTED, MULTICAST)

REFUSED(cuLogsRegisterCallback, TIDE_VC_NOT_SUPPORTED, "the driver writes no log")
REFUSED(cuLogsUnregisterCallback, TIDE_VC_NOT_SUPPORTED, "the driver writes no log")
REFUSED(cuStreamWriteValue32_v2, TIDE_VC_NOT_SUPPORTED,
        "a value that a stream writes for others to wait for is not simulated")
REFUSED(cuMemGetAllocationPropertiesFromHandle, TIDE_VC_NOT_SUPPORTED,
        "properties of physical memory are not kept")

#define LINKS "links between cards are not simulated"
REFUSED(nvmlDeviceGetGpuFabricInfoV, NVML_NOT_SUPPORTED, LINKS)
REFUSED(nvmlDeviceGetNvLinkRemoteDeviceType, NVML_NOT_SUPPORTED, LINKS)
REFUSED(nvmlDeviceGetNvLinkRemotePciInfo_v2, NVML_NOT_SUPPORTED, LINKS)
REFUSED(nvmlDeviceGetP2PStatus, NVML_NOT_SUPPORTED, LINKS)
