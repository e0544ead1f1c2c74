import type { MailTexts } from '../mail-texts.ts'

export const EN: MailTexts = {
  password_reset: {
    heading: 'Set a new password',
    text: 'Somebody asked for a link to set a new password for your account.',
    button: 'Set a new password',
    otherwise: 'If that was not you, you can ignore this message: your password stays as it is.'
  },
  verify_email: {
    heading: 'Confirm your e-mail address',
    text: 'Somebody signed up with this e-mail address. If that was you, confirm the address.',
    button: 'Confirm address',
    otherwise: 'If that was not you, do not confirm it. You can ignore this message.'
  },
  already_registered: {
    heading: 'You already have an account',
    text: 'Somebody signed up with this e-mail address, but it has an account already. If that was you, sign in with your password, or set a new one here.',
    button: 'Set a new password',
    otherwise: 'If that was not you, you can ignore this message.'
  },
  password_changed: {
    heading: 'Your password was changed',
    text: 'The password of your account was changed, and all other devices were signed out.',
    otherwise: 'If that was not you, set a new password at once: choose “Forgot your password?” on the sign-in page.'
  },
  new_sign_in: {
    heading: 'New sign-in to your account',
    text: 'Somebody signed in to your account with a device or a browser that was not used for it before.',
    otherwise: 'If that was not you, set a new password at once: choose “Forgot your password?” on the sign-in page.'
  },
  validity: 'The link is valid for {duration} and works once.',
  hint: 'If the button does not work, open this address:',
  account: 'Account: {username}'
}
