"""How much address space the process may take (`ulimit -v`)."""

from __future__ import annotations


def address_space_limit() -> int | None:
    """Bytes of address space this process may have; None for as much as there is, or where no system limits it."""
    try:
        import resource
    except ImportError:  # Windows, where the library is used too
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit
