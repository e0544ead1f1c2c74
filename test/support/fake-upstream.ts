import { UpstreamError } from '../../lib/errors.ts'
import { oidc } from '../../lib/connections/index.ts'
import type { ConnectionOption } from '../../lib/ports/provider.ts'
import {
  type Upstream,
  UPSTREAM,
  type UpstreamAssertion,
  type UpstreamFlow,
  type UpstreamResult,
  type UpstreamWishes
} from '../../lib/ports/upstream.ts'

export const SECRET = 'a secret of the tests with 32 bytes or more'

/** A fake provider with answers that a test sets, which records its calls. */
export interface FakeUpstream {
  upstream: Upstream
  /** The person who signs in at the provider. A function decides at the callback, or throws. */
  person:
    | (Partial<UpstreamAssertion> & { subject: string })
    | (() => Promise<Partial<UpstreamAssertion> & { subject: string }>)
  claims: Record<string, unknown>
  tokens: { accessToken: string; refreshToken?: string; idToken?: string }
  begun: Array<{ flow: UpstreamFlow; wishes: UpstreamWishes }>
  /** The answers that were redeemed. */
  answers: string[]
  /** Tokens that were revoked at the provider. */
  revoked: string[]
  /** Makes the provider throw instead of giving an address to go to. */
  down: boolean
}

export const PROVIDER = 'https://sso.example.com'

/**
 * A provider that does what the test says, without HTTP. It accepts `code=good` and ID tokens that begin with `good`,
 * and nothing else.
 */
export function fakeUpstream(
  person: FakeUpstream['person'] = { subject: 'ann-1', email: 'ann@example.com' }
): FakeUpstream {
  /** The person as they are now. */
  const said = async (): Promise<Omit<UpstreamResult, 'tokens'>> => {
    const { subject, ...more } = typeof fake.person === 'function' ? await fake.person() : fake.person
    return {
      assertion: { issuer: PROVIDER, emailAuthoritative: false, profile: {}, subject, ...more },
      claims: { sub: subject, ...fake.claims }
    }
  }
  const fake: FakeUpstream = {
    person,
    claims: {},
    tokens: { accessToken: 'upstream-access-token-canary', refreshToken: 'upstream-refresh-token-canary' },
    begun: [],
    answers: [],
    down: false,
    revoked: [],
    upstream: {
      async revoke(token) {
        if (fake.down) throw new UpstreamError('outage', 'It can not be reached.')
        fake.revoked.push(token)
      },
      async authorizationUrl(flow, wishes) {
        if (fake.down) throw new UpstreamError('outage', 'It can not be reached.')
        fake.begun.push({ flow, wishes })
        return `${PROVIDER}/authorize?${new URLSearchParams({ state: flow.state, redirect_uri: flow.redirectUri }).toString()}`
      },
      async authenticate(answer, flow) {
        fake.answers.push(String(answer))
        if (fake.down) throw new UpstreamError('outage', 'It can not be reached.')
        if (answer.get('state') !== flow.state) throw new UpstreamError('mismatch', 'Another state.')
        if (answer.has('error')) throw new UpstreamError('denied', 'The provider said no.')
        if (answer.get('code') !== 'good') throw new UpstreamError('exchange', 'The code is no good.')
        return { ...(await said()), tokens: fake.tokens }
      },
      async verifyIdToken(token) {
        fake.answers.push(token)
        if (fake.down) throw new UpstreamError('outage', 'It can not be reached.')
        if (!token.startsWith('good')) throw new UpstreamError('id_token', 'The token is no good.')
        return { ...(await said()), issuedAt: 1 }
      }
    }
  }
  return fake
}

/** The option of a connection to it. `more`: overrides of the provider's fields. */
export function fakeConnection(
  fake: FakeUpstream,
  options: Partial<Parameters<typeof oidc>[0]> = {},
  more: { provesFreshness?: boolean } = {}
): ConnectionOption {
  const made = oidc({
    id: 'acme',
    name: 'Acme',
    issuer: PROVIDER,
    clientId: 'us',
    clientSecret: 'our-secret',
    ...options
  })
  return {
    ...made,
    provider: Object.assign({ ...made.provider, provesFreshness: false, ...more }, { [UPSTREAM]: fake.upstream })
  }
}
