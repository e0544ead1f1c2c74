import type { Passkeys } from '../../../accounts/factor-kinds.ts'
import type { PasskeyForm, PasskeySignals } from '../../../pages/common-model.ts'
import type { UserFactors } from '../../../ports/factor-store.ts'
import type { User } from '../../../ports/user-store.ts'
import type { PageDeps } from '../../../http/pages/deps.ts'

/** A form of a page that asks with these options. */
export function passkeyFormOf(
  options: object,
  { pages }: Pick<PageDeps, 'pages'>,
  { renewUrl = null, signals = {} }: Partial<Pick<PasskeyForm, 'renewUrl' | 'signals'>> = {}
): PasskeyForm {
  return { options, renewUrl, ...signalsOf(signals, pages) }
}

function signalsOf(signals: PasskeySignals['signals'], { assets: { passkeys } }: PageDeps['pages']): PasskeySignals {
  return { scriptUrl: passkeys?.url ?? '', signals }
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
  passkeys: Passkeys | null,
  { pages }: Pick<PageDeps, 'pages'>
): PasskeySignals | null {
  if (passkeys === null || handle === null || (listed.length === 0 && !removed)) return null
  const about = { rpId: passkeys.rpId, userId: Buffer.from(handle).toString('base64url') }
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
    pages
  )
}
