import type { OAuthError } from '../../errors.ts'
import type { FirstFactorKind } from '../../events.ts'
import type { GrantDeps, TokenResponse } from '../deps.ts'
import { type Issue, issueTokens, reportIssued } from '../issue-tokens.ts'

/** The first factor of a sign-in, and its connection. */
interface By {
  by: FirstFactorKind
  connection?: string | undefined
}

/**
 * Issues the tokens of a user who has just proved their identity, and hands them out once `confirm` resolves. It is
 * asked after the commit, because an event between the check and the commit that ended sign-ins (another password, a
 * disabled account, a second factor) could not end this family. The family ends if it rejects, or resolves to an answer
 * without tokens.
 */
export async function commitTokens<Instead extends OAuthError | null>(
  issue: Issue & By,
  confirm: () => Promise<Instead>,
  deps: GrantDeps
): Promise<TokenResponse | NonNullable<Instead>> {
  const { user, client, methods, origin, by, connection } = issue
  const { sid, response } = await issueTokens(issue, deps)
  const held = { good: false }
  try {
    const instead = await confirm()
    if (instead !== null) return instead
    held.good = true
  } finally {
    if (!held.good) await deps.sessions.revoke(user.id, sid, 'undone', origin)
  }
  deps.accounts.events.emit(
    'authenticated',
    {
      userId: user.id,
      sid,
      clientId: client?.clientId ?? null,
      method: by,
      methods: methods.map(({ method }) => method),
      ...(connection === undefined ? {} : { connection })
    },
    origin
  )
  reportIssued(issue, sid, deps)
  return response
}
