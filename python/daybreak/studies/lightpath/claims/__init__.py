"""The study's claims as code, one file a figure. Each function judges measured settings and fills the scoreboard.

Every claim is made for each TCP stack; its id ends with the stack.
"""
