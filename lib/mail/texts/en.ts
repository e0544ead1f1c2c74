import type { MailTexts } from '../mail-texts.ts'

export const EN: MailTexts = {
  password_reset: {
    heading: 'Set a new password',
    text: 'Somebody asked for a link to set a new password for your account.',
    button: 'Set a new password',
    otherwise: 'If that was not you, you can ignore this message: nothing changes.'
  },
  verify_email: {
    heading: 'Confirm your e-mail address',
    text: 'Somebody signed up with this e-mail address. If that was you, confirm the address.',
    button: 'Confirm address',
    otherwise: 'If that was not you, do not confirm it. You can ignore this message.'
  },
  already_registered: {
    heading: 'You already have an account',
    text: 'Somebody tried to sign up with this e-mail address, but it has an account already. If that was you, sign in, or set a new password here.',
    button: 'Set a new password',
    otherwise: 'If that was not you, you can ignore this message.'
  },
  password_changed: {
    heading: 'Your password was changed',
    text: 'The password of your account was changed, and all other devices were signed out.'
  },
  new_sign_in: {
    heading: 'New sign-in to your account',
    text: 'Somebody signed in to your account with a device or a browser that was not used for it before.',
    button: 'Check your account'
  },
  email_change: {
    heading: 'Confirm your new e-mail address',
    text: 'Somebody asked for this e-mail address to become the one of their account. If that was you, confirm the address: from then on it takes the place of the former one.',
    button: 'Confirm address',
    otherwise: 'If that was not you, do not confirm it. You can ignore this message.'
  },
  email_change_requested: {
    heading: 'Another e-mail address was asked for',
    text: 'Somebody asked to change the e-mail address of your account to another one. It changes when the link that was sent to that address is used.',
    otherwise:
      'If that was not you, set a new password at once: choose “Forgot your password?” on the sign-in page. That signs everybody out and stops the change.'
  },
  email_changed: {
    heading: 'Your e-mail address was changed',
    text: 'Your account has another e-mail address now. Messages no longer go to this one, and links that were sent to it no longer work.',
    otherwise: 'If that was not you, get in touch with us at once.'
  },
  email_change_refused: {
    heading: 'Your new e-mail address was refused',
    text: 'Whoever reads the e-mail address that your account was to have says that it is not yours. Your account keeps its address.'
  },
  account_removed_user: {
    heading: 'Your account was removed',
    text: 'Your account was removed, as somebody who was signed in to it asked for. All devices were signed out.',
    otherwise: 'If that was not you, get in touch with us at once.'
  },
  account_removed_host: {
    heading: 'Your account was removed',
    text: 'We removed your account. All devices were signed out.'
  },
  identity_linked: {
    heading: 'New way to sign in to your account',
    text: 'An account at another provider was connected to your account. Whoever signs in there is signed in to your account, too.',
    otherwise: 'If that was not you, disconnect it on your account page at once, and set a new password.'
  },
  identity_linked_takeover: {
    heading: 'You sign in through another provider now',
    text: 'Another provider manages your e-mail address. From now on you sign in through it alone. Your password, your passkeys and your other ways to sign in were removed, and all devices were signed out. An authenticator app stays.',
    otherwise: 'If that was not you, get in touch with us at once.'
  },
  identity_unlinked: {
    heading: 'A way to sign in to your account was removed',
    text: 'An account at another provider was disconnected from your account. Nobody can sign in to your account with it any more.'
  },
  second_factor_failed: {
    heading: 'A sign-in stopped at the second step',
    text: 'Somebody passed the first step of a sign-in to your account, but failed at the second.'
  },
  factor_added_totp: {
    heading: 'An authenticator app was added',
    text: 'An authenticator app was set up for your account. From now on its codes count at sign-in.'
  },
  factor_added_passkey: {
    heading: 'A passkey was added',
    text: 'A passkey was set up for your account. From now on it counts at sign-in.'
  },
  factor_added_recovery_codes: {
    heading: 'New recovery codes were made',
    text: 'New recovery codes were made for your account. The former ones no longer work.'
  },
  factor_added_two_step: {
    heading: 'Two-step sign-in was turned on',
    text: 'Two-step sign-in was turned on for your account. All other devices were signed out.'
  },
  factor_removed_two_step: {
    heading: 'Two-step sign-in was turned off',
    text: 'Two-step sign-in was turned off for your account. Your recovery codes no longer work.'
  },
  factor_removed_totp: {
    heading: 'An authenticator app was removed',
    text: 'An authenticator app no longer belongs to your account. Its codes do not count at sign-in any more.'
  },
  factor_removed_passkey: {
    heading: 'A passkey was removed',
    text: 'A passkey no longer belongs to your account, and does not count at sign-in any more.'
  },
  factor_removed_all: {
    heading: 'Your two-step sign-in was reset',
    text: 'All passkeys, authenticator apps and recovery codes of your account were removed, and all devices were signed out.'
  },
  factor_disabled: {
    heading: 'Your authenticator app was restricted',
    text: 'Somebody passed the first step of a sign-in to your account and then gave many wrong codes. Your authenticator app now works only in browsers in which you have used it before. To use it elsewhere, remove it on the security page of your account, and set it up again.'
  },
  recovery_code_used: {
    heading: 'A recovery code was used',
    text: 'A recovery code was used to sign in to your account. That code no longer works.'
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
    otherwise:
      'Tell nobody this code: nobody of ours will ever ask you for it. If you did not ask for it, you can ignore this message.'
  },
  secure: 'If that was not you, set a new password at once: choose “Forgot your password?” on the sign-in page.',
  secureWithoutPassword:
    'If that was not you, open your account page at once: choose “Sign out everywhere else”, and remove what is not yours.',
  undo: 'If that was not you, press the button at once. It takes the change back, signs all devices out and sends you a link to set a new password.',
  notAsked: 'If you did not ask us for that, get in touch with us at once.',
  validity: 'The link is valid for {duration} and works once.',
  codeValidity: 'The code is valid for {duration} and works once.',
  codeAsked: 'It was asked for on {time} with: {browser}',
  hint: 'If the button does not work, open this address:',
  signInTime: 'Time: {time}',
  signInDevice: 'Device: {device}',
  signInAddress: 'IP address: {address}',
  account: 'Account: {username}'
}
