/**
 * The relying party that the suite tests: the library with one connection, to the suite, and a person who signs in by
 * it. For each module run-plan.ts starts it as a process of its own, so that nothing is known of the provider before.
 * Arguments: the issuer of the suite, and a `Visit` as JSON. It writes what happened, a JSON array of texts, to its
 * output, and the log to its error output.
 */
import Fastify from 'fastify'
import { oidc } from '../lib/connections/index.ts'
import authPlugin, { memoryUserStore } from '../lib/index.ts'
import { testBrowser } from '../test/support/browser.ts'
import { CONNECTION, CREDENTIALS, RELYING_PARTY } from './clients.ts'
import type { Visit } from './plans.ts'

const [suite, visit] = process.argv.slice(2)
if (suite === undefined || visit === undefined) throw new Error('issuer of the suite, and the visit')
const { times = 1, onlyBegins = false, userinfo = true, responseMode = 'query' } = JSON.parse(visit) as Visit

const app = Fastify({ logger: { stream: process.stderr } })
const users = memoryUserStore()
const happened: string[] = []
await app.register(authPlugin, {
  issuer: RELYING_PARTY,
  users,
  secret: 'the relying party has one secret for all that it seals',
  connections: [
    oidc({
      id: CONNECTION,
      issuer: suite,
      clientId: CREDENTIALS.client.client_id,
      clientSecret: CREDENTIALS.client.client_secret,
      userinfo,
      responseMode
    })
  ]
})
app.authority.on('connection_failed', ({ reason }) => {
  happened.push(`refused (${reason})`)
})
app.authority.on('authenticated', ({ userId }) => {
  happened.push(`signed in ${userId}`)
})
await app.ready()

const results: string[] = []
for (let time = 0; time < times; time++) results.push(await signIn())
await app.close()
console.log(JSON.stringify(results))

/** A person presses the button of the connection, and comes back with the answer of the suite. */
async function signIn(): Promise<string> {
  happened.length = 0
  const browser = testBrowser(app, RELYING_PARTY)
  const begun = await browser.get(`/auth/connect/${CONNECTION}`, { 'sec-fetch-site': 'same-origin' })
  const there = begun.headers.location
  // A press of the button alone is under no limit, so there is no event.
  if (there === undefined) return `refused (${begun.statusCode === 503 ? 'outage' : begun.statusCode})`
  if (onlyBegins) return there.startsWith(`${suite}authorize?`) ? 'sent to the provider' : `sent to ${there}`
  const answer = await fetch(there, { redirect: 'manual' })
  const fromThere = { 'sec-fetch-site': 'cross-site', origin: new URL(there).origin }
  const location = answer.headers.get('location')
  if (location !== null) await browser.get(location, fromThere)
  else {
    const { action, fields } = formOf(await answer.text())
    await browser.follow(await browser.submit(action, fields, fromThere))
  }
  const [outcome = 'nothing happened', ...more] = happened
  const [, userId] = /^signed in (.+)$/.exec(outcome) ?? []
  if (userId === undefined || more.length > 0) return happened.join(', ')
  // The account page is shown to those who are signed in.
  const { statusCode } = await browser.get('/auth/account')
  const user = await users.findById(userId)
  if (statusCode !== 200) return `signed in without a session (${statusCode})`
  return userinfo && user?.name !== 'Demo T. User' ? 'signed in without the claims of userinfo' : 'signed in'
}

/** The page of `response_mode=form_post`. @see OAuth 2.0 Form Post Response Mode §2 */
function formOf(html: string): { action: string; fields: Record<string, string> } {
  const decoded = (text = ''): string =>
    text.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
  const [, action] = /<form[^>]* action="([^"]*)"/.exec(html) ?? []
  const inputs = [...html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)]
  return {
    action: decoded(action),
    fields: Object.fromEntries(inputs.map(([, field, value]) => [decoded(field), decoded(value)]))
  }
}
