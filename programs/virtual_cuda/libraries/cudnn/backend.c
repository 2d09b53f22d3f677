/* backend.c - cuDNN's graph interface. A descriptor is a set of attributes that can be read back.
 * Every graph has one engine without knobs, or two (n_engines), with the likely work area. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "programs/virtual_cuda/libraries/cudnn/graph_internal.h"
#include "programs/virtual_cuda/libraries/stub_friend.h"

/* cudnnBackendAttributeType_t */
enum {
    TYPE_HANDLE = 0,
    TYPE_BOOLEAN = 2,
    TYPE_INT64 = 3,
    TYPE_DOUBLE = 5,
    TYPE_VOID_PTR = 6,
    TYPE_DESCRIPTOR = 15,
    TYPE_CHAR = 24,
    TYPE_FRACTION = 26
};

/* cudnnBackendAttributeName_t */
enum {
    ENGINEHEUR_RESULTS = 202,
    ENGINECFG_ENGINE = 300,
    ENGINECFG_INTERMEDIATE_INFO = 301,
    ENGINECFG_KNOB_CHOICES = 302,
    ENGINECFG_WORKSPACE_SIZE = 303,
    PLAN_WORKSPACE_SIZE = 402,
    PLAN_JSON = 405,
    GRAPH_ENGINE_GLOBAL_COUNT = 802,
    PACK_DATA_POINTERS = 1001,
    PACK_WORKSPACE = 1003,
    ENGINE_GLOBAL_INDEX = 1301,
    ENGINE_KNOB_INFO = 1302,
    ENGINE_NUMERICAL_NOTE = 1303,
    ENGINE_LAYOUT_INFO = 1304,
    ENGINE_BEHAVIOR_NOTE = 1305,
    DEVICEPROP_JSON = 2702
};

TIDE_VC_EXPORT int cudnnBackendCreateDescriptor(int type, descriptor **ret_descriptor);
TIDE_VC_EXPORT int cudnnBackendDestroyDescriptor(descriptor *object);
TIDE_VC_EXPORT int cudnnBackendFinalize(descriptor *object);
TIDE_VC_EXPORT int cudnnBackendSetAttribute(descriptor *object, int name, int type,
                                            int64_t n_values, const void *values);
TIDE_VC_EXPORT int cudnnBackendGetAttribute(const descriptor *object, int name, int type,
                                            int64_t n_wanted, int64_t *ret_n, void *ret_values);
TIDE_VC_EXPORT int cudnnBackendExecute(void *handle, const descriptor *plan,
                                       const descriptor *pack);

enum { TYPE_PLAN = 5 };        /* cudnnBackendDescriptorType_t */
enum { NOTE_TENSOR_CORE = 0 }; /* cudnnBackendNumericalNote_t, of 4 bytes */

static size_t bytes_of(int type) {
    switch (type) {
    case TYPE_BOOLEAN:
    case TYPE_CHAR:
        return 1;
    case TYPE_HANDLE:
    case TYPE_INT64:
    case TYPE_DOUBLE:
    case TYPE_VOID_PTR:
    case TYPE_DESCRIPTOR:
        return 8;
    case TYPE_FRACTION:
        return 16;
    default:
        return 4; /* float, int32 and the enumerations */
    }
}

const attribute *tide_vc_cudnn_find(const descriptor *object, int name) {
    for (const attribute *i = object->first; i != NULL; i = i->next) {
        if (i->name == name) {
            return i;
        }
    }
    return NULL;
}

int cudnnBackendCreateDescriptor(int type, descriptor **ret_descriptor) {
    descriptor *object = calloc(1, sizeof(*object));
    if (object == NULL) {
        return CUDNN_NO_HOST_MEMORY;
    }
    object->type = type;
    *ret_descriptor = object;
    return CUDNN_OK;
}

static void release(attribute *set) {
    free(set->work);
    free(set);
}

int cudnnBackendDestroyDescriptor(descriptor *object) {
    while (object != NULL && object->first != NULL) {
        attribute *first = object->first;
        object->first = first->next;
        release(first);
    }
    if (object != NULL) {
        free(object->work);
    }
    free(object);
    return CUDNN_OK;
}

/* The new value goes in front of an older one of the same name, which is dropped. */
int cudnnBackendSetAttribute(descriptor *object, int name, int type, int64_t n_values,
                             const void *values) {
    if (object == NULL || n_values < 0 || (n_values > 0 && values == NULL)) {
        return CUDNN_BAD_PARAM;
    }
    size_t n_bytes = (size_t)n_values * bytes_of(type);
    attribute *made = malloc(sizeof(*made) + n_bytes);
    if (made == NULL) {
        return CUDNN_NO_HOST_MEMORY;
    }
    for (attribute **i = &object->first; *i != NULL; i = &(*i)->next) {
        if ((*i)->name == name) {
            attribute *old = *i;
            *i = old->next;
            release(old);
            break;
        }
    }
    *made = (attribute){.next = object->first, .name = name, .type = type, .n_values = n_values};
    if (n_bytes > 0) {
        memcpy(made->values, values, n_bytes);
    }
    tide_vc_cudnn_note_work(made);
    object->first = made;
    return CUDNN_OK;
}

/* A convolution of fp32 that may be rounded for tensor cores. */
static bool is_rounded(const descriptor *object) {
    const tide_vc_cudnn_work *work = object->work;
    return work != NULL && work->n_convolutions > 0 && work->row.type == TIDE_RUN_TF32 &&
           !work->is_plain;
}

/* One engine computes a graph. A convolution of fp32 has two: one with tensor cores, as its notes
 * state, and one without, for programs that do not allow TF32. */
static int64_t n_engines(const descriptor *heuristics) {
    return is_rounded(heuristics) ? 2 : 1;
}

/* Copies the work that `from` describes into the caller's descriptor. */
static void take_work(descriptor *to, const descriptor *from) {
    free(to->work);
    to->work = from->work != NULL ? malloc(sizeof(*to->work)) : NULL;
    if (to->work != NULL) {
        *to->work = *from->work;
    }
}

/* Marks the caller's descriptors for the results of the heuristics, one for each engine.
 */
static void note_results(const descriptor *heuristics, int64_t n_wanted, void *ret_values) {
    static atomic_uint_least64_t n_choices;
    uint64_t choice = is_rounded(heuristics) ? atomic_fetch_add(&n_choices, 1) + 1 : 0;
    for (int64_t i = 0; ret_values != NULL && i < n_wanted && i < n_engines(heuristics); i++) {
        descriptor *one = NULL;
        memcpy(&one, (const char *)ret_values + (size_t)i * sizeof(one), sizeof(one));
        if (one == NULL) {
            continue;
        }
        take_work(one, heuristics);
        if (one->work != NULL && choice != 0) {
            one->work->choice = choice;
            one->work->is_plain = i > 0;
        }
    }
}

/* Decides between TF32 and fp32. A program that allows TF32 makes a plan of the first engine, and
 * if it times all engines, also one of the second. It would choose the faster first, so both plans
 * count as TF32: timings mean nothing here. A program that does not allow TF32 skips the first
 * engine. */
static void choose_type(descriptor *plan) {
    static _Thread_local uint64_t rounded; /* the latest choice whose first engine has a plan */
    tide_vc_cudnn_work *work = plan->work;
    if (plan->type != TYPE_PLAN || work == NULL || work->choice == 0) {
        return;
    }
    if (!work->is_plain) {
        rounded = work->choice;
    } else if (rounded != work->choice) {
        work->row.type = work->row.out_type = TIDE_RUN_FP32;
    }
}

int cudnnBackendFinalize(descriptor *object) {
    if (object == NULL) {
        return CUDNN_BAD_PARAM;
    }
    free(object->work);
    object->work = tide_vc_cudnn_finish_work(object);
    choose_type(object);
    return CUDNN_OK;
}

/* Marks the caller's descriptor for the engine of a configuration. */
static void note_engine(const descriptor *configuration, int64_t n_wanted, void *ret_values) {
    descriptor *engine = NULL;
    if (ret_values != NULL && n_wanted > 0) {
        memcpy(&engine, ret_values, sizeof(engine));
    }
    if (engine != NULL && engine != configuration) {
        take_work(engine, configuration);
    }
}

/* The likely work area of a plan or of a configuration. */
static uint64_t area_of(const descriptor *object) {
    tide_vc_cudnn_area area = {.likely_bytes = 0};
    if (object->work != NULL) {
        area = tide_vc_cudnn_work_area(object->work);
    }
    tide_vc_cudnn_say_area("cudnnBackendGetAttribute", &area);
    return area.likely_bytes;
}

/* Attributes that the library would compute. True if the name is one. */
static bool is_computed(const descriptor *object, int name, int64_t *ret_n, int64_t *ret_value) {
    *ret_n = 1;
    *ret_value = 0;
    switch (name) {
    case ENGINEHEUR_RESULTS: /* descriptors are the caller's */
        *ret_n = n_engines(object);
        return true;
    case ENGINE_NUMERICAL_NOTE:
        *ret_n = is_rounded(object) ? 1 : 0;
        *ret_value = NOTE_TENSOR_CORE;
        return true;
    case ENGINECFG_ENGINE:
    case ENGINE_GLOBAL_INDEX:
        return true;
    case GRAPH_ENGINE_GLOBAL_COUNT:
        *ret_value = 1;
        return true;
    case ENGINECFG_WORKSPACE_SIZE:
    case PLAN_WORKSPACE_SIZE:
        *ret_value = (int64_t)area_of(object);
        return true;
    case ENGINECFG_INTERMEDIATE_INFO:
    case ENGINECFG_KNOB_CHOICES:
    case ENGINE_KNOB_INFO:
    case ENGINE_LAYOUT_INFO:
    case ENGINE_BEHAVIOR_NOTE:
        *ret_n = 0;
        return true;
    default:
        return false;
    }
}

static void give(const void *from, int64_t n_values, int type, int64_t n_wanted, void *ret_values) {
    int64_t n = n_wanted < n_values ? n_wanted : n_values;
    /* Descriptors belong to the caller: their addresses must stay, or they would be destroyed
     * twice. */
    if (n > 0 && ret_values != NULL && type != TYPE_DESCRIPTOR) {
        memcpy(ret_values, from, (size_t)n * bytes_of(type));
    }
}

int cudnnBackendGetAttribute(const descriptor *object, int name, int type, int64_t n_wanted,
                             int64_t *ret_n, void *ret_values) {
    static const char EMPTY[] = "{}";
    int64_t n = 0, value = 0;
    if (object == NULL) {
        return CUDNN_BAD_PARAM;
    }
    const attribute *set = tide_vc_cudnn_find(object, name);
    if (name == ENGINEHEUR_RESULTS) {
        note_results(object, n_wanted, ret_values);
    }
    if (name == ENGINECFG_ENGINE) {
        note_engine(object, n_wanted, ret_values);
    }
    if (name == PLAN_JSON || name == DEVICEPROP_JSON) {
        n = (int64_t)sizeof(EMPTY);
        give(EMPTY, n, TYPE_CHAR, n_wanted, ret_values);
    } else if (is_computed(object, name, &n, &value)) {
        bool is_narrow = type == TYPE_DESCRIPTOR || name == ENGINE_NUMERICAL_NOTE;
        give(&value, n, is_narrow ? type : TYPE_INT64, n_wanted, ret_values);
    } else if (set != NULL) {
        n = set->n_values;
        give(set->values, n, set->type, n_wanted, ret_values);
    } else if (ret_values != NULL && n_wanted > 0 && type != TYPE_DESCRIPTOR) {
        memset(ret_values, 0, (size_t)n_wanted * bytes_of(type));
    }
    if (name == ENGINEHEUR_RESULTS && n_wanted > 0 && n > n_wanted) {
        n = n_wanted; /* callers keep this many of their descriptors */
    }
    if (ret_n != NULL) {
        *ret_n = n;
    }
    return CUDNN_OK;
}

int cudnnBackendExecute(void *handle, const descriptor *plan, const descriptor *pack) {
    static const int WRITTEN[] = {PACK_DATA_POINTERS, PACK_WORKSPACE};
    const void *area_at = NULL;
    if (plan == NULL || pack == NULL) {
        return CUDNN_BAD_PARAM;
    }
    for (size_t i = 0; i < sizeof(WRITTEN) / sizeof(WRITTEN[0]); i++) {
        const attribute *set = tide_vc_cudnn_find(pack, WRITTEN[i]);
        for (int64_t j = 0; set != NULL && j < set->n_values; j++) {
            const void *address;
            memcpy(&address, set->values + (size_t)j * sizeof(address), sizeof(address));
            tide_vc_touch(address);
            area_at = WRITTEN[i] == PACK_WORKSPACE ? address : area_at;
        }
    }
    if (plan->work != NULL) {
        tide_vc_cudnn_area area = tide_vc_cudnn_work_area(plan->work);
        tide_vc_cudnn_record_area(area_at, &area, handle != NULL ? *(void **)handle : NULL);
    }
    tide_vc_cudnn_log_plan(handle, plan);
    return CUDNN_OK;
}
