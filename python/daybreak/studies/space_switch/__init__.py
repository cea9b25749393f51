"""The space-switch study: VM transfers over a leaf-spine network with direct optical links."""
