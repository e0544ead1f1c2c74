import type { FactorDeps } from '../../../accounts/factors/deps.ts'
import type { Passkeys } from '../../../accounts/factors/passkeys.ts'
import type { MessageCause } from '../../../accounts/outbox.ts'
import type { SignedInPerson } from '../../../sessions/browser-sessions.ts'
import type { PageDeps, Visit } from '../deps.ts'

interface NewPasskey extends MessageCause {
  person: SignedInPerson
  credential: string
  name: string
}

/** Stores a passkey and renews the sign-in, which has just been proved by it. */
export async function addPasskey(
  { person: { user, session }, ...added }: NewPasskey,
  { request, reply }: Pick<Visit, 'request' | 'reply'>,
  { factors, passkeys }: { factors: FactorDeps; passkeys: Passkeys },
  { authorize, browser }: PageDeps
): Promise<void> {
  const { proof } = await passkeys.add({ user, sid: session.sid, ...added }, { ...authorize.accounts, factors })
  await browser.renew(request, reply, user.id, [
    ...session.methods.filter(({ method }) => method !== proof.method),
    proof
  ])
}
