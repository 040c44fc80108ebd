# SPDX-License-Identifier: Apache-2.0
import numpy as np

from pyptx import kernels

x = np.zeros((4, 64), np.float32)
print(kernels.rms_norm(x.T, np.ones(4, np.float32)))
