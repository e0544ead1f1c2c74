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

Browser clients in everyday situations, in Chromium, all in the same run. The provider is this plugin with its strictest settings: access tokens live 5 seconds, each refresh token works once, and a reused one ends its session. In situations with parallel requests, each request takes 300 ms, as from a phone.

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

Each cell has \`ok\` or the error, then the number of requests to the token endpoint, and how many of them reused a code or a refresh token. \`-\`: the client does not support the situation. \`broken\`: the bench itself failed.

${table(['', 'situation', ...clients.map(({ title }) => title)], cells)}
| | **passed** | ${totalsOf(report).join(' | ')} |

${NOTES}

${report.machine}
`
}

const NOTES = `## How to read it

- We wrote the situations, and fixed our client until it passed all of them. They come from the issues of all of these clients. Their code is in \`bench/client/situations\`. Please report a situation in which ours fails.
- auth0-spa-js uses refresh tokens, once with \`localStorage\` and once in memory, its default. The bench serves Auth0's paths in front of the provider. auth0-spa-js refreshes an access token with less than a minute to live, so that tokens of 5 seconds are refreshed at every call. Do not compare its number of requests.
- oidc-client-ts keeps users in \`localStorage\` and renews an expired token when the app asks for it. Its timer is off, because it would renew tokens of 5 seconds without a pause.
- keycloak-js finds the provider by \`oidcProvider\`. Its iframe and its probe for third-party cookies are off, because they need pages of a Keycloak server. With them, and in browsers with third-party cookies, a reload can restore the user (O). The same is true of auth0-spa-js in memory.
- oidc-client-ts and keycloak-js pass G3 because they do not check the expiry of an ID token.
- D, T and U are races: a client that loses one may win it in another run, depending on the load of the machine. The load below includes the bench itself. In Chromium, a tab sees another tab's write to \`localStorage\` some milliseconds late, so a lock alone does not prevent the reuse of a refresh token.
- BB and CC start in a browser without a session, and end with the first response of the app's API. The passkey belongs to a virtual authenticator of the browser. The provider's pages handle both, so every client passes.
- DD: ten minutes after the sign-in, an API of the app answers 401 \`insufficient_user_authentication\` with \`acr_values="mfa", max_age="300"\`. The browser goes to the password and the code and back, and the call is repeated. Our client reads the challenge with \`fastify-authority/client/step-up\`, which also keeps the same user and lets parallel refused calls share one sign-in. The other clients have no such function. Their host has to write \`bench/client/pages/step-up.mjs\`, which does neither, and they use their own parameters for \`acr_values\` and \`max_age\`. Ours makes one more request, because its \`fetch\` first answers any 401 with a refresh.
- \`over_16_s\`: a call took longer than 16 seconds.
- S: the page cache does not show our page again. Chromium drops a cached tab that receives a sign-out, and reloads it.`
