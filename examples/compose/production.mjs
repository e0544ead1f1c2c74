// In the image alone: makes what the example server imports beside the library a dependency of the package, so that
// `npm prune --omit=dev` keeps it in the version of the lockfile.
import { readFileSync, writeFileSync } from 'node:fs'

const NEEDED = ['@fastify/cookie', 'fastify', 'ioredis', 'libsql', 'nodemailer', 'openid-client', 'pg']

const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
for (const name of NEEDED) {
  manifest.dependencies[name] = manifest.devDependencies[name]
  delete manifest.devDependencies[name]
  delete manifest.peerDependencies[name]
}
writeFileSync('package.json', `${JSON.stringify(manifest, null, 2)}\n`)
