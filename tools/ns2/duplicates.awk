# Duplicate ACKs until the time `end` in a trace of ns-2, as they reach the sender: ACKs with the number of the one before.
$1 == "r" && $5 == "ack" && $2 <= end { duplicates += $11 == number; number = $11 }
END { print "duplicates", duplicates + 0 }
