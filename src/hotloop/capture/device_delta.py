"""Device work that one node of the region tree caused, during recordings.

Device activity is recorded only now and then, so these figures are a sample: `host_ns` is how much
of the node's own time was recorded, and `analyze.device_use` scales it to the whole run. Calls
that were recorded in full are kept apart from parts of calls (`Window.device`,
`Window.device_parts`): whole calls show what one call does.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields


@dataclass(slots=True)
class DeviceDelta:
    """Sums over recordings; times in nanoseconds."""

    #: Recorded host time of the node, and its calls in thousandths; no calls where only parts of
    #: them were recorded.
    host_ns: int = 0
    millicalls: int = 0
    #: Device time of the kernels that the node launched.
    kernels: int = 0
    kernel_ns: int = 0
    #: Calls that launch work, and host time inside them.
    launches: int = 0
    launch_ns: int = 0
    #: Calls that wait for the device and host time inside them. Waited: host time in which a kernel
    #: ran meanwhile, in these calls, in copies and in launches that a full queue blocked.
    syncs: int = 0
    sync_ns: int = 0
    waited_ns: int = 0
    #: Host time inside calls that copy.
    copy_call_ns: int = 0
    to_device: int = 0
    to_device_bytes: int = 0
    to_device_ns: int = 0
    to_host: int = 0
    to_host_bytes: int = 0
    to_host_ns: int = 0
    on_device: int = 0
    on_device_bytes: int = 0
    on_device_ns: int = 0
    #: Idle time before the node's next kernel, and why: the host had not
    #: launched it yet, it was launched and waited in the queue, or the device was copying.
    late_ns: int = 0
    queue_ns: int = 0
    copy_ns: int = 0
    #: Host time, anywhere, spent waiting while a kernel launched here ran.
    awaited_ns: int = 0
    #: The part of `waited_ns` in launches that a full queue blocked.
    blocked_ns: int = 0
    #: The part of `to_device` and `to_host` whose host memory was not pinned.
    pageable_bytes: int = 0
    pageable_ns: int = 0
    #: The part of `kernel_ns` in float32 matrix products without TF32.
    float32_ns: int = 0

    def add(self, other: DeviceDelta) -> None:
        """Add another recording."""
        for field in fields(self):
            name = field.name
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def row(self) -> list[int]:
        """The row of a capture."""
        return list(astuple(self))


def from_row(row: list[int]) -> DeviceDelta:
    """From a row of the capture; a newer hotloop's may be longer, an older one's shorter."""
    return DeviceDelta(*row[: len(fields(DeviceDelta))])
