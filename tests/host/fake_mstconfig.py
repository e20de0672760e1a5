"""A small program that prints what mstconfig prints, and keeps what is set, for one NIC."""

from pathlib import Path

_HEAD = """\

Device #1:
----------

Device type:    ConnectX6
Name:           MCX653105A-HDA_Ax
Description:    ConnectX-6 VPI adapter card; HDR IB (200Gb/s) and 200GbE; single-port QSFP56
Device:         {device}

Configurations:                              Default         Current         Next Boot
         MEMIC_BAR_SIZE                      0               0               0
         HOST_CHAINING_DESCRIPTORS           Array[0..7]     Array[0..7]     Array[0..7]
*        NUM_OF_VFS                          8               16              16
"""
_TAIL = "The '*' shows parameters with next value different from default/current value.\n"
_PROGRAM = """\
#!/bin/sh
# mstconfig -d DEVICE -e query; mstconfig -d DEVICE -y set NAME=1
directory={directory}
echo "$*" >> $directory/calls
case "$3 $4" in
"-e query")
    sed "s/{{device}}/$2/" $directory/head
    for file in $directory/*.parameter; do
        [ -e "$file" ] && cat "$file"
    done
    cat $directory/tail
    ;;
"-y set")
    name=${{5%=1}}
    [ -e $directory/refuses ] && {{ cat $directory/refuses; exit 3; }}
    sed -i "s/False(0) *$/True(1)/" $directory/$name.parameter
    echo "Applying... Done!"
    echo "-I- Please reboot machine to load new configurations."
    ;;
*)
    echo "-E- Unknown argument"
    exit 1
    ;;
esac
"""


class FakeMstconfig:
    """The program, and what the firmware behind it is set to.

    Attributes:
        path: Of the program.
    """

    def __init__(self, directory: Path, name: str = "mstconfig") -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self.path = directory / name
        self.path.write_text(_PROGRAM.format(directory=directory))
        self.path.chmod(0o755)
        (directory / "head").write_text(_HEAD)
        (directory / "tail").write_text(_TAIL)

    def has(self, name: str, default: str, current: str, next_boot: str) -> None:
        """Let the firmware show a parameter."""
        differs = "*" if len({default, current, next_boot}) > 1 else " "
        row = f"{differs}        {name:<36}{default:<16}{current:<16}{next_boot:<16}\n"
        (self._directory / f"{name}.parameter").write_text(row)

    def refuses(self, said: str) -> None:
        """Let it refuse to set anything."""
        (self._directory / "refuses").write_text(said)

    def calls(self) -> list[str]:
        """Return the arguments of every call."""
        file = self._directory / "calls"
        return file.read_text().splitlines() if file.exists() else []
