import type { User } from '../../ports/user-store.ts'
import { addressed, type MessageCause } from '../outbox.ts'
import type { PasskeyDeps } from './passkeys.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * Tells the user of a wrong second factor, because its sender knows the password, or of a passkey that may have been
 * copied. Of each at most once a day, so that a stranger can't fill the mailbox with these messages.
 */
export async function tellOfFailure(
  user: User,
  { origin, locale }: MessageCause,
  { outbox, messageBound, onError }: Pick<PasskeyDeps, 'outbox' | 'messageBound' | 'onError'>,
  kind: 'second_factor_failed' | 'passkey_counter_regressed' = 'second_factor_failed'
): Promise<void> {
  if (outbox === null) return
  const post = async (): Promise<void> => {
    outbox.post({ kind, user: addressed(user), locale, origin })
  }
  await messageBound.send([kind, user.id], post, { spacingMs: DAY_MS }).catch((error: unknown) => {
    onError(error, 'the message about a refused second factor could not be sent')
  })
}
