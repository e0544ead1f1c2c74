#!/bin/sh
# A rolling update: puts what the tree holds now in place of both instances, one after the other, without a failed request.
# Where a new instance does not become healthy it stops there, and the other, of the version before, goes on alone.
set -eu
cd "$(dirname "$0")"

# Rewrites the list of instances in place, for nginx sees this very file, and has nginx load it.
instances () {
  text=$(sed "$1" nginx/upstream.conf)
  printf '%s\n' "$text" > nginx/upstream.conf
  docker compose exec -T nginx nginx -s reload
}

docker compose build app-1
for name in app-1 app-2; do
  instances "/# $name\$/s/;/ down;/"
  # SIGTERM; it serves for DRAIN_SECONDS more, finishes and ends; the new one starts and becomes healthy.
  docker compose up --detach --no-deps --wait "$name"
  instances 's/ down;/;/'
done
