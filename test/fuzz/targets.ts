import { tokenRequestReader } from '../../lib/protocol/request-params.ts'
import { localPath } from '../../lib/protocol/same-origin.ts'
/**
 * Fuzz targets of the parsers that read strangers' input, for Jazzer.js (.clusterfuzzlite). Each accepts any bytes. An
 * error out of a target is a finding: a parser refuses only by its own error, and every accepted input satisfies the
 * rule next to it.
 */
import { equal, ok } from 'node:assert/strict'
import { OAuthError } from '../../lib/errors.ts'
import { parseForm } from '../../lib/http/edge/body.ts'
import { cookieValues } from '../../lib/http/edge/cookie-jar.ts'
import { checkAccessTokenClaims, parseTokenHeader } from '../../lib/protocol/access-token.ts'
import { DECLARED_GRANTS } from '../../lib/composition/compose.ts'
import { parameterLimits } from '../../lib/oauth/grants/registry.ts'
import { readAuthenticatorData, readClientData, readAssertion, readRegistration } from '../../lib/protocol/webauthn.ts'
import { spkiOf, decodeCbor, WebauthnError } from '../../lib/protocol/webauthn-key.ts'

const parse = tokenRequestReader(parameterLimits(DECLARED_GRANTS))

/** The parsed value, or `null` if it is refused by the right error. */
function readOr<Read>(Refusal: new (...args: never[]) => Error, read: () => Read): Read | null {
  try {
    return read()
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}

export function jwt(data: Buffer): void {
  const token = data.toString('latin1')
  for (const kind of ['at+jwt', 'JWT'] as const) readOr(OAuthError, () => parseTokenHeader(token, kind))
  const now = 1_800_000_000_000
  const payload = readOr(SyntaxError, () => JSON.parse(data.toString()) as unknown)
  const claims = readOr(OAuthError, () =>
    checkAccessTokenClaims(
      payload,
      { issuer: 'https://auth.example', audience: ['https://api.example'], clockSkewSeconds: 0 },
      now
    )
  )
  if (claims !== null) ok(Object.isFrozen(claims) && claims.exp * 1000 > now)
}

export function webauthn(data: Buffer): void {
  readOr(WebauthnError, () => decodeCbor(data))
  readOr(WebauthnError, () => readClientData(data))
  readOr(WebauthnError, () => readAssertion(data.toString()))
  readOr(WebauthnError, () => readRegistration(data.toString()))
  // Flags that say that a credential and extensions follow, or nothing would be read of them.
  const flagged = Buffer.concat([Buffer.alloc(32), Buffer.from([0xc5]), data])
  for (const bytes of [data, flagged]) {
    const read = readOr(WebauthnError, () => readAuthenticatorData(bytes))
    if (read?.attested !== undefined && read.attested !== null)
      readOr(WebauthnError, () => spkiOf(read.attested?.publicKey ?? new Map()))
  }
}

export function forms(data: Buffer): void {
  const form = readOr(OAuthError, () => parseForm(data.toString()))
  if (form === null) return
  equal(Object.getPrototypeOf(form), null)
  const params = readOr(OAuthError, () => parse(form))
  if (params !== null) for (const value of Object.values(params)) ok(typeof value === 'string' && value !== '')
}

export function cookies(data: Buffer): void {
  for (const value of cookieValues({ headers: { cookie: data.toString('latin1') } }, '__Host-authority_session'))
    ok(!value.includes(';'))
}

export function returnTo(data: Buffer): void {
  const issuer = 'https://auth.example'
  const path = localPath(data.toString(), issuer)
  if (path === null) return
  ok(/^[\x21-\x7e]+$/.test(path))
  equal(new URL(path, issuer).origin, issuer)
  equal(localPath(path, issuer), path)
}
