# What .ci/run is made of. `gate NAME COMMAND…` runs a command. The first that fails ends all. However it ends, the last lines are what
# each took, and the tests' count.

logs=$(mktemp -d)
# Seconds that all may take on two processors with nothing beside: what takes longer is run less often.
WANTED=480

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

# `at_once FUNCTION…`: each a few gates one after another, beside those of the others. What the last one prints is seen at once, and what
# the others have printed after it. All end before one that has failed ends all.
at_once () {
  local each status=0 running=()
  for each in "${@:1:$#-1}"; do
    ( "$each" ) > "$logs/$each.out" 2>&1 &
    running+=("$!")
  done
  ( "${@: -1}" ) &
  running+=("$!")
  for each in "${running[@]}"; do wait "$each" || status=$?; done
  for each in "${@:1:$#-1}"; do cat "$logs/$each.out"; done
  return "$status"
}

# What is called after it in the same function gets a processor when nobody else wants one.
give_way () { renice -n 19 -p "$BASHPID" > /dev/null || true; }

# Sets `spent` to the processor seconds of all commands that have ended: a busy machine makes them no more.
cpu () {
  local file=$logs/cpu.$BASHPID
  times > "$file"
  spent=$(seconds_in "$file")
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
  printf '%5d s  in all%s\n\n' "$SECONDS" "$([ "$SECONDS" -le "$WANTED" ] || echo ", $((SECONDS - WANTED)) more than are wanted on two quiet cores")"
  cat "$logs"/*.log | awk -v status="$status" '/^[0-9]+ passed, [0-9]+ failed$/ { passed += $1; failed += $3 }
    END { printf "%d passed, %d failed\n", passed, status != 0 && failed == 0 ? 1 : failed }'
  rm -rf "$logs"
}
trap finish EXIT
