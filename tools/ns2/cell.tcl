# One run of ns-2.35 in the set-up of the light-path study (page.toml): a flow from s to d over r1-r2-r3, which is moved to
# the link r1-r3. Prints the wire bytes that leave r3 in each tenth of a second from ten seconds before the move, and the
# duplicate ACKs of the half second after it.
#
#   ns cell.tcl SCENARIO RATE OVER RTT VARIANT QUEUE QUEUE_AFTER MOVE AFTER
#
# Rates in bit/s, times in seconds, queues in packets: RATE is that of the bottleneck, OVER that of all other links,
# QUEUE_AFTER the sender's queue from the move on.
lassign $argv scenario rate over rtt variant queue queue_after move after
set ns [new Simulator]
$ns rtproto Manual
foreach node {s r1 r2 r3 d} { set $node [$ns node] }
set local $over; set ip $over; set optical $over; set last $over
switch $scenario {
  B { set local $rate }
  C1 { set ip $rate; set optical $rate }
  C2 { set ip $rate }
  D { set last $rate }
}
proc both {a b rate delay queue} {
  global ns
  $ns simplex-link $a $b $rate $delay DropTail
  $ns queue-limit $a $b $queue
  $ns simplex-link $b $a $rate $delay DropTail
  $ns queue-limit $b $a 500
}
both $s $r1 $local 0 $queue
both $r1 $r2 $ip [expr $rtt / 4] 500
both $r2 $r3 $ip [expr $rtt / 4] 500
$ns simplex-link $r1 $r3 $optical [expr $rtt / 10] DropTail
$ns queue-limit $r1 $r3 500
both $r3 $d $last 0 500

set tcp [new Agent/TCP/Linux]
foreach {name value} {timestamps_ true window_ 773333 packetSize_ 1450 windowInit_ 2 maxcwnd_ 0} { $tcp set $name $value }
$ns at 0 "$tcp select_ca $variant"
set sink [new Agent/TCPSink/Sack1]
$sink set ts_echo_rfc1323_ true
$sink set generateDSacks_ false
$ns attach-agent $s $tcp
$ns attach-agent $d $sink
$ns connect $tcp $sink
proc hop {at to next} { global ns; [$at get-module "Manual"] add-route [$to id] [[$ns link $at $next] head] }
[$s get-module "Manual"] add-route-to-adj-node -default $r1
[$d get-module "Manual"] add-route-to-adj-node -default $r3
hop $r1 $d $r2; hop $r2 $d $r3; hop $r3 $d $d
hop $r3 $s $r2; hop $r2 $s $r1; hop $r1 $s $s

set acks [open "|awk -v end=[expr $move + 0.5] -f [file join [file dirname [info script]] duplicates.awk] >@ stdout" w]
set ftp [new Application/FTP]
$ftp attach-agent $tcp
$ns at 1.0 "$ftp start"
$ns at $move {
  hop $r1 $d $r3
  $ns queue-limit $s $r1 $queue_after
}
set monitor [$ns monitor-queue $r3 $d ""]
set before 0
proc tick {} {
  global ns monitor before move
  set bytes [$monitor set bdepartures_]
  puts "bytes [expr round(([$ns now] - $move) * 10)] [expr $bytes - $before]"
  set before $bytes
  $ns after 0.1 tick
}
$ns at [expr $move - 10.1] { set before [$monitor set bdepartures_] }
$ns at [expr $move - 10.0] tick
$ns at $move { $ns trace-queue $r1 $s $acks }
$ns at [expr $move + $after + 0.05] { flush stdout; $ns flush-trace; close $acks; exit 0 }
$ns run
