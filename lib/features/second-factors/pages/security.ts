import { newKindsOf, passkeysOf, type ProvingDeps } from '../deps.ts'
import { hasFactor } from '../../../protocol/second-factors.ts'
import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { listFactors, mustKeepOne, removeFactor, renameFactor } from '../manage-factors.ts'
import { replaceRecoveryCodes, turnTwoStepOff, turnTwoStepOn, twoStepNow } from '../two-step.ts'
import { forgetDevices } from '../second-step.ts'
import { freshnessIn, mayChange, requireProof } from '../../../accounts/fresh-sign-in.ts'
import { OAuthError } from '../../../errors.ts'
import type { AccountModel } from '../../../pages/account-models.ts'
import type { AccountFactor, AccountPasskey } from '../options.ts'
import type { PageModels } from '../../../pages/model.ts'
import { isFirstFactor } from '../../../protocol/authentication.ts'
import { FactorName } from '../../../http/edge/schemas.ts'
import type { PageDeps } from '../../../http/pages/deps.ts'
import { goOn, withQuery } from '../../../http/pages/form-page.ts'
import { queryParam, required } from '../../../http/pages/page-routes.ts'
import { acceptedPasskeys, shownCodes } from './parts.ts'
import { accountPage, noteOf, type PersonVisit, signInUrl } from '../../../http/pages/account-page.ts'

type Overview = Omit<PageModels['account_security'], keyof AccountModel>

/** The owner of new recovery codes, and the page that shows them. */
export const whose = ({ person: { user, session }, journey: { query } }: PersonVisit, { link }: PageDeps) => ({
  user,
  sid: session.sid,
  url: `${link('security')}${query}`
})

async function requireFresh({ person, origin }: PersonVisit, accounts: ProvingDeps): Promise<void> {
  await requireProof('factors', freshnessIn(person, origin), accounts)
}

/** The URL at which the user signs in again before a change. `null`: the present sign-in is fresh enough. */
export async function signInAgainUrl(
  path: 'security' | 'securityTotp',
  visit: PersonVisit,
  deps: PageDeps,
  accounts: ProvingDeps
): Promise<string | null> {
  return (await mayChange('factors', freshnessIn(visit.person, visit.origin), accounts))
    ? null
    : signInUrl(path, visit, deps)
}

/**
 * `GET` and `POST /auth/security`: the person's passkeys and second factors. A change requires a fresh sign-in
 * (`requireProof`).
 */
export function securityPage(child: FastifyInstance, deps: PageDeps, accounts: ProvingDeps): void {
  const codes = shownCodes(deps)
  const passkeys = passkeysOf(accounts)
  const newKinds = newKindsOf(accounts)
  const { browser, link } = deps
  accountPage<'account_security', Overview>(
    child,
    {
      name: 'account_security',
      path: 'security',
      summaries: { page: 'Page of the second factors', form: 'Change second factors by a form' },
      errors: {
        form: {
          400: 'invalid_request',
          401: 'insufficient_user_authentication',
          404: 'not_found',
          409: 'invalid_request'
        }
      },
      what: {
        page:
          "The person's second factors, and the number of recovery codes that are left. Exists if `GET " +
          '/auth/account` does and `factors` is set.',
        form:
          '`decision=rename` with `factor` and `name` renames a factor. `decision=remove` with `factor` ' +
          'removes it. `decision=codes` replaces all recovery codes, and leads to the page with the new codes. It ' +
          'needs a session of the last five minutes, with the second factor if the account has any.'
      },
      body: Type.Object({
        factor: Type.Optional(Type.String({ maxLength: 128 })),
        name: Type.Optional(FactorName),
        decision: Type.Union([
          Type.Literal('rename'),
          Type.Literal('remove'),
          Type.Literal('codes'),
          Type.Literal('forget'),
          Type.Literal('two_step_on'),
          Type.Literal('two_step_off')
        ])
      }),
      fields: [],
      passkeys: passkeys === null ? undefined : { renewUrl: null },
      async open(visit, form) {
        const {
          person: { user },
          request
        } = visit
        const again = codes.areSaved(visit) || form !== null ? null : codes.again(visit, whose(visit, deps))
        if (again !== null) return again
        // Reads all factors in one query, because the browser hides each passkey that is not in the list.
        const found = await accounts.factors.store.findFactors(user.id)
        const { on, because } = await twoStepNow(user, found, accounts)
        const isAsked = on && hasFactor(found)
        const backUrl = `${link('security')}${visit.journey.query}`
        const removeUrl = (id: string): string => withQuery(backUrl, { remove: id })
        const wanted = form === null ? queryParam(request, 'remove') : ''
        const removed = [...found.totp, ...found.passkeys].find(({ id }) => id === wanted)
        return {
          factors: found.totp.map(({ id, name, createdAt, lastUsedAt, disabled }): AccountFactor => ({
            id,
            name,
            createdAt,
            lastUsedAt,
            disabled,
            removeUrl: removeUrl(id)
          })),
          passkeys: found.passkeys.map(({ id, name, createdAt, lastUsedAt, backedUp }): AccountPasskey => ({
            id,
            name,
            createdAt,
            lastUsedAt,
            synced: backedUp,
            removeUrl: removeUrl(id)
          })),
          hasPassword: user.passwordHash !== null,
          mustKeepOne: found.totp.length + found.passkeys.length === 1 && (await mustKeepOne(user, accounts)),
          twoStep: { on: isAsked, offers: because === 'chosen' ? 'off' : !on && hasFactor(found) ? 'on' : null },
          recoveryCodesLeft: isAsked ? found.recoveryCodesLeft : null,
          canForget: accounts.factors.remembered !== null && isAsked,
          addPasskeyUrl: newKinds.passkeys === null ? null : `${link('securityPasskeys')}${visit.journey.query}`,
          passkeySignals: acceptedPasskeys(
            found,
            user,
            { removed: noteOf(request) === 'passkey_removed' },
            passkeys,
            deps
          ),
          removing:
            removed === undefined
              ? null
              : {
                  id: removed.id,
                  name: removed.name,
                  isPasskey: found.passkeys.some(({ id }) => id === removed.id),
                  backUrl
                },
          enrolUrl: newKinds.apps === null ? null : `${link('securityTotp')}${visit.journey.query}`,
          signInUrl: await signInAgainUrl('security', visit, deps, accounts)
        }
      },
      async submit(form, visit) {
        const {
          request,
          reply,
          person: {
            user,
            session: { sid }
          },
          locale,
          origin
        } = visit
        // If the user goes back and presses the button again, the page shows the same codes and makes no new ones.
        const again = /^(?:codes|two_step_on)$/.test(form.decision ?? '')
          ? codes.again(visit, whose(visit, deps))
          : null
        if (again !== null) return { limit: null, work: async () => again }
        await requireFresh(visit, accounts)
        return {
          limit: null,
          async work() {
            if (form.decision === 'codes')
              return codes.show(
                await replaceRecoveryCodes({ user, sid, locale, origin }, accounts),
                visit,
                whose(visit, deps)
              )
            if (form.decision === 'forget') {
              await forgetDevices(user, { by: 'user', origin }, accounts)
              return 'devices_forgotten'
            }
            if (form.decision === 'two_step_on') {
              const made = await turnTwoStepOn(
                { user, sid, stays: browser.stay(request, reply, sid), locale, origin },
                accounts
              )
              return made === null
                ? goOn(`${link('security')}${visit.journey.query}`)
                : codes.show(made, visit, whose(visit, deps))
            }
            if (form.decision === 'two_step_off') {
              await turnTwoStepOff({ user, sid, locale, origin }, accounts)
              codes.forget(visit)
              return 'two_step_off'
            }
            const { factor: factorId } = required(form, ['factor'])
            if (form.decision === 'rename') {
              await renameFactor({ userId: user.id, factorId, name: form.name ?? '' }, accounts)
              return 'factor_renamed'
            }
            if (form.decision !== 'remove') throw new OAuthError('invalid_request', 'decision: it does not fit.')
            const { factors: listed } = await listFactors(user.id, accounts)
            const stays = browser.stay(request, reply, sid)
            // For the removal of the last factor: keeps only the first factor, so that the session no longer has the
            // level of the removed one. Without a first factor nothing proves the user any more, so the session ends.
            const first = visit.person.session.methods.filter(isFirstFactor)
            const lower = async () => {
              await browser.renew(request, reply, user.id, first)
              return browser.stay(request, reply, sid)
            }
            const { left } = await removeFactor(
              { user, factorId, by: 'user', stays, ...(first.length === 0 ? {} : { lower }), locale, origin },
              accounts
            )
            const done = listed.some(({ id, kind }) => id === factorId && kind === 'passkey')
              ? 'passkey_removed'
              : 'factor_removed'
            if (left) return done
            codes.forget(visit)
            return goOn(withQuery(`${link('security')}${visit.journey.query}`, { done }))
          }
        }
      },
      content: (shown) => shown
    },
    deps
  )
}
