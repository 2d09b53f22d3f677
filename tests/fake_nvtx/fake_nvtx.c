/* fake_nvtx.c - a tool that listens to NVTX ranges, as Nsight Systems does, and writes them to the
 * file that TIDEMARK_FAKE_NVTX_LOG names: "+ DOMAIN:MESSAGE" where a range begins, "-" where the
 * innermost one ends. NVTX loads it when NVTX_INJECTION64_PATH names it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nvtx3/nvToolsExt.h>

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);

enum { DOMAIN_BYTES = 64 };

static struct {
    FILE *log;                 /* never closed: the process may end at any time */
    char domain[DOMAIN_BYTES]; /* the one that was made; a second one is not expected */
} tool;

static nvtxDomainHandle_t NVTX_API create_domain(const char *name) {
    snprintf(tool.domain, sizeof(tool.domain), "%s", name);
    return (nvtxDomainHandle_t)(void *)&tool;
}

static int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes) {
    const char *name = (void *)domain == (void *)&tool ? tool.domain : "?";
    int is_ascii = attributes->messageType == NVTX_MESSAGE_TYPE_ASCII;
    fprintf(tool.log, "+ %s:%s\n", name, is_ascii ? attributes->message.ascii : "?");
    fflush(tool.log);
    return 0;
}

static int NVTX_API pop(nvtxDomainHandle_t domain) {
    fprintf(tool.log, (void *)domain == (void *)&tool ? "-\n" : "?\n");
    fflush(tool.log);
    return 0;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
    const char *path = getenv("TIDEMARK_FAKE_NVTX_LOG");
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned int n_functions = 0;
    tool.log = path != NULL ? fopen(path, "a") : NULL;
    if (tool.log == NULL || callbacks == NULL ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &n_functions) ||
        n_functions <= NVTX_CBID_CORE2_DomainCreateA) {
        return 0;
    }
    *table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create_domain;
    *table[NVTX_CBID_CORE2_DomainRangePushEx] = (NvtxFunctionPointer)push;
    *table[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
    return 1;
}
