/* nvjpeg.c - nvJPEG, which torchvision uses for pictures on the card. Everything is refused,
 * because pictures are not decoded. */
#include "programs/virtual_cuda/libraries/stub_friend.h"

#include "programs/virtual_cuda/libraries/nvjpeg.def"
