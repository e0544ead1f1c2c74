import type { Feature } from '../../feature.ts'
import { EMAIL_ACR } from '../../protocol/authentication.ts'
import { invalid } from '../../settings/option-error.ts'
import type { AuthorityOptions } from '../../settings/options.ts'
import { filled, SECRET_TAKES } from '../../settings/schema-words.ts'
import type { EmailSignInSettings } from './ask.ts'
import { EMAIL_CODE_OPTIONS, EMAIL_SIGN_IN, type EmailSignInOptions } from './options.ts'

/** Sign-in with a code that is emailed to the address of the account. */
export const emailCodes: Feature<EmailSignInSettings> = {
  name: 'emailCodes',
  options: EMAIL_CODE_OPTIONS,
  acr: [EMAIL_ACR],
  resolve(given) {
    const { emailSignIn = false } = given
    if (emailSignIn === false) return null
    check(emailSignIn, given)
    return filled(EMAIL_SIGN_IN, emailSignIn)
  },
  load: async () => await import('./create.ts')
}

function check(
  emailSignIn: EmailSignInOptions,
  { sendMessage, pages, users, registration, state, redis, secret }: AuthorityOptions
): void {
  const refuse = (takes: string): never => {
    throw invalid('emailSignIn', emailSignIn, `false, or an object only where ${takes}`)
  }
  if (sendMessage === undefined) refuse('sendMessage is set')
  if (pages === false) refuse('there are hosted pages to enter a code on')
  // Without these methods, the owner of an address could not take over an account that a stranger made with it.
  for (const method of ['setPasswordHash', 'setEmailVerified'] as const)
    if (users[method] === undefined) refuse(`the UserStore has ${method}`)
  if (emailSignIn.signUp === true && (registration === false || users.create === undefined))
    throw invalid(
      'emailSignIn.signUp',
      true,
      'true only where people can register: the UserStore has create, and registration is not false'
    )
  if (state !== undefined && typeof state.oneTimeTokens.redeemCode !== 'function')
    refuse('the oneTimeTokens of the state have redeemCode')
  if (secret === undefined && (redis !== undefined || (state !== undefined && state.kind !== 'memory')))
    throw invalid(
      'secret',
      secret,
      `${SECRET_TAKES}, where emailSignIn is set and the state outlives the process: codes are digested with it`
    )
}
