"""The smallest hosts in which two functions can part, for routes."""

from model.functions import GPU, NIC, fabric, function

SWITCH = fabric(
    [
        function("00:01.0"),
        function("00:01.0 01:00.0"),
        function("00:01.0 01:00.0 02:00.0"),
        function("00:01.0 01:00.0 02:01.0"),
        function("00:01.0 01:00.0 02:02.0"),
        function("00:01.0 01:00.0 02:00.0 03:00.0", NIC),
        function("00:01.0 01:00.0 02:01.0 04:00.0", GPU),
        function("00:01.0 01:00.0 02:02.0 05:00.0", GPU),
    ]
)
CASCADE = fabric(
    [
        function("00:01.0"),
        function("00:01.0 01:00.0"),
        function("00:01.0 01:00.0 02:00.0"),
        function("00:01.0 01:00.0 02:01.0"),
        function("00:01.0 01:00.0 02:00.0 03:00.0"),
        function("00:01.0 01:00.0 02:00.0 03:00.0 04:00.0"),
        function("00:01.0 01:00.0 02:00.0 03:00.0 04:01.0"),
        function("00:01.0 01:00.0 02:00.0 03:00.0 04:00.0 05:00.0", NIC),
        function("00:01.0 01:00.0 02:00.0 03:00.0 04:01.0 06:00.0", GPU),
        function("00:01.0 01:00.0 02:01.0 07:00.0", GPU),
    ]
)
ROOTS = fabric(
    [
        function("00:01.0"),
        function("00:02.0"),
        function("00:01.0 01:00.0", NIC),
        function("00:02.0 02:00.0", GPU),
    ]
)
DEVICE = fabric(
    [
        function("00:01.0"),
        function("00:01.0 01:00.0", GPU),
        function("00:01.0 01:00.1", GPU),
    ]
)
