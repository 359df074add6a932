"""Limit on the address space of the process (`ulimit -v`)."""

from __future__ import annotations


def address_space_limit() -> int | None:
    """Return the limit in bytes, or None if there is no limit or the platform has none."""
    try:
        import resource
    except ImportError:  # Windows, where the library is also used
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit
