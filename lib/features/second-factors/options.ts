import { TOKEN_EXCHANGE_GRANT } from '../../protocol/request-params.ts'
import { Type } from '@sinclair/typebox'
import { FACTOR_METHODS } from '../../protocol/second-factors.ts'
import type { Client } from '../../ports/client-store.ts'
import type { FactorStore } from '../../ports/factor-store.ts'
import type { User } from '../../ports/user-store.ts'
import type { AccountModel } from '../../pages/account-models.ts'
import type { CommonModel, FormModel, PasskeyForm, PasskeySignals, ShownEnrolment } from '../../pages/common-model.ts'
import {
  filled,
  type Given,
  list,
  oneOf,
  option,
  orFalse,
  seconds,
  section,
  shortText
} from '../../settings/schema-words.ts'

/** The sign-in that `mfa.required` decides on. `null`: the sign-in has no client. */
export interface MfaContext {
  client: Client | null
  clientId: string | null
}

type Required = (user: User, context: MfaContext) => boolean | Promise<boolean>

const REMEMBERED = {
  /** Seconds that a browser stays remembered, from the sign-in in which the user ticked the box. */
  expiresIn: seconds(60, 31_536_000, { default: 2_592_000, to: 'Ms' })
}

const MFA = {
  /**
   * The kinds that users can set up. Existing factors keep working, so that taking a kind away locks nobody out. `[]`
   * offers none, which is the first step of a rolling update that turns factors on.
   */
  methods: list(oneOf(FACTOR_METHODS, {}), {
    default: FACTOR_METHODS,
    uniqueItems: true,
    takes: 'an array of "totp", "passkey", "recovery_code", each once'
  }),
  /**
   * The users who must have a second factor: `true` for all, or a function `(user, { client, clientId }) => boolean`
   * (`null`: the sign-in has no client). A user who must and has none sets one up after the first factor, before any
   * session, code or token is issued. A session without a second factor gets no authorization code, except in a
   * remembered browser. If the function throws, takes longer than five seconds or returns anything but `true` and
   * `false`, the answer is 503 and nobody gets in. Requires the hosted pages, and `totp` in `methods`.
   */
  required: option<boolean | Required>(
    Type.Union([Type.Boolean(), Type.Function([], Type.Unknown())], { takes: 'true, false or a function' }),
    false
  ),
  /** The issuer name in authenticator apps, without a colon. */
  totpIssuer: shortText(64, { otherwise: '`pages.title`, else the host of the issuer' }),
  /**
   * Adds a box "do not ask again in this browser" to the page of the second factor. A remembered browser is no factor:
   * `acr` and `amr` are those of the first factor. A requirement of a second factor or of a new sign-in still holds
   * (`requireAuth`, `acr_values`, `clients[].acr`, `prompt=login`, `max_age`, the security page). A change of the
   * password or of the factors forgets the browser, and so does `app.authority.forgetDevices`.
   */
  rememberDevice: orFalse(section<Given<typeof REMEMBERED>>(REMEMBERED), {
    default: false,
    takes: 'false or { expiresIn }'
  })
}

/** Second factors and the users who must have one. Requires the option `factors`. */
export interface MfaOptions extends Given<typeof MFA> {}

/**
 * The methods whose absence from a factor store is an error at start. The wrapper in `host-factor-store.ts` finds each
 * wrong answer later.
 */
export const FACTOR_STORE_METHODS = [
  'findFactors',
  'findByHandle',
  'claimHandle',
  'addTotp',
  'addPasskey',
  'useTotp',
  'usePasskey',
  'useRecoveryCode',
  'replaceRecoveryCodes',
  'setTwoStep',
  'countFailure',
  'removeFactor',
  'removeProvisional',
  'renameFactor',
  'forgetDevices',
  'removeFactorsOfUser'
] as const satisfies ReadonlyArray<keyof FactorStore>

export const FACTOR_STORE_TAKES =
  'a FactorStore, such as memoryFactorStore(), sqliteFactorStore(db) or postgresFactorStore(db)'

export const FACTOR_OPTIONS = {
  /**
   * The store of second factors: authenticator apps, passkeys and recovery codes. With the store, users can set up a
   * second factor on the account page. A user with an authenticator app, or with two-step sign-in on, must give a
   * second factor after any first one, except after a passkey. Keep the store in the database of the users, because a
   * user whose factors are lost needs only a password. A store that outlives the process requires `secret`, which seals
   * the keys of the apps. Without the option there are no second factors, no routes for them, and no queries.
   */
  factors: option<FactorStore>(Type.Any({ otherwise: 'none', takes: FACTOR_STORE_TAKES })),
  /** The second factors, and the users who must have one. Requires `factors`. */
  mfa: section<MfaOptions>(MFA)
}

export interface SecondFactorOptions extends Given<typeof FACTOR_OPTIONS> {}

const EVERYBODY = (): boolean => true

export type FactorSettings = ReturnType<typeof resolveFactors>

export function resolveFactors(factors: FactorStore, mfa: MfaOptions | undefined, title: string) {
  const { rememberDevice, required, ...settings } = filled(MFA, mfa, { totpIssuer: title })
  return {
    ...settings,
    store: factors,
    /** `null`: nobody must have one. */
    required: typeof required === 'function' ? required : required ? EVERYBODY : null,
    /** `null`: no browser is remembered. */
    rememberDeviceMs: rememberDevice === false ? null : filled(REMEMBERED, rememberDevice).expiresInMs
  }
}

export const CREDENTIAL = {
  bytes: 16384,
  what: 'The answer of `navigator.credentials.get`, as the text of `AuthenticationResponseJSON`.'
}

/** Finishes a password grant or a token exchange by the second factor. */
export const MFA_GRANT = {
  type: 'urn:fastify-authority:grant-type:mfa',
  rightOf: ['password', TOKEN_EXCHANGE_GRANT],
  params: {
    mfa_token: { bytes: 8192, what: 'From the answer `mfa_required`.' },
    otp: { bytes: 64, what: 'Six digits of an authenticator app.' },
    recovery_code: { bytes: 128, what: 'Instead of `otp`.' },
    credential: CREDENTIAL
  },
  errors: ['invalid_code', 'invalid_grant'],
  what:
    'the tokens of `grant_type=password` for a user with a second factor. That grant answers 400 ' +
    '`mfa_required` after the right password, with an `mfa_token` and the accepted `methods`. The same client ' +
    'sends the token here within ten minutes, with `otp`, `recovery_code`, or as `credential` the answer of a ' +
    'passkey to `passkey_options`. Nothing is issued before. A token exchange of a user with a second factor ' +
    'answers and continues in the same way. Exists with `factors` and one of the two grants; a client needs ' +
    'the grant with which it began.'
} as const

/** An authenticator app of the user. */
export interface AccountFactor {
  /** The form returns the id in a hidden field `factor`. */
  id: string
  name: string | null
  /** Milliseconds since the epoch. */
  createdAt: number
  lastUsedAt: number | null
  /** True after too many wrong codes. The app then works only in known browsers. */
  disabled: boolean
  /** The page that asks for a confirmation before the factor is removed. */
  removeUrl: string
}

/** A passkey of the user. */
export interface AccountPasskey extends Omit<AccountFactor, 'disabled'> {
  /** True if the passkey is synced or backed up. */
  synced: boolean
}

export type StepWay = SecondFactorModels['second_factor']['way']

/** The models of the pages of second factors. */
export interface SecondFactorModels {
  /**
   * The second factor, after any first factor. `way` is the kind of factor that this view asks for. Its field is
   * `code`, `recovery_code` or `credential`. `passkey` is `null` unless `way` is `passkey`. `otherWays` lead to the
   * views of the other kinds. `username` is the user who signs in. `rememberSeconds`: how long the box `remember` lets
   * this browser skip the step. `null`: there is no box.
   */
  second_factor: FormModel & {
    username: string
    way: 'passkey' | 'code' | 'recovery_code'
    otherWays: Array<{ way: 'passkey' | 'code' | 'recovery_code'; url: string }>
    rememberSeconds: number | null
    loginUrl: string
    passkey: PasskeyForm | null
    tellsPasskeys: boolean
  }
  /**
   * The page behind a link of `app.authority.startEnrolment`. The form returns `token` in a hidden field. `username` is
   * the user of the link.
   */
  second_factor_link: FormModel & { token: string; username: string }
  /**
   * A second factor to set up before the sign-in completes: `code` and `name`, with `enrolment` in a hidden field, or
   * `credential` with `passkey`. Both are `null` if the account's address has to be confirmed first. A button
   * `decision` with the value `resend` then sends the message again, and `sent` reports it. `forAccount`: the account
   * must have a factor; otherwise only the opened page requires it.
   */
  set_up_second_factor: FormModel & {
    username: string
    forAccount: boolean
    enrolment: ShownEnrolment | null
    passkey: PasskeyForm | null
    name: string
    sent: boolean
    loginUrl: string
  }
  /**
   * One form per factor, with `factor`, `name`, and buttons `decision` with the values `rename` and `remove`; one form
   * with the `decision` `codes`. `signInUrl`: the user signs in again before any change. `enrolUrl` leads to the page
   * `account_totp`; `null`: there are no apps. `twoStep`: whether sign-ins need a second step, and which change a
   * button `decision` with `two_step_on` or `two_step_off` may make. `recoveryCodesLeft` is `null` while `twoStep.on`
   * is false. `hasPassword`: the account has a password, which alone is enough after the last factor is removed.
   * `mustKeepOne`: the last factor can't be removed. `factors` are the apps. `addPasskeyUrl` leads to the page
   * `account_passkey`, and is `null` without passkeys. `removing`: the factor for whose removal the page asks for a
   * confirmation. `canForget`: a button `decision` with the value `forget` forgets all remembered browsers.
   */
  account_security: AccountModel & {
    factors: AccountFactor[]
    hasPassword: boolean
    mustKeepOne: boolean
    twoStep: { on: boolean; offers: 'on' | 'off' | null }
    recoveryCodesLeft: number | null
    enrolUrl: string | null
    canForget: boolean
    signInUrl: string | null
    passkeys: AccountPasskey[]
    addPasskeyUrl: string | null
    removing: { id: string; name: string | null; isPasskey: boolean; backUrl: string } | null
    passkeySignals: PasskeySignals | null
  }
  /**
   * Fields: `code`, and `enrolment` in a hidden field. `enrolment` is `null` if the user first has to sign in again, or
   * to confirm the account's address at `confirmUrl`. `endsOthers`: the page says that the new app turns two-step
   * sign-in on and ends all other sign-ins.
   */
  account_totp: AccountModel & {
    enrolment: ShownEnrolment | null
    signInUrl: string | null
    confirmUrl: string | null
    endsOthers: boolean
  }
  /**
   * The recovery codes. The page shows them again on a reload, until the user says that they are saved, for at most ten
   * minutes. `signedIn` is `false` if the sign-in failed after the required factor was set up. The page then shows the
   * codes only once.
   */
  account_recovery_codes: CommonModel & { username: string; signedIn: boolean; codes: string[]; backUrl: string }
}
