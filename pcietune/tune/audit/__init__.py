"""Judge a host by what it is wanted to be."""
