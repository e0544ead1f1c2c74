// In the image alone: makes the modules that the example server imports besides the library dependencies of the
// package, so that `npm prune --omit=dev` keeps them in the version of the lockfile.
import { readFileSync, writeFileSync } from 'node:fs'

const NEEDED = ['@fastify/cookie', 'fastify', 'ioredis', 'libsql', 'nodemailer', 'openid-client', 'pg']

const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
for (const name of NEEDED) {
  manifest.dependencies[name] = manifest.devDependencies[name]
  delete manifest.devDependencies[name]
  delete manifest.peerDependencies[name]
}
writeFileSync('package.json', `${JSON.stringify(manifest, null, 2)}\n`)
