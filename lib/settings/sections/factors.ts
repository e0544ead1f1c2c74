import { Type } from '@sinclair/typebox'
import { FACTOR_METHODS, type FactorMethod } from '../../protocol/second-factors.ts'
import type { Client } from '../../ports/client-store.ts'
import type { FactorStore } from '../../ports/factor-store.ts'
import type { User } from '../../ports/user-store.ts'
import { fn, oneOf, optional, seconds, section } from '../schema-words.ts'
import {
  canHavePasskeys,
  type PasskeyOptions,
  type PasskeySettings,
  PASSKEYS_SCHEMA,
  resolvePasskeys
} from './passkeys.ts'

/** The request for a second factor: its client, or `null` without one. */
export interface MfaContext {
  client: Client | null
  clientId: string | null
}

/** Second factors and the users who must have one. Requires the option `factors`. */
export interface MfaOptions {
  /**
   * The kinds that users can set up. Existing factors keep counting. `[]` offers none, which is the first step of a
   * rolling update that turns factors on. Default: all three.
   */
  methods?: ReadonlyArray<'totp' | 'passkey' | 'recovery_code'> | undefined
  /**
   * The users who must have a second factor: `true` for all, or a function of a user and a client. A user who must and
   * has none sets one up between the first factor and the session, before anything is issued. If the function throws,
   * hangs or returns anything but `true` and `false`, nobody gets in. Default: nobody.
   */
  required?: boolean | ((user: User, context: MfaContext) => boolean | Promise<boolean>) | undefined
  /** The issuer name in authenticator apps. Default: `pages.title`, otherwise the host of the issuer. */
  totpIssuer?: string | undefined
  /** Lets users remember a browser, which then asks for no second factor. Default `false`. */
  rememberDevice?: false | { expiresIn?: number | undefined } | undefined
}

const REMEMBER_DEVICE_DEFAULTS = { expiresIn: 2_592_000 } as const

export interface FactorSettings {
  store: FactorStore
  totpIssuer: string
  /** `null`: no browser is remembered. */
  rememberDeviceMs: number | null
  /** `null`: passkeys are off. */
  passkeys: PasskeySettings | null
  /** True if passkeys are off because browsers have none for such an issuer. */
  passkeysImpossible: boolean
  methods: readonly FactorMethod[]
  /** `null`: nobody must have one. */
  required: ((user: User, context: MfaContext) => boolean | Promise<boolean>) | null
}

/**
 * The methods of every factor store. Checking them finds a wrong option; `host-factor-store` finds every wrong answer.
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
  'countFailure',
  'removeFactor',
  'removeProvisional',
  'renameFactor',
  'forgetDevices',
  'removeFactorsOfUser'
] as const satisfies ReadonlyArray<keyof FactorStore>

export const FACTOR_STORE_TAKES =
  'a FactorStore, such as memoryFactorStore(), sqliteFactorStore(db) or postgresFactorStore(db)'

export const FACTOR_SCHEMAS = {
  factors: optional(
    Type.Any({
      default: 'none',
      takes: FACTOR_STORE_TAKES,
      description:
        'Where second factors are kept: authenticator apps and recovery codes. With it, people can ' +
        'set one up on the account page, and whoever has one is asked for it after the password, ' +
        'at every way in. Keep it where the users are: what it loses is a user with a password ' +
        'alone. A store that outlives the process takes `secret`, which seals the keys of the ' +
        'apps. Without it there is no route, and a sign-in makes no look-up more.'
    })
  ),
  mfa: optional(
    section(
      {
        methods: optional(
          Type.Array(oneOf(FACTOR_METHODS, {}), {
            default: FACTOR_METHODS,
            uniqueItems: true,
            takes: 'an array of "totp", "passkey", "recovery_code", each once at the most',
            description:
              'What people can set up. What they have set up before goes on counting: taking a method ' +
              'away locks nobody out. `[]`: factors are asked for, and nobody can set one up.'
          })
        ),
        required: optional(
          Type.Union([Type.Boolean(), fn({ takes: 'a function' })], {
            default: false,
            takes: 'true, false or a function',
            description:
              'Who must have a second factor: `true`, everybody; `(user, { client, clientId }) => ' +
              'boolean`, whoever it says so of, where this client takes part (`null`: none). Whoever ' +
              'must and has none is led to set one up after the first factor, before any session, code ' +
              'or token; a session that has shown none gets no code. A function that throws, takes ' +
              'longer than five seconds or answers anything else is an outage (503), and nobody gets in ' +
              'by it.'
          })
        ),
        totpIssuer: optional(
          Type.String({
            minLength: 1,
            maxLength: 64,
            default: '`pages.title`, else the host of the issuer',
            takes: 'a string of 1 to 64 characters',
            description: 'What authenticator apps show beside the name of the account. Without a colon.'
          })
        ),
        rememberDevice: optional(
          Type.Union(
            [
              Type.Literal(false),
              Type.Object(
                {
                  expiresIn: optional(
                    seconds(60, 31_536_000, {
                      default: REMEMBER_DEVICE_DEFAULTS.expiresIn,
                      description: 'For how long, from the sign-in in which the box was ticked.'
                    })
                  )
                },
                { additionalProperties: false }
              )
            ],
            {
              default: false,
              takes: 'false or { expiresIn }',
              description:
                'Whether the page of the second factor has a box "do not ask again in this browser". A ' +
                'browser that is remembered is no factor: `acr` and `amr` are those of the password, and ' +
                'whatever asks for more is asked as ever (`requireAuth`, `acr_values`, `clients[].acr`, ' +
                '`prompt=login`, `max_age`, the security page). It ends with a change of the password or ' +
                'of the factors, and with `app.authority.forgetDevices`.'
            }
          )
        )
      },
      'What second factors are like, and who must have one. Takes `factors`.'
    )
  ),
  passkeys: PASSKEYS_SCHEMA
}

const EVERYBODY = (): boolean => true

/** `null`: no second factors. */
export function resolveFactors(
  {
    factors,
    mfa = {},
    passkeys,
    issuer
  }: {
    factors?: FactorStore | undefined
    mfa?: MfaOptions | undefined
    passkeys?: false | PasskeyOptions | undefined
    issuer: string
  },
  title: string
): FactorSettings | null {
  if (factors === undefined) return null
  const { methods = FACTOR_METHODS, required = false, totpIssuer = title, rememberDevice = false } = mfa
  const { expiresIn = REMEMBER_DEVICE_DEFAULTS.expiresIn } = rememberDevice === false ? {} : rememberDevice
  return {
    store: factors,
    totpIssuer,
    methods,
    required: typeof required === 'function' ? required : required ? EVERYBODY : null,
    rememberDeviceMs: rememberDevice === false ? null : expiresIn * 1000,
    passkeys: resolvePasskeys(passkeys, issuer, title),
    passkeysImpossible: passkeys !== false && !canHavePasskeys(issuer)
  }
}
