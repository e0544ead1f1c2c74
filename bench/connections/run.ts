/**
 * The cost of sign-in with others for this service: `node --import ./scripts/typescript-loader.mjs
 * bench/connections/run.ts`, after `npm run build`. Two figures: the cost of an import at the start, and processor time
 * of one callback (code for tokens, ID token with its signature, userinfo), next to openid-client with the same checks
 * on and to the same two requests by `fetch` alone.
 */
import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  ClientSecretPost,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo
} from 'openid-client'
import { oidc } from '../../lib/connections/index.ts'
import { outbound } from '../../lib/adapters/node/outbound.ts'
import { upstream } from '../../lib/features/connections/upstream/upstream.ts'
import { systemClock } from '../../lib/adapters/node/system.ts'
import { resolveConnections } from '../../lib/features/connections/options.ts'

const IMPORTS = 15
const CALLBACKS = 300
const ROUNDS = 5
const STATE = 'a-state-of-256-bits'
const NONCE = 'a-nonce-of-256-bits'
const VERIFIER = 'a-verifier-of-at-least-43-characters-for-all-the-benches'
const REDIRECT_URI = 'https://auth.example/auth/connect/up/callback'

const median = (values: number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/** Milliseconds that an import takes in a process that has nothing of it. */
function importMs(specifier: string): number {
  const program =
    `const before = performance.now(); await import(${JSON.stringify(specifier)}); ` +
    'console.log(performance.now() - before)'
  return median(
    Array.from({ length: IMPORTS }, () =>
      Number(
        execFileSync(process.execPath, ['--input-type=module', '-e', program], {
          encoding: 'utf8',
          cwd: new URL('../../', import.meta.url)
        })
      )
    )
  )
}

for (const specifier of ['fastify-authority/connections', 'oauth4webapi', 'openid-client'])
  console.log(`import ${specifier}: ${importMs(specifier).toFixed(1)} ms`)

const child = fork(new URL('upstream.ts', import.meta.url), { execArgv: process.execArgv })
const [issuer] = (await once(child, 'message')) as [string]
const client = { clientId: 'client', clientSecret: 'secret' }
const [settings] = resolveConnections([oidc({ id: 'up', issuer, ...client })], true)
if (settings === undefined) throw new Error('no connection')
const ours = upstream(settings, {
  clock: systemClock,
  outbound: outbound(systemClock),
  reports: { down: () => {}, back: () => {}, hostFailed: () => {} }
})
const flow = { state: STATE, nonce: NONCE, codeVerifier: VERIFIER, startedAt: 0, redirectUri: REDIRECT_URI }
const url = await ours.authorizationUrl(flow, {})
const peer = await discovery(
  new URL(issuer),
  client.clientId,
  client.clientSecret,
  ClientSecretPost(client.clientSecret),
  { execute: [allowInsecureRequests, enableNonRepudiationChecks] }
)

/** The address that the browser brings back. */
async function answer(): Promise<URL> {
  const response = await fetch(url, { redirect: 'manual' })
  return new URL(response.headers.get('location') ?? '')
}

const subjects: Record<string, (at: URL) => Promise<unknown>> = {
  'this plugin': async (at) => await ours.authenticate(at.searchParams, flow),
  'openid-client, signatures checked': async (at) => {
    const tokens = await authorizationCodeGrant(peer, at, {
      pkceCodeVerifier: VERIFIER,
      expectedState: STATE,
      expectedNonce: NONCE,
      idTokenExpected: true
    })
    return await fetchUserInfo(peer, tokens.access_token, tokens.claims()?.sub ?? '')
  },
  'the two requests by fetch alone': async (at) => {
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      code: at.searchParams.get('code') ?? '',
      redirect_uri: REDIRECT_URI,
      code_verifier: VERIFIER,
      client_id: client.clientId,
      client_secret: client.clientSecret
    })
    const tokens = (await (await fetch(`${issuer}/token`, { method: 'POST', body })).json()) as { access_token: string }
    return await (
      await fetch(`${issuer}/userinfo`, { headers: { authorization: `Bearer ${tokens.access_token}` } })
    ).json()
  }
}

/** Milliseconds of this process's processor for each callback; what brings the answers is not counted. */
async function callbackMs(subject: (at: URL) => Promise<unknown>): Promise<number> {
  const answers: URL[] = []
  for (let count = 0; count < CALLBACKS; count++) answers.push(await answer())
  const before = process.cpuUsage()
  for (const at of answers) await subject(at)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / CALLBACKS
}

const rounds = new Map<string, number[]>()
for (let round = 0; round <= ROUNDS; round++) {
  // The first one warms up.
  for (const [name, subject] of Object.entries(subjects)) {
    const ms = await callbackMs(subject)
    if (round > 0) rounds.set(name, [...(rounds.get(name) ?? []), ms])
  }
}
for (const [name, values] of rounds) console.log(`a callback, ${name}: ${median(values).toFixed(2)} ms of a processor`)
child.disconnect()
