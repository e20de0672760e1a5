"""A host as one HTML file: boxes, matrices, routes, findings and groups."""
