/** A command line tool that signs its user in on any device with a browser, and calls the API. */
import { setTimeout } from 'node:timers/promises'

const { ISSUER = 'http://localhost:3000' } = process.env

interface Answer {
  [member: string]: string
}

async function post(path: string, form: Record<string, string>): Promise<Answer> {
  const body = new URLSearchParams({ client_id: 'acme-cli', ...form })
  return (await (await fetch(`${ISSUER}${path}`, { method: 'POST', body })).json()) as Answer
}

const { device_code = '', user_code, verification_uri, interval } = await post('/auth/device', { scope: 'openid' })
console.log(`Open ${verification_uri} and enter ${user_code}`)

let seconds = Number(interval)
let answer: Answer
do {
  await setTimeout(seconds * 1000)
  answer = await post('/auth/token', { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code })
  if (answer['error'] === 'slow_down') seconds += 5
} while (answer['error'] === 'slow_down' || answer['error'] === 'authorization_pending')

if (answer['error'] !== undefined) throw new Error(answer['error'])
const me = await fetch(`${ISSUER}/me`, { headers: { authorization: `Bearer ${answer['access_token']}` } })
console.log(`Signed in: ${await me.text()}`)
