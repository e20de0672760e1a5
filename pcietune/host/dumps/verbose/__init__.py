"""Reads what ``lspci -vvv`` prints without bytes."""
