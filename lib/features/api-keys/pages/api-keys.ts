import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { freshnessIn, mayChange, requireProof } from '../../../accounts/fresh-sign-in.ts'
import type { ApiKeys } from '../../../accounts/slots.ts'
import { OAuthError } from '../../../errors.ts'
import { accountPage, MOST_ROWS, type PersonVisit, signInUrl } from '../../../http/pages/account-page.ts'
import type { Leave, PageDeps, PageSlots } from '../../../http/pages/deps.ts'
import { goOn, withQuery } from '../../../http/pages/form-page.ts'
import { type Form, queryParam, required } from '../../../http/pages/page-routes.ts'
import type { AccountModel } from '../../../pages/account-models.ts'
import type { PageModels } from '../../../pages/model.ts'
import { shownScope } from '../../../pages/own-texts.ts'
import type { KeyOffer } from '../keys.ts'
import type { ApiKeySettings } from '../options.ts'
import { RENDERERS } from './renderers.ts'

const PATH = 'accountApiKeys'
const DAY_SECONDS = 86_400
const LIFETIMES = [30, 90, 365].map((days) => days * DAY_SECONDS)
const USUAL_SECONDS = 90 * DAY_SECONDS
/** The prefix of the names of scope checkboxes. Each box has its own name, because a form may not repeat a field. */
const SCOPE = 'scope '

type OfferedKeys = ApiKeys & { offers(): KeyOffer[] }
type KeyPageSettings = Pick<ApiKeySettings, 'expiresInMs'>

/** The page `/auth/account/api-keys`. */
export function apiKeyPages(keys: OfferedKeys, settings: KeyPageSettings): PageSlots {
  return {
    renderers: RENDERERS,
    part: (deps) => ({
      account: {
        apiKeys: {
          path: PATH,
          add(child) {
            apiKeysPage(child, deps, keys, settings)
          },
          states: async ({ user }) => ({ apiKeys: (await keys.list(user.id)).length })
        }
      }
    })
  }
}

/** The lifetimes that a person can choose, in seconds. `null`: no end. */
function lifetimesOf({ expiresInMs }: KeyPageSettings): Array<number | null> {
  if (expiresInMs === null) return [...LIFETIMES, null]
  const most = expiresInMs / 1000
  return [...LIFETIMES.filter((seconds) => seconds < most), most]
}

function apiKeysPage(child: FastifyInstance, deps: PageDeps, keys: OfferedKeys, settings: KeyPageSettings): void {
  const {
    authorize: { accounts },
    link: linkTo,
    pages,
    scopeTexts
  } = deps

  /** Shows the new key in the answer to the form. On a reload, `newest` is outdated, so no second key is created. */
  const showKey =
    (made: { name: string; key: string }, { request, person, journey: { query, uiLocales } }: PersonVisit): Leave =>
    async (reply) =>
      await pages.send(
        request,
        reply,
        'account_api_key',
        { username: person.user.username, name: made.name, key: made.key, backUrl: `${linkTo(PATH)}${query}` },
        { uiLocales }
      )

  /** Reads the checked scopes, and finds their API. @throws OAuthError `invalid_request` for scopes of two APIs */
  function chosen(sent: Form): { scopes: string[]; resource: string | null } {
    const scopes = Object.keys(sent).flatMap((field) => (field.startsWith(SCOPE) ? field.slice(SCOPE.length) : []))
    const offers = keys.offers().filter((offer) => scopes.some((scope) => offer.scopes.includes(scope)))
    if (offers.length > 1) throw new OAuthError('invalid_request', 'A key is for one API.', { reason: 'one_api' })
    return { scopes, resource: offers[0]?.api?.resource ?? null }
  }

  accountPage<'account_api_keys', Omit<PageModels['account_api_keys'], keyof AccountModel>>(
    child,
    {
      name: 'account_api_keys',
      path: PATH,
      summaries: { page: 'Page of API keys', form: 'Make or remove an API key by a form' },
      errors: {
        form: { 401: 'insufficient_user_authentication', 409: { api_key_limit: '`apiKeys.maxPerUser` keys' } }
      },
      what: {
        page:
          "The person's API keys. Exists if `GET /auth/account` does and `apiKeys` is set, unless " +
          '`apiKeys.pages` is `false`.',
        form:
          '`decision=create` makes a key as `POST /auth/api-keys` does, and the answer shows it once. Each ' +
          'scope is a field `scope <name>`, and the scopes decide the API of the key. `newest` is the id of the ' +
          'newest key that the page showed: after another, nothing is made, so that a reload makes no second ' +
          'key. `key` is the id of a key to remove, and the page with `?remove=` and the id asks first. A ' +
          'key that does not exist counts as removed.'
      },
      body: Type.Object({
        decision: Type.Optional(Type.Literal('create')),
        newest: Type.Optional(Type.String({ maxLength: 128 })),
        name: Type.Optional(Type.String({ maxLength: 100 })),
        expires_in: Type.Optional(Type.String({ maxLength: 10 })),
        key: Type.Optional(Type.String({ maxLength: 128 }))
      }),
      fields: ['name', 'expires_in'],
      async open(visit, sent) {
        const all = await keys.list(visit.person.user.id)
        const backUrl = `${linkTo(PATH)}${visit.journey.query}`
        const wantedId = sent === null ? queryParam(visit.request, 'remove') : ''
        const removing = all.find(({ id }) => id === wantedId)
        const { lang } = pages.messagesFor(visit.request, visit.journey)
        const offers = keys.offers()
        const lifetimes = lifetimesOf(settings)
        const wanted =
          sent?.expires_in ?? String(lifetimes.findLast((one) => one !== null && one <= USUAL_SECONDS) ?? lifetimes[0])
        const apiNames = new Map(
          offers.flatMap(({ api }) => (api === null ? [] : [[api.resource, api.name ?? api.resource]]))
        )
        return {
          keys: all.slice(-MOST_ROWS).map(({ id, name: own, scopes, resource, createdAt, lastUsedAt, expiresAt }) => ({
            id,
            name: own,
            scopes: scopes.map((scope) => shownScope(scope, lang, scopeTexts)),
            api: resource === null ? null : (apiNames.get(resource) ?? resource),
            createdAt,
            lastUsedAt,
            expiresAt,
            removeUrl: withQuery(backUrl, { remove: id })
          })),
          removing: removing === undefined ? null : { id: removing.id, name: removing.name, backUrl },
          hasMore: all.length > MOST_ROWS,
          newest: all.at(-1)?.id ?? '',
          name: sent?.name ?? '',
          groups: offers.flatMap(({ api, scopes }) =>
            scopes.length === 0
              ? []
              : {
                  name: api === null ? null : (api.name ?? api.resource),
                  scopes: scopes.map((scope) => ({
                    field: SCOPE + scope,
                    scope: shownScope(scope, lang, scopeTexts),
                    checked: sent?.[SCOPE + scope] !== undefined
                  }))
                }
          ),
          lifetimes: lifetimes.map((seconds) => ({ seconds, chosen: wanted === String(seconds ?? 'never') })),
          signInUrl: (await mayChange('apiKeys', freshnessIn(visit.person, visit.origin), accounts))
            ? null
            : signInUrl(PATH, visit, deps)
        }
      },
      async submit(sent, visit) {
        const {
          person: { user, session },
          origin
        } = visit
        if (sent.key !== undefined) {
          const { key: id } = required(sent, ['key'])
          return {
            limit: null,
            async work() {
              await keys.revoke(user.id, id, { by: 'user', origin })
              return 'api_key_removed'
            }
          }
        }
        if ((sent.newest ?? '') !== ((await keys.list(user.id)).at(-1)?.id ?? ''))
          return { limit: null, work: async () => goOn(`${linkTo(PATH)}${visit.journey.query}`) }
        const { name: own } = required(sent, ['name'])
        const expiresIn = sent.expires_in === 'never' ? undefined : Number(sent.expires_in)
        const asked = { userId: user.id, name: own, ...chosen(sent), expiresIn }
        await requireProof('apiKeys', freshnessIn(visit.person, origin), accounts)
        return {
          limit: null,
          work: async () => showKey(await keys.create(asked, { sid: session.sid, origin }), visit)
        }
      },
      content: (shown) => shown
    },
    deps
  )
}
