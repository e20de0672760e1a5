#!/bin/sh
# dracut sources its hooks: what it runs in a process of its own leaves dracut's variables alone.
/usr/lib/pcietune/early-overrides
