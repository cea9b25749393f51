"""The migration study: TCP flows that an optical switch moves between two links."""
