"""The study's claims as code, one file per figure. Each function judges measurements and fills the scoreboard."""
