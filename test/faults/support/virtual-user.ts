/**
 * A person with an account, some devices and a browser. It knows only the service's answers, and never makes the same
 * request in parallel except where a test is about that.
 */
import type { Answer, Call, HttpClient } from './http-client.ts'
import { type Entry, named, type Outcome } from './log.ts'
import type { Mailbox } from './mailbox.ts'
import { CALLBACK, CLIENT_ID, ISSUER } from './settings.ts'
import { authorizePath, VERIFIER } from '../../support/openid.ts'

/** The credentials of one device from one sign-in. */
export interface Device {
  /** Digest of the part that all refresh tokens of the family share. */
  family: string
  clientId: string | null
  refreshToken: string
  accessToken: string
  /** On the clock of the log. */
  accessExpiresAt: number
}

export interface VirtualUser {
  readonly name: string
  readonly devices: Device[]
  readonly canBeSignedIn: boolean
  register(): Promise<boolean>
  signIn(): Promise<Device | null>
  /** Gets a code by the hosted form, or by an earlier browser session. */
  authorize(scope?: string): Promise<string | null>
  /** True if a browser session is known. */
  readonly hasBrowser: boolean
  /** Signs out in the browser. */
  signOut(): Promise<Answer | null>
  redeem(code: string): Promise<Device | null>
  rotate(device: Device, options?: { abandonAfterMs?: number }): Promise<Answer>
  refresh(device: Device): Promise<Answer>
  /** `GET` of a path with the access token. */
  look(operation: 'userinfo' | 'sessions' | 'me', device: Device): Promise<Answer>
  introspect(device: Device): Promise<Answer>
  revoke(device: Device): Promise<Answer>
  endSession(by: Device, device: Device): Promise<Answer>
  changePassword(device: Device): Promise<Answer>
  /** `meanwhile` runs in parallel with the change of the password. */
  resetPassword(meanwhile?: () => Promise<void>): Promise<Answer | null>
  signInWithOldPassword(): Promise<void>
  guess(): Promise<Answer>
  /** Its state is unknown from here on. */
  drop(device: Device): void
}

export interface VirtualUserDeps {
  http: HttpClient
  mailbox: Mailbox
  /** Introspects with a confidential client. */
  apiAuthorization: string
  now(): number
}

export function virtualUser(name: string, { http, mailbox, apiAuthorization, now }: VirtualUserDeps): VirtualUser {
  let version = 0
  let password = passwordOf(0)
  /** Further possible passwords besides `password`, if the answer to a change was lost. */
  let maybe: readonly string[] = []
  let former: string | null = null
  let cookie: string | null = null
  let guesses = 0
  const devices: Device[] = []

  function passwordOf(version: number): string {
    return `correct horse battery ${version} of ${name}`
  }
  const login = [
    { rule: 'login', key: name },
    { rule: 'account', key: name }
  ]
  const refreshRule = [{ rule: 'refresh', key: name }]
  const token = (about: Call['about'], form: Record<string, string>, rest: Partial<Call> = {}): Promise<Answer> =>
    http.call({ method: 'POST', path: '/auth/token', form, about: { user: name, ...about }, gave: gaveTokens, ...rest })
  const bearer = (value: string): Record<string, string> => ({ authorization: `Bearer ${value}` })

  function deviceOf({ body }: Answer, clientId: string | null): Device | null {
    const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn } = body
    if (typeof accessToken !== 'string' || typeof expiresIn !== 'number') return null
    // A device without a refresh token can only read, and only the request that created it has its token.
    if (typeof refreshToken !== 'string')
      return {
        family: named(sidOf(accessToken)),
        clientId,
        refreshToken: '',
        accessToken,
        accessExpiresAt: now() + expiresIn * 1000
      }
    const device = {
      family: familyOf(refreshToken),
      clientId,
      refreshToken,
      accessToken,
      accessExpiresAt: now() + expiresIn * 1000
    }
    devices.push(device)
    return device
  }

  function takeTokens(device: Device, { body }: Answer): void {
    if (typeof body['access_token'] !== 'string') return
    device.accessToken = body['access_token']
    device.accessExpiresAt = now() + Number(body['expires_in']) * 1000
    if (typeof body['refresh_token'] === 'string') device.refreshToken = body['refresh_token']
  }

  async function signInWith(candidate: string): Promise<Answer> {
    return await token(
      { operation: 'sign-in', password: named(candidate), attempts: login },
      { grant_type: 'password', username: name, password: candidate }
    )
  }

  /** Determines which of two passwords is valid, by the service's answers. */
  function isPassword(accepted: string): void {
    if (accepted !== password) former = password
    password = accepted
    maybe = []
  }

  function changed(next: string, answer: Answer): void {
    if (isYes(answer)) {
      former = password
      password = next
      maybe = []
      cookie = null
    } else if (isLost(answer)) {
      maybe = [next]
    }
  }

  const user: VirtualUser = {
    name,
    devices,
    get canBeSignedIn() {
      return maybe.length === 0
    },

    async register() {
      const answer = await http.call({
        method: 'POST',
        path: '/auth/register',
        json: { username: name, password },
        about: {
          operation: 'register',
          user: name,
          password: named(password),
          attempts: [{ rule: 'register', key: name }]
        }
      })
      // The name is taken by an earlier request of this user whose answer was lost.
      return isYes(answer) || statusOf(answer) === 409
    },

    async signIn() {
      for (const candidate of [...maybe, password]) {
        const answer = await signInWith(candidate)
        if (isYes(answer)) {
          isPassword(candidate)
          return deviceOf(answer, null)
        }
        if (statusOf(answer) !== 400) return null
      }
      return null
    },

    get hasBrowser() {
      return cookie !== null
    },

    async authorize(scope = 'openid offline_access') {
      const about = { operation: 'authorize' as const, user: name }
      const path = authorizePath({ scope })
      if (cookie === null) {
        if (maybe.length > 0) return null
        const form = await http.call({
          method: 'POST',
          path: path.replace('/auth/authorize', '/auth/login'),
          form: { username: name, password },
          headers: { origin: ISSUER, 'sec-fetch-site': 'same-origin' },
          about: { ...about, password: named(password), attempts: login },
          gave: (answer) => ({ family: named(sessionCookie(answer) ?? '') })
        })
        cookie = isYes(form) ? sessionCookie(form) : null
        if (cookie === null) return null
      }
      const answer = await http.call({
        method: 'GET',
        path,
        headers: { cookie, 'sec-fetch-site': 'none' },
        about: { ...about, family: named(cookie) },
        means: authorizationOutcome,
        gave: (answer) => {
          const code = codeOf(answer)
          return code === null ? undefined : { code: named(code) }
        }
      })
      if (isLost(answer)) return null
      const code = codeOf(answer)
      if (code === null) cookie = null
      return code
    },

    async redeem(code) {
      const answer = await token(
        { operation: 'redeem', code: named(code), attempts: refreshRule },
        {
          grant_type: 'authorization_code',
          client_id: CLIENT_ID,
          redirect_uri: CALLBACK,
          code_verifier: VERIFIER,
          code
        }
      )
      return isYes(answer) ? deviceOf(answer, CLIENT_ID) : null
    },

    async rotate(device, options = {}) {
      const { refreshToken, family, clientId } = device
      const answer = await token(
        { operation: 'rotate', family, token: named(refreshToken), attempts: refreshRule },
        {
          grant_type: 'refresh_token',
          refresh_token: refreshToken,
          ...(clientId === null ? {} : { client_id: clientId })
        },
        options
      )
      if (isYes(answer)) takeTokens(device, answer)
      else if (!isLost(answer) && statusOf(answer) !== 429) user.drop(device)
      return answer
    },

    async refresh(device) {
      const answer = await http.call({
        method: 'POST',
        path: '/auth/refresh',
        headers: bearer(device.refreshToken),
        about: {
          operation: 'refresh',
          user: name,
          family: device.family,
          token: named(device.refreshToken),
          attempts: refreshRule
        }
      })
      if (isYes(answer)) takeTokens(device, answer)
      else if (statusOf(answer) === 401) user.drop(device)
      return answer
    },

    async look(operation, device) {
      const path = operation === 'me' ? '/me' : `/auth/${operation}`
      return await http.call({
        method: 'GET',
        path,
        headers: bearer(device.accessToken),
        about: { operation, user: name, family: device.family, expiresAt: device.accessExpiresAt }
      })
    },

    async introspect(device) {
      return await http.call({
        method: 'POST',
        path: '/auth/introspect',
        headers: { authorization: apiAuthorization },
        form: { token: device.accessToken },
        about: { operation: 'introspect', user: name, family: device.family, expiresAt: device.accessExpiresAt }
      })
    },

    async revoke(device) {
      return await http.call({
        method: 'POST',
        path: '/auth/revoke',
        form: { token: device.refreshToken, ...(device.clientId === null ? {} : { client_id: device.clientId }) },
        about: { operation: 'revoke', user: name, family: device.family }
      })
    },

    async endSession(by, device) {
      return await http.call({
        method: 'DELETE',
        path: `/auth/sessions/${sidOf(device.accessToken)}`,
        headers: bearer(by.accessToken),
        about: { operation: 'end-session', user: name, family: device.family }
      })
    },

    async changePassword(device) {
      const next = passwordOf(++version)
      const answer = await http.call({
        method: 'POST',
        path: '/auth/password',
        headers: bearer(device.accessToken),
        json: { current_password: password, new_password: next },
        about: {
          operation: 'change-password',
          user: name,
          family: device.family,
          password: named(password),
          newPassword: named(next),
          expiresAt: device.accessExpiresAt,
          attempts: login
        }
      })
      changed(next, answer)
      return answer
    },

    async signOut() {
      if (cookie === null) return null
      const answer = await http.call({
        method: 'DELETE',
        path: '/auth/session',
        headers: { cookie, origin: ISSUER, 'sec-fetch-site': 'same-origin' },
        about: { operation: 'sign-out', user: name, family: named(cookie) }
      })
      if (isYes(answer)) cookie = null
      return answer
    },

    async resetPassword(meanwhile = async () => {}) {
      const mail = mailbox.next(name)
      const asked = await http.call({
        method: 'POST',
        path: '/auth/password-reset',
        json: { username: name },
        about: { operation: 'reset-request', user: name, attempts: [{ rule: 'passwordReset', key: name }] }
      })
      const token = isYes(asked) ? await mail.token : null
      mail.forget()
      // The message may be lost with its process. A person would ask again.
      if (token === null) return null
      const confirm = async (next: string): Promise<Answer> =>
        await http.call({
          method: 'POST',
          path: '/auth/password-reset/confirm',
          json: { token, password: next },
          about: {
            operation: 'reset-confirm',
            user: name,
            newPassword: named(next),
            mail: named(token),
            attempts: refreshRule
          }
        })
      // Two parallel requests with different passwords, as from a thief and the owner. One may succeed.
      const nexts = [passwordOf(++version), passwordOf(++version)] as const
      const [first, second] = await Promise.all([confirm(nexts[0]), confirm(nexts[1]), meanwhile()])
      const answer = [first, second].find(isYes) ?? [first, second].find(isLost) ?? first
      if (isYes(first) === isYes(second)) {
        // In one case the service is at fault. In the other, both messages may be lost.
        const candidates = nexts.filter((_next, index) => !wasRefused(index === 0 ? first : second))
        if (candidates.length > 0) maybe = candidates
        if (isYes(answer)) cookie = null
      } else {
        changed(isYes(first) ? nexts[0] : nexts[1], answer)
      }
      if (isYes(answer)) {
        const again = passwordOf(++version)
        changed(again, await confirm(again))
      }
      return answer
    },

    async signInWithOldPassword() {
      if (former !== null && maybe.length === 0) await signInWith(former)
    },

    async guess() {
      return await signInWith(`a wrong guess, number ${++guesses}`)
    },

    drop(device) {
      const index = devices.indexOf(device)
      if (index !== -1) devices.splice(index, 1)
    }
  }
  return user
}

export const statusOf = ({ outcome }: Answer): number => (outcome.kind === 'answer' ? outcome.status : 0)
/** The request was certainly refused. */
const wasRefused = (answer: Answer): boolean => !isYes(answer) && !isLost(answer)
export const isYes = (answer: Answer): boolean => statusOf(answer) >= 200 && statusOf(answer) < 400
export const isLost = (answer: Answer): boolean => statusOf(answer) === 0 || statusOf(answer) >= 500

const familyOf = (refreshToken: string): string => named(refreshToken.split('.')[0] ?? '')

function gaveTokens({ body }: Answer): Entry['gave'] {
  const { refresh_token: refreshToken, access_token: accessToken } = body
  if (typeof refreshToken === 'string') return { family: familyOf(refreshToken), token: named(refreshToken) }
  return typeof accessToken === 'string' ? { family: named(sidOf(accessToken)) } : undefined
}

/** A redirect with a code is a success. A redirect to the sign-in page means that the session was refused. */
function authorizationOutcome({ outcome, headers: { location } }: Answer): Outcome {
  if (outcome.kind !== 'answer' || outcome.status !== 303) return outcome
  if (location?.startsWith(CALLBACK) !== true) return { kind: 'answer', status: 401, error: 'login_required' }
  const error = new URL(location).searchParams.get('error')
  if (error === null) return outcome
  return error === 'temporarily_unavailable'
    ? { kind: 'answer', status: 503, error, retryAfter: '1' }
    : { kind: 'answer', status: error === 'server_error' ? 500 : 400, error }
}

function sessionCookie({ headers }: Answer): string | null {
  const cookies = headers['set-cookie'] ?? []
  return cookies.map((cookie) => cookie.split(';')[0] ?? '').find((cookie) => /session_[\w-]+=/.test(cookie)) ?? null
}

function codeOf({ headers: { location } }: Answer): string | null {
  return location?.startsWith(CALLBACK) === true ? new URL(location).searchParams.get('code') : null
}

function sidOf(accessToken: string): string {
  const { sid } = JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString()) as { sid?: string }
  return sid ?? ''
}
