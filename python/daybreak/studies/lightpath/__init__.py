"""The light-path study: an elephant flow that is moved from a routed path to a shorter light-path (AIMS 2009)."""
