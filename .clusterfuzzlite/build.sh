#!/bin/bash -eu
# Builds the fuzz targets of test/fuzz/targets.ts, one program each. Jazzer.js is installed here and is no dependency of the package: npm would
# install it for everybody who works on it. It instruments CommonJS alone, so each target is bundled into one such file with all that it reads.

project=fastify-authority
fuzz=$SRC/$project/.fuzz
mkdir -p "$fuzz"
cd "$fuzz"
npm init --yes > /dev/null
# 2.1.0: the prebuilt library of 4.0.0 needs a newer glibc (2.38) than this image has.
npm install --no-audit --no-fund @jazzer.js/core@2.1.0 esbuild@0.28.2 @sinclair/typebox@0.34.52
# Where esbuild finds what the targets import, for the package's own dependencies are not installed.
export NODE_PATH=$fuzz/node_modules

for target in jwt webauthn forms cookies returnTo; do
  echo "export { $target as fuzz } from '../test/fuzz/targets.ts'" > "$target.ts"
  npx esbuild "$target.ts" --bundle --platform=node --format=cjs --outfile="$target.js"
  compile_javascript_fuzzer "$project" ".fuzz/$target.js" --sync
done
