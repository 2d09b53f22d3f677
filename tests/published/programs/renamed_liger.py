"""liger.py for kernels whose modules the newest package no longer exports: renamed_liger.py ROWS"""
import liger_kernel.transformers as package
from liger_kernel.transformers.fused_neighborhood_attention import LigerFusedNeighborhoodAttention
from liger_kernel.transformers.group_norm import LigerGroupNorm
from liger_kernel.transformers.softmax import LigerSoftmax

import liger

package.LigerGroupNorm, package.LigerKernelSoftmax = LigerGroupNorm, LigerSoftmax
package.LigerFusedNeighborhoodAttention = LigerFusedNeighborhoodAttention
if __name__ == "__main__":
    liger.main()
