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
    text: 'Somebody tried to sign up with this e-mail address, but it has an account already. If that was you, sign in with your password, or set a new one here.',
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
    button: 'Check your account',
    otherwise: 'If that was not you, set a new password at once: choose “Forgot your password?” on the sign-in page.'
  },
  email_change: {
    heading: 'Confirm your new e-mail address',
    text: 'Somebody asked for this e-mail address to become the one of their account. If that was you, confirm the address: from then on you sign in and get messages with it.',
    button: 'Confirm address',
    otherwise: 'If that was not you, do not confirm it. You can ignore this message.'
  },
  email_change_requested: {
    heading: 'Another e-mail address was asked for',
    text: 'Somebody asked to change the e-mail address of your account to another one. It changes when the link that was sent to that address is used.',
    otherwise: 'If that was not you, set a new password at once: choose “Forgot your password?” on the sign-in page. That signs everybody out and stops the change.'
  },
  email_changed: {
    heading: 'Your e-mail address was changed',
    text: 'Your account has another e-mail address now. Messages no longer go to this one, and links that were sent to it no longer work.',
    otherwise: 'If that was not you, get in touch with us at once.'
  },
  account_removed: {
    heading: 'Your account was removed',
    text: 'Your account was removed, as somebody who was signed in to it asked for. All devices were signed out.',
    otherwise: 'If that was not you, get in touch with us at once.'
  },
  identity_linked: {
    heading: 'New way to sign in to your account',
    text: 'An account at another provider was connected to your account. Whoever signs in there is signed in to your account, too.',
    otherwise: 'If that was not you, disconnect it on your account page at once, and set a new password.'
  },
  identity_unlinked: {
    heading: 'A way to sign in to your account was removed',
    text: 'An account at another provider was disconnected from your account. Nobody can sign in to your account with it any more.',
    otherwise: 'If that was not you, set a new password at once: choose “Forgot your password?” on the sign-in page.'
  },
  second_factor_failed: {
    heading: 'A sign-in stopped at the second step',
    text: 'Somebody entered the right password of your account, but a wrong code at the second step.',
    otherwise: 'If that was not you, set a new password at once: choose “Forgot your password?” on the sign-in page.'
  },
  factor_added: {
    heading: 'Your two-step sign-in was changed',
    text: 'A passkey, an authenticator app or new recovery codes were set up for your account.',
    otherwise: 'If that was not you, set a new password at once: choose “Forgot your password?” on the sign-in page.'
  },
  factor_removed: {
    heading: 'An authenticator app was removed',
    text: 'A passkey or an authenticator app no longer belongs to your account, and does not count at sign-in.',
    otherwise: 'If that was not you, set a new password at once: choose “Forgot your password?” on the sign-in page.'
  },
  recovery_code_used: {
    heading: 'A recovery code was used',
    text: 'The password and a recovery code were used to sign in to your account. That code no longer works.',
    otherwise: 'If that was not you, set a new password at once: choose “Forgot your password?” on the sign-in page.'
  },
  passkey_counter_regressed: {
    heading: 'A passkey may have been copied',
    text: 'A passkey of your account was refused: it counts its uses, and counted fewer than before. There may be a copy of it.',
    otherwise: 'Sign in another way, remove this passkey on the security page of your account, and create a new one.'
  },
  sign_in_code: {
    heading: 'Your sign-in code',
    text: 'Enter this code on the page where you asked for it.',
    button: 'Sign in',
    otherwise: 'Tell nobody this code: nobody of ours will ever ask you for it. If you did not ask for it, you can ignore this message.'
  },
  validity: 'The link is valid for {duration} and works once.',
  codeValidity: 'The code is valid for {duration} and works once.',
  codeAsked: 'It was asked for on {time} with: {browser}',
  hint: 'If the button does not work, open this address:',
  signInTime: 'Time: {time}',
  signInDevice: 'Device: {device}',
  signInAddress: 'IP address: {address}',
  account: 'Account: {username}'
}
