"""The page of `daybreak report`: the results of runs and studies in one self-contained file."""
