/**
 * Checks that no secret or proof of a second factor appears in a log line, an event or a URL, on success and on
 * failure.
 */
import t from '../support/tap.ts'
import { memoryFactorStore, memoryUserStore } from '../../lib/index.ts'
import type { FactorStore } from '../../lib/ports/factor-store.ts'
import { softPasskey } from '../../lib/testing/index.ts'
import { bearer, ISSUER, PASSWORD, signUp, testApp } from '../support/app.ts'
import { testBrowser } from '../support/browser.ts'
import { everything } from '../support/canary.ts'
import { codeFor, enrol, formOf, logIn, codesIn } from '../support/factors.ts'
import { askingForm } from '../support/passkey-pages.ts'

const MFA_GRANT = 'urn:fastify-authority:grant-type:mfa'
const PASSKEY_GRANT = 'urn:fastify-authority:grant-type:passkey'

/** Every string in a value, however deep. */
function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : []
}

// covers TOTP-08 ASVS-16.2.5
t.test('keeps second-factor keys, codes and credentials out of logs, events and URLs', async (t) => {
  const lines: string[] = []
  const addresses: string[] = []
  const secrets = new Map<string, string>()
  const broken = new Set<keyof FactorStore>()
  const factors = new Proxy(memoryFactorStore(), {
    get(target, name: keyof FactorStore) {
      if (broken.has(name))
        return async (...given: unknown[]) => {
          throw Object.assign(new Error('the server is gone'), { code: 'ECONNREFUSED', length: given.length })
        }
      return Reflect.get(target, name) as unknown
    }
  })
  const users = memoryUserStore()
  const subject = await testApp(
    { users, factors, emailSignIn: {}, mfa: { rememberDevice: {} }, registration: { username: 'email' } },
    {
      // Numbers of milliseconds can look like a code.
      logger: {
        level: 'trace',
        timestamp: false,
        base: undefined,
        serializers: { req: everything as never, res: ({ statusCode }: { statusCode: number }) => ({ statusCode }) },
        stream: {
          write(line: string) {
            lines.push(line.replace(/"responseTime":[\d.]+/, ''))
          }
        }
      }
    } as never,
    (host) => {
      host.addHook('onSend', async (request, reply, payload) => {
        addresses.push(request.url, String(reply.getHeader('location') ?? ''))
        return payload
      })
    }
  )
  t.teardown(subject.close)
  const { app, clock, messages } = subject
  const keep = (name: string, value: unknown): void => {
    for (const [index, one] of stringsIn(value).entries()) if (one.length >= 6) secrets.set(`${name} ${index}`, one)
  }
  const browser = testBrowser(app)
  const cookies = (): void => {
    for (const [name, value] of browser.cookies) keep(`cookie ${name}`, value)
  }
  const typed = async (url: string, fields: Record<string, string>, status: number): Promise<string> => {
    for (const [name, value] of Object.entries(fields))
      if (!['username', 'remember', 'decision', 'name'].includes(name)) keep(`field ${name} of ${url}`, value)
    const reply = await browser.submit(url, fields)
    t.equal(reply.statusCode, status, `${url} ${Object.keys(fields).join()}`)
    cookies()
    return reply.body
  }

  const { sub } = await signUp(app, 'ann@example.com')
  await users.setEmailVerified?.(sub)
  await logIn(browser, 'ann@example.com')
  cookies()
  const enrolling = formOf((await browser.get('/auth/security/totp')).body)
  await typed(enrolling.action, { ...enrolling.fields, code: '135790' }, 400)
  const { secret, codes } = await enrol(subject, browser)
  cookies()
  keep('key', secret)
  keep('recovery codes', [codes, codes.map((code) => code.replaceAll('-', ''))])
  const code = (): string => codeFor(secret, clock.now())
  keep('code', code())

  const { body: adding } = await browser.get('/auth/security/passkeys')
  const form = askingForm(adding)
  const passkey = softPasskey({ origin: ISSUER })
  const credential = form === null ? null : passkey.create(form.options)
  const { transports: _, ...created } = credential?.response ?? {}
  keep('creation', [form?.options.challenge, form?.options.user.id, credential?.id, created])
  await typed(form?.action ?? '', { credential: JSON.stringify({ ...credential, id: 'another-id' }) }, 400)
  await typed(form?.action ?? '', { credential: JSON.stringify(credential) }, 303)
  await typed(formOf((await browser.get('/auth/security')).body).action, { decision: 'codes' }, 303)
  const renewed = codesIn((await browser.get('/auth/security')).body)
  t.equal(renewed.length, 10)
  keep('new codes', renewed)

  for (const how of ['wrong', 'replayed', 'recovery', 'outage', 'right'] as const) {
    browser.cookies.clear()
    clock.step(30_000)
    await logIn(browser, 'ann@example.com')
    cookies()
    if (how === 'wrong') await typed('/auth/second-factor', { code: '246801' }, 400)
    if (how === 'replayed') {
      await typed('/auth/second-factor', { code: code(), remember: 'on' }, 303)
      browser.cookies.clear()
      await logIn(browser, 'ann@example.com')
      await typed('/auth/second-factor', { code: code() }, 400)
    }
    if (how === 'recovery') await typed('/auth/second-factor', { recovery_code: codes[0] ?? '' }, 400)
    if (how === 'outage') {
      broken.add('useTotp')
      await typed('/auth/second-factor', { code: code() }, 503)
      broken.delete('useTotp')
    }
    if (how === 'right') await typed('/auth/second-factor', { code: code() }, 303)
  }

  const asked = askingForm((await testBrowser(app).get('/auth/login')).body)
  const assertion = asked === null ? null : passkey.get(asked.options)
  keep('assertion', [asked?.options.challenge, assertion])
  for (const status of [303, 400]) {
    const reply = await testBrowser(app).submit('/auth/login', { credential: JSON.stringify(assertion) })
    t.equal(reply.statusCode, status)
  }
  const token = async (payload: Record<string, string>): Promise<Record<string, string>> =>
    (await app.inject({ method: 'POST', url: '/auth/token', payload })).json()
  clock.step(30_000)
  const needed = await token({ grant_type: 'password', username: 'ann@example.com', password: PASSWORD })
  keep('mfa_token', needed.mfa_token)
  keep('options of the grant', (needed as { passkey_options?: { challenge: string } }).passkey_options?.challenge)
  await token({ grant_type: MFA_GRANT, mfa_token: needed.mfa_token ?? '', otp: '975310' })
  keep('otp', '975310')
  const tokens = await token({ grant_type: MFA_GRANT, mfa_token: needed.mfa_token ?? '', otp: code() })
  keep('tokens', [tokens.access_token, tokens.refresh_token])
  t.ok(tokens.access_token)
  await token({ grant_type: PASSKEY_GRANT, credential: JSON.stringify(assertion) })
  const more = (
    await app.inject({ method: 'POST', url: '/auth/factors/totp', headers: bearer(tokens.access_token ?? '') })
  ).json<{ secret: string; enrolment: string }>()
  keep('JSON enrolment', [more.secret, more.enrolment])
  t.ok(more.secret)

  await app.authority.removeFactor(sub, 'nothing-like-it')
  browser.cookies.clear()
  await typed('/auth/email-code', { username: 'ann@example.com' }, 303)
  const sent = await messages.next('sign_in_code')
  keep('code by email', [sent.code, sent.code.replace(' ', '')])
  await typed('/auth/email-code', { code: '86420864' }, 400)
  const inLink = new URL(sent.url ?? '').searchParams.get('token') ?? ''
  keep('token of the link', inLink)
  await browser.get(sent.url ?? '')
  await typed('/auth/email-code', { code: sent.code }, 303)

  t.ok(
    secrets.size > 50 && lines.length > 60 && subject.events.length > 15,
    `${secrets.size} secrets, ${lines.length} lines, ${subject.events.length} events`
  )
  // Only the URL of the emailed link contains a token, and the log hides it.
  const seen = {
    log: lines.join(''),
    events: JSON.stringify(subject.events),
    addresses: addresses.filter((address) => !address.startsWith('/auth/email-link?token=')).join('\n')
  }
  for (const [name, value] of secrets) {
    const exactly = new RegExp(`(?<![\\w-])${value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w-])`)
    for (const [where, text] of Object.entries(seen))
      if (value.length < 10 ? exactly.test(text) : text.includes(value)) t.fail(`${name} is in the ${where}: ${value}`)
  }
  t.match(seen.log, /token=\*\*\*/)
})
