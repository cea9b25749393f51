"""Models of FCT prolongation, learnt from sweeps. They need the extra packages of `pip install daybreak[learn]`."""
