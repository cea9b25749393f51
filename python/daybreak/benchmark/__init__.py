"""The benchmark scenarios, and how fast the engine runs them.

The engine has S1 to S4 itself, since other simulators run these as well. The others are scenario files here, which
resemble what studies run.
"""
