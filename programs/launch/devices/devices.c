#define _POSIX_C_SOURCE 200809L
#include "programs/launch/devices/devices.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "device/card_text.h"
#include "programs/launch/cards.h"
#include "programs/launch/launch.h"

enum { NAME_BYTES = 128, TEXT_BYTES = 1024 };

/* The files of every machine. Texts as the driver of Linux writes them. */
static const struct {
    const char *path, *text;
} FILES[] = {
    {"/dev/nvidiactl", ""},
    {"/dev/nvidia-uvm", ""},
    {"/dev/nvidia-uvm-tools", ""},
    {"/proc/driver/nvidia/version",
     "NVRM version: NVIDIA UNIX x86_64 Kernel Module  " TIDE_CARD_DRIVER "  virtual cards\n"},
    {"/proc/driver/nvidia/params",
     "ModifyDeviceFiles: 0\nDeviceFileUID: 0\nDeviceFileGID: 0\nDeviceFileMode: 438\n"},
    {"/sys/module/nvidia/version", TIDE_CARD_DRIVER "\n"},
    {"/sys/module/nvidia/initstate", "live\n"},
    {"/sys/module/nvidia_uvm/initstate", "live\n"},
};

static tide_status failed(const char *path, tide_error *error) {
    return tide_fail(error, TIDE_IO, "%s cannot be made: %s", path, strerror(errno));
}

/* Makes FOLDER/card and the path, with its parents. */
static tide_status put(const char *folder, const char *path, const char *text, tide_error *error) {
    char whole[2 * TIDE_LAUNCH_PATH_BYTES];
    int n = snprintf(whole, sizeof(whole), "%s/card%s", folder, path);
    if (n < 0 || (size_t)n >= sizeof(whole)) {
        return tide_fail(error, TIDE_LIMIT, "the path of the run's folder is too long: %s", folder);
    }
    for (char *at = whole + strlen(folder) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        bool ok = mkdir(whole, S_IRWXU) == 0 || errno == EEXIST;
        if (!ok) {
            return failed(whole, error);
        }
        *at = '/';
    }
    FILE *file = fopen(whole, "wbxe");
    if (file == NULL) {
        return failed(whole, error);
    }
    bool ok = fputs(text, file) >= 0;
    ok = fclose(file) == 0 && ok;
    return ok && chmod(whole, S_IRUSR | S_IRGRP | S_IROTH) == 0 ? TIDE_OK : failed(whole, error);
}

/* The files of one card. */
static tide_status put_card(const char *folder, const tide_card *card, int number,
                            tide_error *error) {
    char path[NAME_BYTES];
    char text[TEXT_BYTES];
    char uuid[TIDE_CARD_UUID_BYTES];
    char pci[TIDE_CARD_PCI_BYTES];
    tide_card_uuid(number, uuid);
    tide_card_pci(number, pci);
    (void)snprintf(path, sizeof(path), "/dev/nvidia%d", number);
    TIDE_TRY(put(folder, path, "", error));
    (void)snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%s/information", pci);
    (void)snprintf(text, sizeof(text),
                   "Model: \t\t %s\nGPU UUID: \t %s\nBus Type: \t PCIe\nBus Location: \t %s\n"
                   "Device Minor: \t %d\nGPU Excluded:\t No\n",
                   card->title, uuid, pci, number);
    return put(folder, path, text, error);
}

tide_status tide_launch_make_devices(const char *folder, const char *cards, tide_error *error) {
    for (size_t i = 0; i < sizeof(FILES) / sizeof(FILES[0]); i++) {
        TIDE_TRY(put(folder, FILES[i].path, FILES[i].text, error));
    }
    tide_card card;
    for (size_t i = 0; i < tide_launch_n_cards(cards) && tide_launch_card(cards, i, &card); i++) {
        TIDE_TRY(put_card(folder, &card, (int)i, error));
    }
    return TIDE_OK;
}
