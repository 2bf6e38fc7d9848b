# steps.sh - the steps of .ci/run and scripts/nightly, and what they say at the end
#
# A file to be sourced by bash. LIMIT_S: after so many seconds a step is cut off. A step that fails does not keep the next
# from running. A step whose output has a line "N passed, N failed, N skipped" counts as that says, any other one as one
# check, passed or failed.
steps_log=$(mktemp)
trap 'rm -f "$steps_log"' EXIT
passed=0 failed=0 skipped=0 summary= failures=

# Adds one step, whose output is in the log, to what steps_end says.
count_step() { # WHAT STATUS SECONDS
	local what=$1 status=$2 p=0 f=0 s=0
	local counts='^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$'

	if [[ $(grep -E "$counts" "$steps_log" | tail -n 1) =~ $counts ]]; then
		p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]} s=${BASH_REMATCH[3]}
	elif [ "$status" = 0 ]; then
		p=1
	fi
	if [ "$status" != 0 ] && [ "$f" = 0 ]; then
		f=1
	fi
	if [ "$f" != 0 ]; then
		failures+="failed in $what:"$'\n'$(grep -a '^failed: ' "$steps_log" || tail -n 5 "$steps_log")$'\n'
	fi
	failures+=$(grep -a '^unsteady: ' "$steps_log" | sed 's/$/\n/')
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	summary+=$(printf '%-34s %4d s  %5d passed %4d failed %4d skipped' "$what" "$3" "$p" "$f" "$s")$'\n'
}

# Runs a command, and shows and keeps its output.
run_logged() { # COMMAND...
	local left=$((LIMIT_S - SECONDS))

	timeout --kill-after=10 $((left > 1 ? left : 1)) "$@" 2>&1 | tee -a "$steps_log"
	return "${PIPESTATUS[0]}"
}

step() { # WHAT COMMAND...
	local what=$1 start=$SECONDS status=0
	shift
	printf '\n== %s\n' "$what"
	: >"$steps_log"
	run_logged "$@" || status=$?
	count_step "$what" $status $((SECONDS - start))
}

# A step that runs the tests of a build folder. What failed only because a limit on time expired runs once more, alone.
test_step() { # BUILD WHAT COMMAND...
	local build=$1 what=$2 start=$SECONDS status=0
	shift 2
	printf '\n== %s\n' "$what"
	: >"$steps_log"
	rm -f "$build/meson-logs/testlog.json"
	if ! run_logged "$@"; then
		status=1
		[ ! -s "$build/meson-logs/testlog.json" ] || { : >"$steps_log"; run_logged scripts/rerun-timeouts "$build" && status=0; }
	fi
	count_step "$what" $status $((SECONDS - start))
}

# What failed, the time and the counts of each step, and as the last line the sum. The status is 1 if anything failed.
steps_end() {
	printf '\n%s\n%s\n%d passed, %d failed, %d skipped\n' "$failures" "$summary" "$passed" "$failed" "$skipped"
	[ "$failed" = 0 ] && [ "$passed" != 0 ]
}
