# SPDX-License-Identifier: Apache-2.0
import numpy as np

from pyptx import kernels

x = np.zeros((4, 64), np.float16)
kernels.matmul(x, x[:, :60], transpose_b=True)
