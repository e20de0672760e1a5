#!/bin/sh
# Nothing need be waited for.
root=bench
rootok=1
