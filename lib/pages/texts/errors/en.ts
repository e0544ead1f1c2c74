/** What the pages say when something went wrong. */
export const EN_ERRORS = {
  errorInvalidGrant: 'The username or password is wrong.',
  errorCurrentPassword: 'The current password is wrong.',
  errorTooManyRequests: 'Too many attempts. Please wait {duration} and try again.',
  errorTooManyRequestsLater: 'Too many attempts. Please try again later.',
  errorTemporarilyUnavailable: 'The service is not available right now. Please try again in a moment.',
  errorServerError: 'Something went wrong on our side. Please try again later.',
  errorInvalidRequest: 'The request is not valid. Please go back and try again.',
  errorInvalidField: 'Please check what you entered here.',
  errorInvalidToken: 'This link is invalid or has expired. Please request a new one.',
  errorAccessDenied: 'You do not have access to this.',
  errorLoginRequired: 'Please sign in first.',
  errorNotFound: 'There is no such page.',
  errorClientRequest:
    'The application that sent you here asked for something that is not possible. Please tell its operator.',
  errorUnknownClient: 'The application that sent you here is not registered with this service.',
  errorRedirectUri:
    'The application that sent you here wants you taken to an address that is not registered for it, so we stopped for your safety.',
  errorCrossSite:
    'This page has expired, or the form was sent from another site. Please go back, reload the page and try again.',
  errorSignInTooWeak: 'Your sign-in is not strong enough for this page, and your account has no stronger one.',
  errorUsernameTaken: 'This username is already taken.',
  errorCharacters: 'The username is too long or contains characters that are not allowed.',
  errorUsernameForm:
    'Use an e-mail address, or 3 to 64 characters: a–z, 0–9, dot, underscore and hyphen, starting with a letter or digit.',
  errorEmailForm: 'This is not a valid e-mail address.',
  errorEmailNotVerified: 'Your e-mail address is not confirmed yet. Follow the link in the message that we sent you.',
  errorEmailDiffers: 'If your username is an e-mail address, this must be the same one.',
  errorCodeForm: 'A code has six digits.',
  errorWrongCode: 'This code is wrong. Enter the one that the app shows now.',
  errorUsedCode: 'This code was used already. Wait until the app shows the next one.',
  errorFactorDisabled: 'After too many wrong codes, your authenticator app no longer works here. Use a recovery code.',
  errorEmailCodeForm: 'The code has eight digits.',
  errorEmailCodeWrong: 'This code is wrong.',
  errorEmailCodeSpent: 'Too many wrong codes were entered. Wait ten minutes and have a new code sent.',
  errorEmailCodeAgain: 'This code no longer works, or was asked for in another browser. Have a new code sent.',
  errorWrongRecoveryCode: 'This recovery code is wrong, or was used already.',
  errorPasskeyRefused: 'The passkey was not accepted. Try again, or sign in another way.',
  errorPasskeyCopied:
    'This passkey was not accepted: there may be a copy of it. Sign in another way, remove it, and create a new one.',
  errorPasskeyTwice: 'You have this passkey already.',
  errorPasskeyLimit: 'You have as many passkeys as you can have. Remove one first.',
  errorFactorLimit: 'You have as many authenticator apps as you can have. Remove one first.',
  errorLastFactor: 'This is your last authenticator app, and your account needs one.',
  errorRequired: 'Please fill in this field.',
  errorPassword: 'This password can’t be used. Please choose another one.',
  errorPasswordTooShort: 'The password needs at least {minLength} characters.',
  errorPasswordTooShortPlain: 'The password is too short.',
  errorPasswordTooLong: 'The password is too long.',
  errorPasswordCharacters: 'The password contains characters that are not valid.',
  errorPasswordCommon: 'This is one of the most common passwords. Please choose another one.',
  errorPasswordContext:
    'This password is too easy to guess: it consists of your username or the name of this service. Please choose another one.',
  errorPasswordBreached: 'This password is known from a data breach. Please choose another one.'
} as const

export type ErrorMessages = Readonly<Record<keyof typeof EN_ERRORS, string>>
