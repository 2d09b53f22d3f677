/* cufile.c - cuFile. Everything is refused: files reach the card through the host. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/cufile.def"
