#!/bin/sh
ismounted "$NEWROOT" || /mount-root "$NEWROOT"
