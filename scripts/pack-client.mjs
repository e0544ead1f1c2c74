// Packs the browser client as a package of its own, `fastify-authority-client`: the same files in the same version, and
// no dependency. `node scripts/pack-client.mjs DIRECTORY` leaves the tarball there. A release publishes
// both: `npm publish`, `npm run pack:client -- dist`, `npm publish dist/fastify-authority-client-*.tgz`.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
export const CLIENT = 'fastify-authority-client'

const README = `# ${CLIENT}

The browser client of [fastify-authority](https://www.npmjs.com/package/fastify-authority): sign-in by redirect for single-page apps, with any OpenID provider that allows CORS. It has no dependency. The same files are in \`fastify-authority/client\`, for apps that have the server in the same package; this package is for front ends that should not install a server.

\`\`\`js
import { createAuthClient } from '${CLIENT}'

const auth = createAuthClient({ clientId: 'spa', domain: 'auth.example.com', redirectUri: \`\${location.origin}/callback\` })
if (location.pathname === '/callback') await auth.handleRedirectCallback()
const user = await auth.getUser()
\`\`\`

Entries: \`${CLIENT}/dev\`, \`/popup\`, \`/silent\`, \`/step-up\`, \`/react\`, \`/vue\` and \`/svelte\`. The guide is docs/guides/browser-client.md of fastify-authority, and all options, methods, events and errors are in docs/reference/client.md; read \`${CLIENT}\` where it says \`fastify-authority/client\`.
`

/** Needs a build. Returns the tarball's path. */
export function packClient(directory) {
  const {
    version,
    license,
    author,
    repository,
    homepage,
    bugs,
    publishConfig,
    exports,
    peerDependencies,
    peerDependenciesMeta
  } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const built = join(root, 'dist', 'lib', 'client')
  const home = mkdtempSync(join(tmpdir(), `${CLIENT}-`))
  try {
    mkdirSync(join(home, 'dist'))
    for (const file of readdirSync(built).filter((name) => /\.(js|js\.map|d\.ts)$/.test(name)))
      copyFileSync(join(built, file), join(home, 'dist', file))
    const entries = Object.entries(exports).filter(([name]) => /^\.\/client(\/|$)/.test(name))
    const moved = (path) => path.replace('./dist/lib/client/', './dist/')
    const peers = ['react', 'vue']
    writeFileSync(
      join(home, 'package.json'),
      `${JSON.stringify(
        {
          name: CLIENT,
          version,
          description:
            'Sign-in for single-page apps by OAuth 2 and OpenID Connect: the browser client of ' +
            'fastify-authority, without a dependency.',
          keywords: ['oauth2', 'openid-connect', 'oidc', 'pkce', 'spa', 'authentication'],
          license,
          author,
          repository,
          homepage,
          bugs,
          publishConfig,
          type: 'module',
          exports: {
            ...Object.fromEntries(
              entries.map(([name, { types, default: code }]) => [
                name.replace('./client', '.'),
                { types: moved(types), default: moved(code) }
              ])
            ),
            './package.json': './package.json'
          },
          files: ['dist'],
          sideEffects: false,
          peerDependencies: Object.fromEntries(peers.map((peer) => [peer, peerDependencies[peer]])),
          peerDependenciesMeta: Object.fromEntries(peers.map((peer) => [peer, peerDependenciesMeta[peer]]))
        },
        null,
        2
      )}\n`
    )
    copyFileSync(join(root, 'LICENSE'), join(home, 'LICENSE'))
    writeFileSync(join(home, 'README.md'), README)
    execFileSync('npm', ['pack', '--pack-destination', resolve(directory)], {
      cwd: home,
      stdio: ['ignore', 'ignore', 'inherit']
    })
    return join(resolve(directory), `${CLIENT}-${version}.tgz`)
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

if (process.argv[1] !== undefined && basename(process.argv[1]) === 'pack-client.mjs') {
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: root, stdio: 'inherit' })
  console.log(packClient(process.argv[2] ?? '.'))
}
