"""The page of `daybreak report`: what runs and studies have shown, in one file that needs nothing else."""
