import type { Size } from './bundles.ts'
import type { ClientKind } from './clients.ts'
import type { Situation } from './situations/situation.ts'

export interface Result {
  /** `null`: not asked. */
  passed: boolean | null
  /** Why not. */
  word?: string
  requests: number
  reuses: number
}

export interface Report {
  clients: ClientKind[]
  situations: Situation[]
  /** By client and situation. */
  results: Map<string, Map<string, Result>>
  sizes: Map<string, Size>
  machine: string
}

const cellOf = (result: Result | undefined): string => {
  if (result === undefined || result.passed === null) return '-'
  return `${result.passed ? 'pass' : `FAIL ${result.word ?? ''}`} ${result.requests}/${result.reuses}`
}

function rowsOf({ clients, situations, results }: Report): string[][] {
  return situations.map(({ id, title }) => [
    id,
    title,
    ...clients.map(({ name }) => cellOf(results.get(name)?.get(id)))
  ])
}

function totalsOf({ clients, results }: Report): string[] {
  return clients.map(({ name }) => {
    const asked = [...(results.get(name)?.values() ?? [])].filter(({ passed }) => passed !== null)
    return `${asked.filter(({ passed }) => passed).length}/${asked.length}`
  })
}

export function terminal(report: Report): string {
  const rows = [
    ['', '', ...report.clients.map(({ name }) => name)],
    ...rowsOf(report),
    ['', 'passed', ...totalsOf(report)]
  ]
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const sizes = report.clients.map(({ name, title }) => `${title}: ${report.sizes.get(name)?.gzip ?? '?'} B gzip`)
  return [
    ...rows.map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd()
    ),
    '',
    ...sizes,
    report.machine
  ].join('\n')
}

const table = (head: string[], rows: string[][]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

export function markdown(report: Report): string {
  const { clients, sizes } = report
  const cells = rowsOf(report).map((row) =>
    row.map((cell) => cell.replace(/^FAIL (\S*)/, '**$1**').replace(/^pass /, 'ok '))
  )
  return `# Browser clients compared

<!-- Made by npm run bench:client. Run it again rather than change it. -->

What browser clients do in everyday situations, in Chromium, all in the same run. The provider is this plugin at its strictest: access tokens live 5 seconds, each refresh token works once, and one that comes twice ends its session. Where many ask at once, the way to the provider takes 300 ms, as it does from a phone.

${table(
  ['client', 'version', 'minified, B', 'gzip, B', 'times ours'],
  clients.map(({ name, title }) => {
    const size = sizes.get(name)
    const ours = sizes.get('ours')?.gzip
    return [
      title,
      size?.version ?? '',
      `${size?.minified ?? ''}`,
      `${size?.gzip ?? ''}`,
      size && ours ? (size.gzip / ours).toFixed(1) : ''
    ]
  })
)}

Sizes: sign-in, callback, user and access token, bundled by the same esbuild (minified, ES modules, es2022), gzip level 9.

\`ok\`, or what went wrong in a word; then the requests to the token endpoint, and how many of them brought a code or a refresh token that had come before. \`-\`: the client is not made for it. \`broken\`: the bench itself could not go on.

${table(['', 'situation', ...clients.map(({ title }) => title)], cells)}
| | **passed** | ${totalsOf(report).join(' | ')} |

${NOTES}

${report.machine}
`
}

const NOTES = `## How to read it

- The situations were written by the makers of the first column, who mended it until it passed. They are taken from the issues of all of these clients, and each can be read in \`bench/client/situations\`: bring one that fails.
- auth0-spa-js has refresh tokens switched on, and looks like its users have it: once with \`localStorage\`, once in memory, which is its default. The bench puts Auth0's addresses in front of the provider. It refreshes an access token that has less than a minute to live, so that tokens of 5 seconds are refreshed at every call: the number of its requests says nothing against it.
- oidc-client-ts keeps users in \`localStorage\`, and renews when an expired token is asked for; its timer is off, for it would renew tokens of 5 seconds without a pause.
- keycloak-js finds the provider by \`oidcProvider\`. Its iframe and its probe for third-party cookies are off, for they need pages of a Keycloak server; with them a reload can bring the user back (O) where third-party cookies work. The same goes for auth0-spa-js in memory.
- oidc-client-ts and keycloak-js pass G3 because they do not check when an ID token ends.
- D, T and U are races: another run may end otherwise for a client that loses one of them. What else the machine does changes them too; the load below includes the bench itself. Chromium shows one tab what another one wrote to \`localStorage\` some milliseconds late, so that a lock alone does not save a refresh token from being spent twice.
- BB and CC begin in a browser where nobody has signed in, and end with the first answer of the app's API. The code is what an authenticator app shows; the passkey is one of the browser's own virtual authenticators, made a moment before, and the person types nothing. Both are questions of the provider, so every client comes through.
- DD: ten minutes after the sign-in an API of the app answers 401 \`insufficient_user_authentication\` with \`acr_values="mfa", max_age="300"\`. The browser is led to the password and the code and back, and the call is made again. Ours reads the challenge by its entry \`fastify-authority/client/step-up\`, which also holds on to the person and lets calls that are refused at once share a sign-in. The others have no reader for it: what their host has to write is \`bench/client/pages/step-up.mjs\`, which does neither, and they are led by their own parameters for \`acr_values\` and \`max_age\`. One more request of ours: its \`fetch\` answers every 401 with a refresh before it hands it back.
- \`over_16_s\`: a call was not answered by then, whatever it would have come to later.
- S: our page is not repainted from the page cache at all. A tab that is told of a sign-out while it lies there is dropped by Chromium, and loads anew.`
