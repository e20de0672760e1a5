"""What ``fmpm -l`` prints, written out after its source (listPartitions in fmpm.cpp)."""

import json
from collections.abc import Collection, Mapping


def fmpm_list(partitions: Mapping[int, Collection[int]], active: Collection[int] = ()) -> str:
    """Return the list of Hopper partitions, of modules by id.

    Where Fabric Manager has no GPUs beside the NVSwitches it knows neither UUID nor address.
    """
    told = [
        {
            "partitionId": number,
            "isActive": int(number in active),
            "numGpus": len(modules),
            "gpuInfo": [
                {
                    "physicalId": module,
                    "uuid": "",
                    "pciBusId": "00000000:00:00.0",
                    "numNvLinksAvailable": 18 if len(modules) > 1 else 0,
                    "maxNumNvLinks": 18 if len(modules) > 1 else 0,
                    "nvlinkLineRateMBps": 26562,
                }
                for module in modules
            ],
        }
        for number, modules in partitions.items()
    ]
    document = {
        "version": 16909068,
        "numPartitions": len(told),
        "maxNumPartitions": 15,
        "partitionInfo": told,
    }
    return json.dumps(document, indent=3)
