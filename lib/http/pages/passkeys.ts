import type { Passkeys } from '../../accounts/factors/passkeys.ts'
import type { FactorDeps } from '../../accounts/factors/deps.ts'
import type { OAuthError } from '../../errors.ts'
import type { PasskeyForm, PasskeySignals } from '../../pages/common-model.ts'
import type { UserFactors } from '../../ports/factor-store.ts'
import type { User } from '../../ports/user-store.ts'
import type { PageDeps } from './deps.ts'
import type { Form } from './page-routes.ts'

/** The fields of pages that ask for passkeys. `null`: passkeys are off. */
export function passkeysOf({
  authorize: {
    accounts: { factors }
  }
}: PageDeps): { factors: FactorDeps; passkeys: Passkeys } | null {
  const passkeys = factors?.passkeys ?? null
  return factors === null || passkeys === null ? null : { factors, passkeys }
}

/** A form of a page that asks with these options. */
export function passkeyFormOf(
  options: object,
  { pages }: PageDeps,
  { renewUrl = null, signals = {} }: Partial<Pick<PasskeyForm, 'renewUrl' | 'signals'>> = {}
): PasskeyForm {
  return { options, renewUrl, ...signalsOf(signals, pages) }
}

function signalsOf(signals: PasskeySignals['signals'], { assets: { passkeys } }: PageDeps['pages']): PasskeySignals {
  return { scriptUrl: passkeys?.url ?? '', signals }
}

const CREDENTIAL_ID = /^[A-Za-z0-9_-]{1,1364}$/

/** The signal to the browser about a passkey that no user has: it need not propose that any more. */
export function unknownPasskey(
  { credential = '' }: Form,
  { reason }: OAuthError,
  deps: PageDeps
): PasskeySignals['signals'] {
  const on = passkeysOf(deps)
  if (on === null || reason !== 'unknown_passkey') return {}
  const id = idOf(credential)
  return id === null ? {} : { signalUnknownCredential: { rpId: on.passkeys.rpId, credentialId: id } }
}

function idOf(credential: string): string | null {
  try {
    const { id } = JSON.parse(credential) as { id?: unknown }
    return typeof id === 'string' && CREDENTIAL_ID.test(id) ? id : null
  } catch {
    return null
  }
}

/**
 * The signal to the browser about all passkeys of the user and their present names. The browser hides or deletes each
 * that is not among them, so it gets all of them or none. For a user who has none it gets a signal only if `removed`
 * says that the last one has just been taken away.
 * @see W3C WebAuthn Level 3 §5.1.10
 */
export function acceptedPasskeys(
  { handle, passkeys: listed }: UserFactors,
  { username, name }: User,
  { removed }: { removed: boolean },
  deps: PageDeps
): PasskeySignals | null {
  const on = passkeysOf(deps)
  if (on === null) return null
  if (handle === null || (listed.length === 0 && !removed)) return null
  const about = { rpId: on.passkeys.rpId, userId: Buffer.from(handle).toString('base64url') }
  return signalsOf(
    {
      signalAllAcceptedCredentials: {
        ...about,
        allAcceptedCredentialIds: listed.map(({ credentialId }) => credentialId)
      },
      signalCurrentUserDetails: {
        ...about,
        name: username,
        displayName: typeof name === 'string' && name !== '' ? name : username
      }
    },
    deps.pages
  )
}
