# SPDX-License-Identifier: Apache-2.0
from warpway._core import Memory

def keep(memory: Memory) -> None: ...
