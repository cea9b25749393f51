"""The study's claims as code, one file per figure. Each function judges measurements and fills the scoreboard.

Every claim exists for each TCP stack; its id ends with the stack.
"""
