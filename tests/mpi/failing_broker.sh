#!/bin/sh
# failing_broker.sh - in the place of warpwayd: fails a little after a rank has said that it probes (probe.c)
touch "$XDG_RUNTIME_DIR/starting"
until [ -e "$XDG_RUNTIME_DIR/probing" ]; do
	sleep 0.01
done
sleep 0.3
exit 1
