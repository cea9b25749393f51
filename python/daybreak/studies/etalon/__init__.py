"""The Etalon study: TCP on a network of packets and circuits (Mukerjee et al., NSDI 2020)."""
