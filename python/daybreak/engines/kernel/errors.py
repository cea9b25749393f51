"""Errors of the kernel engine."""

from __future__ import annotations

from ...errors import EngineError


class KernelEngineError(EngineError):
    """The kernel engine could not do what was requested; the message is one sentence that names it."""


class RecipeError(KernelEngineError):
    """The recipe in kernel-image/ is missing or does not fit the source it is applied to."""


class MissingTool(KernelEngineError):
    """Programs or files that a build needs are not on this machine."""


class BuildError(KernelEngineError):
    """A build step failed; `log` is where its whole output is."""

    def __init__(self, message: str, log: str | None = None) -> None:
        super().__init__(message)
        self.log = log


class NoImage(KernelEngineError):
    """There is no built kernel for this recipe and this machine."""


class NoGuest(KernelEngineError):
    """The program that runs in the guest is missing."""


class GuestFailed(KernelEngineError):
    """The guest crashed, hung, or left no result."""
