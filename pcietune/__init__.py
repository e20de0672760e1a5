"""pcietune tunes and audits PCIe ACS and ATS on GPU servers."""
