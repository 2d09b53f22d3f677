/* virtual.c - addresses only: no memory, no compute, any capacity, deterministic. */
#include <stdio.h>
#include <string.h>

#include "device/card_names.h"
#include "device/cards.h"
#include "device/host_internal.h"

static void virtual_close(tide_device *device) {
    tide_device_host_destroy((tide_device_host *)device);
}

static tide_status virtual_alloc(tide_device *device, size_t n_bytes, uint64_t *ret_address,
                                 tide_error *error) {
    tide_device_host *host = (tide_device_host *)device;
    pthread_mutex_lock(&host->lock);
    uint64_t address = 0;
    tide_status status = tide_address_space_take(&host->space, n_bytes, &address, error);
    if (status == TIDE_OK) {
        status = tide_spill_put(&host->spill, address,
                                tide_address_space_find(&host->space, address), error);
        if (status != TIDE_OK) {
            (void)!tide_address_space_give_back(&host->space, address, NULL);
        }
    }
    if (status == TIDE_OK) {
        *ret_address = address;
    }
    pthread_mutex_unlock(&host->lock);
    return status;
}

static tide_status virtual_release(tide_device *device, uint64_t address, tide_error *error) {
    tide_device_host *host = (tide_device_host *)device;
    pthread_mutex_lock(&host->lock);
    uint64_t n_bytes = tide_address_space_find(&host->space, address);
    tide_status status = tide_address_space_give_back(&host->space, address, error);
    if (status == TIDE_OK) {
        tide_spill_take_back(&host->spill, address, n_bytes);
    }
    pthread_mutex_unlock(&host->lock);
    return status;
}

/* Finds a place for each granule that was just mapped; on failure nothing is mapped. */
static tide_status put_granules(tide_device_host *host, uint64_t address, size_t n_bytes,
                                size_t granule_bytes, tide_error *error) {
    for (size_t at = 0; at < n_bytes; at += granule_bytes) {
        tide_status status = tide_spill_put(&host->spill, address + at, granule_bytes, error);
        if (status != TIDE_OK) {
            for (size_t i = 0; i < at; i += granule_bytes) {
                tide_spill_take_back(&host->spill, address + i, granule_bytes);
            }
            (void)!tide_address_space_unmap(&host->space, address, n_bytes, NULL);
            return status;
        }
    }
    return TIDE_OK;
}

static tide_status virtual_map(tide_device *device, uint64_t address, size_t n_bytes,
                               size_t granule_bytes, tide_error *error) {
    tide_device_host *host = (tide_device_host *)device;
    pthread_mutex_lock(&host->lock);
    tide_status status = tide_address_space_map(&host->space, address, n_bytes, error);
    if (status == TIDE_OK) {
        status = put_granules(host, address, n_bytes, granule_bytes, error);
    }
    pthread_mutex_unlock(&host->lock);
    return status;
}

static tide_status virtual_unmap(tide_device *device, uint64_t address, size_t granule_bytes,
                                 tide_error *error) {
    tide_device_host *host = (tide_device_host *)device;
    pthread_mutex_lock(&host->lock);
    tide_status status = tide_address_space_unmap(&host->space, address, granule_bytes, error);
    if (status == TIDE_OK) {
        tide_spill_take_back(&host->spill, address, granule_bytes);
    }
    pthread_mutex_unlock(&host->lock);
    return status;
}

static void virtual_get_spill(tide_device *device, tide_device_spill *ret_spill) {
    tide_device_host *host = (tide_device_host *)device;
    pthread_mutex_lock(&host->lock);
    *ret_spill = host->spill.now;
    pthread_mutex_unlock(&host->lock);
}

static void *virtual_pointer(tide_device *device, uint64_t address) {
    (void)device;
    /* A number in the shape of a pointer, never dereferenced.
     * NOLINTNEXTLINE(performance-no-int-to-ptr) */
    return (void *)(uintptr_t)address;
}

static tide_status virtual_copy(tide_device *device, void *dst, const void *src, size_t n_bytes,
                                tide_copy_direction direction, tide_stream stream,
                                tide_error *error) {
    (void)device;
    (void)src;
    (void)stream;
    (void)error;
    /* The device has no bytes to copy; zeros are at least the same in each run. */
    if (direction == TIDE_COPY_TO_HOST) {
        memset(dst, 0, n_bytes);
    }
    return TIDE_OK;
}

static tide_status virtual_set(tide_device *device, void *dst, int byte, size_t n_bytes,
                               tide_stream stream, tide_error *error) {
    (void)device;
    (void)dst;
    (void)byte;
    (void)n_bytes;
    (void)stream;
    (void)error;
    return TIDE_OK;
}

static const tide_device_table VIRTUAL_TABLE = {
    .close = virtual_close,
    .alloc = virtual_alloc,
    .release = virtual_release,
    .get_spill = virtual_get_spill,
    .pointer = virtual_pointer,
    .copy = virtual_copy,
    .set = virtual_set,
    TIDE_DEVICE_HOST_MEMBERS,
    .map = virtual_map,
    .unmap = virtual_unmap,
};

static tide_status unknown_card(const char *name, tide_error *error) {
    char text[TIDE_NEAREST_TEXT];
    return tide_fail(error, TIDE_INVALID, "%s; a virtual device without a card is called virtual",
                     tide_card_unknown(name, text));
}

tide_status tide_device_virtual_open(const char *card_name, const tide_device_options *options,
                                     tide_device **ret_device, tide_error *error) {
    tide_device_info info = {.kind = TIDE_DEVICE_VIRTUAL,
                             .spec = "virtual",
                             .name = "virtual device",
                             .total_bytes = -1,
                             .context_bytes = 0,
                             .compute_capability = -1,
                             .driver_version = -1,
                             .runtime_version = -1,
                             .sm_clock_khz = -1,
                             .memory_clock_khz = -1,
                             .memory_bus_bits = -1,
                             .cache_bytes = -1,
                             .computes = false};
    uint64_t total_bytes = UINT64_MAX;
    if (card_name != NULL) {
        const tide_card *card = tide_card_find(card_name);
        if (card == NULL) {
            return unknown_card(card_name, error);
        }
        snprintf(info.spec, sizeof(info.spec), "virtual:%s", card->name);
        snprintf(info.name, sizeof(info.name), "%s", card->title);
        info.context_bytes = card->context_bytes;
        info.workspace_bytes = card->workspace_bytes;
        info.compute_capability = card->compute_capability;
        total_bytes = (uint64_t)card->total_bytes;
    }
    if (options != NULL && options->capacity_bytes != 0) {
        total_bytes = options->capacity_bytes;
    }
    if (total_bytes == UINT64_MAX && options != NULL && options->spill_bytes != 0) {
        return tide_fail(error, TIDE_INVALID,
                         "the device %s has no end, so that nothing is in the host's memory: "
                         "name a card, such as virtual:rtx4060",
                         info.spec);
    }
    tide_device_host *host = NULL;
    TIDE_TRY(tide_device_host_create(&VIRTUAL_TABLE, options, &info, total_bytes, &host, error));
    *ret_device = &host->base;
    return TIDE_OK;
}
