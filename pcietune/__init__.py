"""pcietune tunes and audits PCIe ACS and ATS on GPU servers."""

__version__ = "0.1.0"
