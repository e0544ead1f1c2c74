# What .ci/run and .ci/nightly are made of. `gate NAME COMMAND…` runs a command. Where `KEEP_GOING` is empty, the first
# that fails ends all. The last lines are what each gate took, and the tests' count: `N passed, N failed`.

logs=$(mktemp -d)
failed=0
KEEP_GOING=

gate () {
  local name=$1 status=0 began=$SECONDS
  shift
  printf '\n== %s\n' "$name"
  "$@" 2>&1 | tee "$logs/${name//[^a-z0-9]/-}.log" || status=$?
  printf '%5d s  %s%s\n' "$((SECONDS - began))" "$name" "$([ "$status" = 0 ] || echo ', which failed')" >> "$logs/times"
  [ "$status" = 0 ] || failed=1
  [ -n "$KEEP_GOING" ] || return "$status"
}

finish () {
  local status=$?
  [ "$status" != 0 ] || status=$failed
  printf '\n'
  cat "$logs/times"
  printf '%5d s  in all\n\n' "$SECONDS"
  # A gate that is no test and failed counts as one.
  cat "$logs"/*.log | awk -v status="$status" '/^[0-9]+ passed, [0-9]+ failed$/ { passed += $1; failed += $3 }
    END { printf "%d passed, %d failed\n", passed, status != 0 && failed == 0 ? 1 : failed }'
  rm -rf "$logs"
  exit "$status"
}
trap finish EXIT
