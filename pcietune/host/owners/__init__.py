"""Who else on a host gives functions to VFIO or sets their registers."""
