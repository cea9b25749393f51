"""The study's claims as code, one file a figure. Each function judges measured settings and fills the scoreboard."""
