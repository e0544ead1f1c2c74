import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { changePassword } from '../../../accounts/change-password.ts'
import { passkeysIn } from '../../../accounts/factors/deps.ts'
import { freshnessIn, isFreshSignIn } from '../../../accounts/fresh-sign-in.ts'
import { lazily } from '../../../accounts/lazily.ts'
import { addressOf } from '../../../accounts/outbox.ts'
import { sendFirstPasswordLink } from '../../../accounts/reset-password.ts'
import { OAuthError } from '../../../errors.ts'
import type { PageModels } from '../../../pages/model.ts'
import { PASSKEY_ACR } from '../../../protocol/authentication.ts'
import { Password } from '../../edge/schemas.ts'
import type { PageDeps } from '../deps.ts'
import { goOn, type Leave } from '../form-page.ts'
import { required } from '../forms.ts'
import { passkeysOf } from '../passkeys.ts'
import { accountPage, accountPageAfter, passwordLimit, type PersonVisit, signInUrl } from './account-page.ts'

/** For those who have passkeys. */
const passwordRemoval = lazily(async () => await import('../../../accounts/factors/remove-password.ts'))

type Shown = Pick<PageModels['account_password'], 'hasPassword' | 'removal'>

/**
 * Changes the password as `POST /auth/password` does, under one limit with it; and removes it, by a sign-in with a passkey just now, where the person
 * can come back without it.
 */
export function passwordPage (child: FastifyInstance, deps: PageDeps): void {
  const { authorize: { accounts }, browser, link, minLength, offers } = deps
  const on = passkeysOf(deps)

  async function removalOf (visit: PersonVisit): Promise<Shown['removal']> {
    const { person, person: { user }, origin } = visit
    if (on === null || user.passwordHash === null) return null
    const found = await on.factors.store.findFactors(user.id)
    if (passkeysIn(found, on.factors).length === 0) return null
    const isFresh = await isFreshSignIn({ ...freshnessIn(person, origin), acr: PASSKEY_ACR }, accounts)
    const { hasWaysBack } = await passwordRemoval()
    return { possible: hasWaysBack(user, found, { ...accounts, factors: on.factors }), signInUrl: isFresh ? null : signInUrl('accountPassword', visit, deps) }
  }

  async function remove (visit: PersonVisit): Promise<Leave> {
    const { person, locale, origin } = visit
    if (on === null) throw new OAuthError('invalid_request', 'decision: it does not fit.')
    const { removePassword } = await passwordRemoval()
    await removePassword({ ...freshnessIn(person, origin), locale }, { ...accounts, factors: on.factors })
    return await done(visit, accountPageAfter('security', visit, 'password_removed', deps))
  }

  /** The browser was known by the former password, and is so by the new one. */
  async function done ({ request, person: { user } }: PersonVisit, leave: Leave): Promise<Leave> {
    const now = await accounts.users.findById(user.id)
    return async (reply) => {
      if (now !== null) await browser.makeKnown(request, reply, now)
      return await leave(reply)
    }
  }

  accountPage<'account_password', Shown>(child, {
    name: 'account_password',
    path: 'accountPassword',
    summaries: { page: 'Change-password page', form: 'Change the password by a form' },
    body: Type.Object({ current_password: Type.Optional(Password), password: Type.Optional(Password), decision: Type.Optional(Type.Union([Type.Literal('first'), Type.Literal('remove')])) }),
    fields: ['current_password', 'password'],
    async open (visit) {
      const { person: { user }, journey } = visit
      // Nothing can be done here for an account that has neither a password to change nor an address to send a link to.
      if (user.passwordHash === null && !(offers.reset && addressOf(user) !== '')) return goOn(`${link('account')}${journey.query}`)
      return { hasPassword: user.passwordHash !== null, removal: await removalOf(visit) }
    },
    submit (form, visit) {
      const { person: { user, session }, locale, origin } = visit
      if (form.decision === 'first') {
        return {
          limit: { rule: 'passwordReset' },
          async work () {
            await sendFirstPasswordLink(user, { locale, origin }, accounts)
            return 'password_link'
          }
        }
      }
      if (form.decision === 'remove') return { limit: null, work: async () => await remove(visit) }
      const { current_password: currentPassword, password: newPassword } = required(form, ['current_password', 'password'])
      return {
        limit: passwordLimit(user),
        async work () {
          await changePassword({ userId: user.id, sid: session.sid, currentPassword, newPassword, locale, origin }, accounts)
          return await done(visit, accountPageAfter('accountPassword', visit, 'password', deps))
        }
      }
    },
    content: (shown) => ({ minLength, ...shown })
  }, deps)
}
