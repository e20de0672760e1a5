"""A plan as libvirt's XML."""
