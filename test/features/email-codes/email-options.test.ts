/** The option `emailSignIn`: a missing part stops the start, and the error names the option. */
import t from '../../support/tap.ts'
import { type AuthorityOptions, memoryState, memoryUserStore } from '../../../lib/index.ts'
import { testApp } from '../../support/app.ts'

const state = memoryState()
const { setPasswordHash: _password, ...withoutPasswords } = memoryUserStore()
const { setEmailVerified: _verified, ...withoutVerified } = memoryUserStore()
const { redeemCode: _redeem, ...withoutCodes } = state.oneTimeTokens

const REFUSED: Array<[what: string, options: Partial<AuthorityOptions>, error: RegExp]> = [
  ['no sendMessage', { sendMessage: undefined }, /Invalid option "emailSignIn": .*sendMessage is set/],
  ['no pages', { pages: false }, /Invalid option "emailSignIn": .*hosted pages/],
  [
    'a user store that can not end a password',
    { users: withoutPasswords },
    /Invalid option "emailSignIn": .*setPasswordHash/
  ],
  [
    'a user store that confirms no address',
    { users: withoutVerified },
    /Invalid option "emailSignIn": .*setEmailVerified/
  ],
  [
    'a state without codes',
    { state: { ...state, oneTimeTokens: withoutCodes } },
    /Invalid option "emailSignIn": .*redeemCode/
  ],
  ['a lasting state and no secret', { state: { ...state, kind: 'sqlite' } }, /Invalid option "secret"/],
  [
    'sign-up without registration',
    { emailSignIn: { signUp: true }, registration: false },
    /Invalid option "emailSignIn\.signUp"/
  ],
  ['codes of more than ten minutes', { emailSignIn: { expiresIn: 601 } }, /Invalid option "emailSignIn/],
  ['codes that expire after zero seconds', { emailSignIn: { expiresIn: 0 } }, /Invalid option "emailSignIn/],
  ['the value true', { emailSignIn: true as never }, /Invalid option "emailSignIn"/]
]

for (const [what, options, error] of REFUSED) {
  t.test(`stops the start if emailSignIn is set with ${what}`, async (t) => {
    await t.rejects(testApp({ emailSignIn: {}, ...options }), error)
  })
}
