"""A laboratory for the whole flash storage stack: I/O scheduler, write buffer, FTL and NAND in one checked simulator."""

from flashloom._flashloom import __version__

__all__ = ["__version__"]
