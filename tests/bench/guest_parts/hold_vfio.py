"""Open a function through VFIO, as a VM does, and hold it until standard input ends.

usage: hold_vfio.py ADDRESS; prints "held" when it is open.
"""

import ctypes
import fcntl
import os
import struct
import sys
from pathlib import Path

_SET_IOMMU = 0x3B66
_GROUP_SET_CONTAINER = 0x3B68
_GROUP_GET_DEVICE_FD = 0x3B6A
_TYPE1 = 1

_address = sys.argv[1]
_device = Path("/sys/bus/pci/devices") / _address
(_device / "driver_override").write_text("vfio-pci")
Path("/sys/bus/pci/drivers_probe").write_text(_address)
_number = (_device / "iommu_group").readlink().name
_container = os.open("/dev/vfio/vfio", os.O_RDWR)
_group = os.open(f"/dev/vfio/{_number}", os.O_RDWR)
fcntl.ioctl(_group, _GROUP_SET_CONTAINER, struct.pack("i", _container))
fcntl.ioctl(_container, _SET_IOMMU, _TYPE1)
_name = ctypes.create_string_buffer(_address.encode())
_function = ctypes.CDLL(None, use_errno=True).ioctl(_group, _GROUP_GET_DEVICE_FD, _name)
if _function < 0:
    sys.exit("VFIO did not give the device")
sys.stdout.write("held\n")
sys.stdout.flush()
sys.stdin.read()
