"""What one place of the region tree had a device do, inside the stretches that were recorded.

Device activity is recorded only now and then, so these figures are a sample: `host_ns` says how
much of the place's own time was looked at, and `analyze.device` scales them to the whole run. Whole
calls and parts of calls that reached out of a recording are kept apart (`Window.device` and
`Window.device_parts`): whole calls say what one call does.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, fields


@dataclass(slots=True)
class DeviceDelta:
    """Sums over recorded stretches; times in nanoseconds."""

    #: The place's own host time that was looked at, and the calls in it, in thousandths; none where
    #: only parts of calls were seen.
    host_ns: int = 0
    millicalls: int = 0
    #: Device time of the kernels that the place launched.
    kernels: int = 0
    kernel_ns: int = 0
    #: Calls that launch work, and host time inside them.
    launches: int = 0
    launch_ns: int = 0
    #: Calls that wait for the device, host time inside them, and how much of that it computed.
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
    #: Time in which no kernel ran before the place's next one did, and why: the host had not
    #: launched it yet, it was launched and waited in the queue, or the device was copying.
    late_ns: int = 0
    queue_ns: int = 0
    copy_ns: int = 0

    def add(self, other: DeviceDelta) -> None:
        """Take in what happened in another stretch."""
        for field in fields(self):
            name = field.name
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def row(self) -> list[int]:
        """As the capture keeps it."""
        return list(astuple(self))


def from_row(row: list[int]) -> DeviceDelta:
    """From a row of the capture; a newer hotloop's may be longer, an older one's shorter."""
    return DeviceDelta(*row[: len(fields(DeviceDelta))])
