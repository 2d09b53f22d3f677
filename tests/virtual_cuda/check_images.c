/* check_images.c - prints what the virtual card reads from one image of a library: check_images
 * LIBRARY ENTRY END CODE ENTRY and END are the file's offsets of an entry of a fat binary and of
 * the end of its entries. CODE is written: the machine code, unpacked. Each line of the output is a
 * kernel: the hash of its name, registers, shared memory. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "programs/virtual_cuda/launches/cubin.h"
#include "programs/virtual_cuda/launches/unpack.h"

int main(int argc, char **argv) {
    struct stat status;
    tide_vc_use *uses = NULL;
    size_t n_bytes = 0;
    int file = argc == 5 ? open(argv[1], O_RDONLY) : -1;
    if (file < 0 || fstat(file, &status) != 0) {
        return 2;
    }
    const unsigned char *library =
        mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    unsigned char *code = tide_vc_unpack(library + strtoul(argv[2], NULL, 10),
                                         library + strtoul(argv[3], NULL, 10), &n_bytes);
    FILE *out = fopen(argv[4], "wb");
    if (code == NULL || out == NULL || fwrite(code, 1, n_bytes, out) != n_bytes ||
        fclose(out) != 0) {
        return 3;
    }
    size_t n = tide_vc_cubin_read(code, n_bytes, &uses);
    for (size_t i = 0; i < n; i++) {
        printf("%llu %u %u\n", (unsigned long long)uses[i].name_hash, uses[i].n_registers,
               uses[i].shared_bytes);
    }
    return 0;
}
