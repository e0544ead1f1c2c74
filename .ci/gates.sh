# What .ci/run is made of. `gate NAME COMMAND…` runs a command. The first that fails ends all. However it ends, the last lines are what
# each took, and the tests' count.

logs=$(mktemp -d)

gate () {
  local name=$1 status=0 began=$SECONDS
  shift
  cpu
  local before=$spent
  printf '\n== %s\n' "$name"
  "$@" 2>&1 | tee "$logs/$name.log" || status=$?
  cpu
  took "$name" "$began" $((spent - before)) "$status"
  return "$status"
}

# Sets `spent` to the processor seconds of all commands that have ended: a busy machine makes them no more.
cpu () {
  times > "$logs/cpu"
  spent=$(seconds_in "$logs/cpu")
}

seconds_in () {
  awk 'END { gsub(/[ms]/, " "); print int($1 * 60 + $2 + $3 * 60 + $4) }' "$1"
}

took () {
  printf '%5d s %5d s of a processor  %s%s\n' "$((SECONDS - $2))" "$3" "$1" "$([ "$4" = 0 ] || echo ', which failed')" >> "$logs/times"
}

finish () {
  local status=$?
  printf '\n'
  cat "$logs/times"
  printf '%5d s  in all\n\n' "$SECONDS"
  cat "$logs"/*.log | awk -v status="$status" '/^[0-9]+ passed, [0-9]+ failed$/ { passed += $1; failed += $3 }
    END { printf "%d passed, %d failed\n", passed, status != 0 && failed == 0 ? 1 : failed }'
  rm -rf "$logs"
}
trap finish EXIT
