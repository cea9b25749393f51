"""What tests on real Linux need: a kernel image (daybreak kernel build) and the guest's program."""

import pytest

from daybreak.engines.kernel import image, workplace
from daybreak.engines.kernel.errors import KernelEngineError


def _lacking() -> str:
    try:
        image.find()
        workplace.guest_program()
    except KernelEngineError as error:
        return str(error)
    return ""


LACKING = _lacking()
"""What is missing of it, in a sentence; empty when nothing is."""
with_kernel = pytest.mark.skipif(bool(LACKING), reason=f"left out without the real kernel: {LACKING}")
"""For tests that start it."""
