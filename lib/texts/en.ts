import type { MailTexts } from './mail-texts.ts'

/** The English texts. Every other language has the same keys and placeholders. `{name}` is a placeholder. */
const PAGES = {
  lang: 'en',
  errorInTitle: 'Error: {title}',
  doneInTitle: 'Done: {title}',
  continueTo: 'to continue to {client}',
  usernameLabel: 'Username or email',
  passwordLabel: 'Password',
  newPasswordLabel: 'New password',
  passwordHint: 'At least {minLength} characters. Avoid common passwords and your own name.',
  showPassword: 'Show password',
  optional: 'optional',
  fieldName: 'Full name',
  fieldGivenName: 'First name',
  fieldFamilyName: 'Last name',
  fieldNickname: 'Nickname',
  fieldPhone: 'Phone number',
  fieldBirthdate: 'Date of birth',
  fieldWebsite: 'Website',
  working: 'Working…',
  notYou: 'Not you?',

  loginTitle: 'Sign in to {title}',
  loginSubmit: 'Sign in',
  resendSubmit: 'Send it again',
  resentNote: 'A message is on its way. You can ask again in five minutes.',
  forgotLink: 'Forgot your password?',
  signupQuestion: 'New to {title}?',
  signupLink: 'Create an account',
  emailCodeLink: 'Email me a code',
  emailCodeTitle: 'Sign in with a code',
  emailCodeText: 'Enter your username or email and we’ll send you a code to sign in.',
  emailCodeSubmit: 'Send code',
  emailCodeSent: 'We sent a code to {username} if it has an account here. Keep this page open and enter the code.',
  emailCodeLabel: '8-digit code',
  emailCodeEnter: 'Enter the code instead',
  emailCodeOther: 'Use a different email',
  emailLinkElsewhere:
    'This link works only in the browser where you asked for it. Go back there and enter the code from the email, or sign in here instead.',
  emailLinkNotAsked: 'Didn’t ask for it? Close this page.',
  emailLinkHere: 'Sign in here instead',

  signupTitle: 'Create your {title} account',
  signupSubmit: 'Create account',
  loginQuestion: 'Already have an account?',
  loginLink: 'Sign in',
  sentTitle: 'Check your email',
  signupSentText: 'We sent a link to {username}. Open it to finish creating your account.',
  confirmCodeText: 'Or enter the code from the email:',
  checkSpam: 'Not there? Check your spam folder, or send it again.',

  forgotTitle: 'Forgot your password?',
  forgotText: 'We’ll email you a link to choose a new one.',
  forgotSubmit: 'Send link',
  forgotSentText: 'If this account exists, we’ve sent a link to its email. The link works once and for a short time.',
  backToLogin: 'Back to sign-in',

  resetTitle: 'Choose a new password',
  resetSubmit: 'Save new password',
  resetDoneTitle: 'Your password has been changed',
  resetDoneText: 'We signed you out everywhere. Sign in with your new password.',

  verifyTitle: 'Confirm your email',
  verifyText: 'An account was created with {username} ({time}). Was that you?',
  verifyChangeText: 'Use this email for the account {username}? You asked for this ({time}).',
  verifyNotMe: 'That wasn’t me',
  verifyNotMeHint: 'If it wasn’t you, we’ll lock that account.',
  verifyDisownedTitle: 'The account is locked',
  verifyDisownedText: 'The person who used your email can no longer sign in. There’s nothing else you need to do.',
  verifySubmit: 'Confirm email',
  verifyDoneTitle: 'Your email is confirmed',
  verifyDoneText: 'You can sign in now.',
  acceptTitle: 'Accept your invitation',
  acceptText: 'Choose a password for your account.',
  acceptSubmit: 'Accept invitation',
  acceptDoneTitle: 'Your account is ready',
  undoTitle: 'Wasn’t that you?',
  undoFactorText:
    'An authenticator app or a passkey was added to the account {username}. If that wasn’t you, we’ll remove what was added, sign out all devices and send you a link to choose a new password.',
  undoEmailText:
    'The account {username} has a new email. If that wasn’t you, we’ll restore yours, remove what was added since, sign out all devices and send you a link to choose a new password.',
  undoSubmit: 'That wasn’t me',
  undoDoneTitle: 'The change is undone',
  undoDoneText: 'All devices are signed out. We’ve sent you a link: choose a new password now.',
  changeStoppedTitle: 'The email stays as it was',
  changeStoppedText:
    'The link no longer works, and we’ve told the account’s owner. There’s nothing else you need to do.',
  expiredTitle: 'This link no longer works',
  expiredNewLink: 'Send a new link',
  expiredVerifyText: 'Sign in, and we’ll send you a new link if your email still needs confirming.',

  continueTitle: 'Continue to the app?',
  continueText: '{client} would like to sign you in.',
  consentTitle: '{client} wants access to your account',
  consentScopes: '{client} will be able to:',
  scopeOpenid: 'know who you are',
  scopeProfile: 'see your name and profile details',
  scopeEmail: 'see your email',
  scopePhone: 'see your phone number',
  scopeAddress: 'see your postal address',
  scopeOfflineAccess: 'keep this access when you’re not using the app',
  consentLifetime: 'Access ends after {duration}. You can remove it at any time in your account.',
  consentRedirect: 'You’ll go to {host}.',
  consentVouched: '{host} publishes this app.',
  consentUnverified: 'Unverified app: nobody has checked who made it.',
  consentOnComputer: 'A program on this computer will get the access. Continue only if you started it yourself.',
  consentAllow: 'Allow',
  consentDeny: 'Cancel',
  deviceTitle: 'Connect a device',
  deviceText: 'Enter the code that your device or app shows.',
  deviceCodeLabel: 'Code',
  deviceWarning:
    'Go on only if you started this yourself. If someone sent you this code or a link to this page, stop here.',
  deviceCompare: 'Check that your device shows this code:',
  deviceAsked: 'Requested on {time}. From: {place}',
  deviceDoneTitle: 'Your device is connected',
  deviceDoneText: 'Go back to your device. You can close this window now.',
  deviceDeniedTitle: 'The device was not connected',

  secondFactorTitle: 'Confirm it’s you',
  secondFactorText: 'Enter the 6-digit code from your authenticator app.',
  secondFactorLost: 'Lost everything?',
  contactSupport: 'Contact support',
  reauthTitle: 'Confirm it’s you',
  reauthText: 'For your security, please confirm it’s you before you continue.',
  codeLabel: '6-digit code',
  recoveryText: 'One of the codes you saved when you set this up. Each works once.',
  recoveryLabel: 'Recovery code',
  rememberLabel: 'Don’t ask again on this device for {duration}',
  securityTitle: 'Passkeys and two-step sign-in',
  twoStepTitle: 'Two-step sign-in',
  securityText: 'Add a second step, so that nobody can sign in with your password alone.',
  factorApp: 'Authenticator app',
  factorSince: 'Added {since} · never used',
  factorTimes: 'Added {since} · last used {used}',
  factorOff: 'Known browsers only',
  factorAdd: 'Add an authenticator app',
  factorRemove: 'Remove',
  factorRename: 'Save name',
  factorNameLabel: 'Name of the app',
  removeFactorTitle: 'Remove {name}?',
  removeFactorText: 'You won’t be able to sign in with it any more.',
  factorLastText: 'If you remove the last app, your password alone is enough again.',
  codesLeft: 'Recovery codes left: {count}',
  codesNew: 'Make new recovery codes',
  codesNewText: 'Your old codes will stop working.',
  twoStepTurnOn: 'Turn on two-step sign-in',
  twoStepTurnOff: 'Turn off two-step sign-in',
  devicesTitle: 'Remembered devices',
  devicesText: 'These devices aren’t asked for a code. If you’ve lost one, forget them all.',
  devicesForget: 'Forget all devices',
  codesTitle: 'Save your recovery codes',
  codesText: 'If you lose your phone, you can sign in with these codes. Each works once.',
  codesSaved: 'I have saved these codes',
  codesDownload: 'Download',
  codesPrint: 'Print',
  doneSubmit: 'Done',
  enrolScan: 'Scan this code with your authenticator app',
  enrolQr: 'QR code of the key',
  enrolKey: 'Can’t scan it? Copy this key',
  enrolOpen: 'Open your authenticator app',
  enrolCode: 'Then enter the 6-digit code from the app.',
  enrolSubmit: 'Turn on',
  enrolText:
    'Turns on two-step sign-in: your password alone won’t be enough any more. You’ll be signed out on other devices.',
  passkeySignIn: 'Sign in with a passkey',
  passkeyWay: 'Passkey',
  passkeyUse: 'Use a passkey',
  passkeySecond: 'Use your passkey to confirm it’s you.',
  passkeyFailed: 'That did not work. Try again or choose another way.',
  passkeyExists: 'This device already has a passkey for your account.',
  passkeysMissing: 'This browser can’t use passkeys here, or its scripts are turned off.',
  passkeysTitle: 'Passkeys',
  passkeysText: 'Sign in with your fingerprint, face or screen lock. No password needed.',
  passkeyByLock: 'Use your fingerprint, face or screen lock',
  passkeyNoPassword: 'No password to remember or to steal',
  passkeyKeeps: 'Your password keeps working',
  passkeyName: 'Unnamed passkey',
  passkeyNameLabel: 'Name of the passkey',
  passkeyAdd: 'Add passkey',
  passkeyCreate: 'Create passkey',
  passkeySynced: 'Synced',
  passkeyUnsynced: 'On one device only',
  passkeySole: 'This passkey is only on this device. Add another one, so that you can still sign in if you lose it.',
  passkeyLastText: 'If you remove the last passkey, your password alone is enough again.',
  passkeyPromptTitle: 'Sign in faster next time',
  passkeySkip: 'Not now',
  setUpTitle: 'Add a second step',
  setUpText: 'Your account needs one to keep it safe.',
  setUpForPageText: 'The page that you want to open needs one.',
  recommended: 'Recommended',
  appOption: 'A 6-digit code from an app on your phone',
  factorLinkTitle: 'Set up a new second step',
  factorLinkText: 'With this link {username} sets up a new second step at sign-in. Continue, then sign in as usual.',

  logoutTitle: 'Sign out?',
  logoutText: 'Do you want to sign out of {title}?',
  logoutSubmit: 'Sign out',
  signedOutTitle: 'You are signed out',
  nobodySignedInTitle: 'Nobody was signed in here',
  signedOutText: 'You can close this window now.',
  homeLink: 'Go to {title}',
  signInAgain: 'Sign in again',

  accountTitle: 'Your account',
  accountBack: 'Back to your account',
  groupPersonal: 'Personal',
  groupSignIn: 'Signing in',
  groupActivity: 'Activity',
  stateOn: 'On',
  stateOff: 'Off',
  change: 'Change',
  badgeConfirmed: 'Confirmed',
  badgeUnconfirmed: 'Not confirmed',
  profileTitle: 'Profile',
  profileSubmit: 'Save',
  emailTitle: 'Email',
  emailConfirmed: 'Your email {email} is confirmed.',
  emailUnconfirmed: 'Your email {email} isn’t confirmed yet.',
  emailNone: 'Your account has no email.',
  emailChangeText: 'We’ll send a link to the new email. Nothing changes until you open it.',
  newEmailLabel: 'New email',
  passwordTitle: 'Change password',
  passwordText: 'You’ll be signed out on all other devices, and apps that you gave access lose it.',
  passwordChanged: 'Changed {time}',
  passwordNone: 'Your account has no password. We’ll send you a link to set one.',
  currentPasswordLabel: 'Current password',
  sessionsTitle: 'Your devices',
  sessionHere: 'This browser',
  sessionsOthers: 'Other devices',
  sessionsShowAll: 'Show all ({count})',
  sessionUnknown: 'Unknown device',
  sessionTimes: 'Last used {used} · signed in {since}',
  sessionsEndOthers: 'Sign out everywhere else',
  listCut: 'The list shows the first {count}.',
  sessionsEndAll: 'Sign out everywhere',
  sessionsEndText: 'Apps are signed out too.',
  accessTitle: 'Apps with access',
  accessNone: 'You have not given any other app access to your account.',
  accessSince: 'Allowed {time}',
  accessEnd: 'Remove access',
  apiKeysTitle: 'API keys',
  apiKeysText: 'With an API key, your own programs can act for you. Keep each key as secret as a password.',
  apiKeySince: 'Created on {since}, not used since.',
  apiKeyTimes: 'Created on {since}, last used on {used}.',
  apiKeyUntil: 'Valid until {time}.',
  apiKeyForever: 'No end date',
  apiKeyNameLabel: 'Name of the key',
  apiKeyLifetime: 'Valid for',
  apiKeyOneApi: 'A key is for one API.',
  apiKeyCreate: 'Create a key',
  apiKeyRemoveText: 'Programs with this key lose access at once.',
  apiKeyMadeTitle: 'Your new API key',
  apiKeyMadeText: 'Copy the key now and keep it in a safe place: it is not shown again.',
  connectionsTitle: 'Connected accounts',
  connectionsText: 'You can sign in with these accounts at other providers.',
  connectionsNone: 'No account at another provider is connected yet.',
  connectionsTimes: 'Connected {since} · last used {used}',
  connectionsEnd: 'Disconnect',
  connectionsAdd: 'Connect {name}',
  removeTitle: 'Delete account',
  removeText:
    'This permanently deletes {username} and everything in it, and signs you out everywhere. This can’t be undone.',
  removeSubmit: 'Delete my account',
  removeDoneTitle: 'Your account has been deleted',
  freshText: 'It’s been a while. Please sign in again to continue.',
  doneProfile: 'Your profile has been saved.',
  doneEmailSent: 'We’ve sent a link to the new email. Open it to finish.',
  doneEmailResent: 'We’ve sent a link. Open it to confirm your email.',
  doneEmailWaiting: 'A link went to you a few minutes ago and still works. Please look into your spam folder, too.',
  donePassword: 'Your password has been changed.',
  doneSession: 'That sign-in has ended.',
  doneOthers: 'You are signed out everywhere else.',
  doneAccess: 'The app no longer has access.',
  doneApiKeyRemoved: 'The key has been removed and no longer works.',
  doneUnlinked: 'The account is disconnected. You can no longer sign in with it.',
  donePasswordLink: 'We’ve sent a link. Open it to set a password.',
  doneFactorAdded: 'The authenticator app is set up.',
  doneFactorRemoved: 'The authenticator app has been removed.',
  doneFactorRenamed: 'The name has been saved.',
  doneDevicesForgotten: 'Every device is asked for a code again.',
  doneTwoStepOff: 'Two-step sign-in is off. Your recovery codes no longer work.',
  donePasskeyAdded: 'The passkey is set up.',
  donePasskeyRemoved: 'The passkey has been removed. You can delete it on your device too.',
  doneNothing: 'Nothing was changed, because you have signed in again since this page was opened. Please try again.',

  connectOr: 'or',
  connectWith: 'Continue with {name}',
  connectGoText: 'You are being taken to {name}.',
  connectConfirmTitle: 'You already have an account',
  connectConfirmText: 'You already have an account with {email}. Sign in as usual, then connect {name}.',
  connectConfirmHint:
    'You don’t know its password, or someone else signed up with your email? Get a link to choose a new password.',
  connectLinkTitle: 'Connect {name}?',
  connectLinkText: 'You can then sign in to this account with {name} too.',
  connectLinkIdentity: 'You signed in at {name} as {identity}. Connect the accounts only if that was you.',
  connectLinkSubmit: 'Connect',
  connectFinishTitle: 'Almost there',
  connectFinishText: 'Your new account needs a few more details.',
  errorRequestExpired: 'This request has expired or was already used. Please go back to the app and try again.',
  errorSignInTooLong: 'This sign-in needs more room than a browser has for it. Please tell the people who run the app.',
  errorConnectionAgain: 'This sign-in has expired or was started in another browser. Please start again.',
  errorConnectionDenied: 'The sign-in there was not completed. Try again, or sign in another way.',
  errorConnectionRefused: 'You can’t sign in this way.',
  errorConnectionEmail:
    'This way to sign in needs a confirmed email address that this service accepts. Please sign in in another way.',
  errorConnectionClosed: 'There is no account for you here yet, and none can be created this way.',
  errorConnectionTaken: 'That sign-in already belongs to another account here.',
  errorLastMethod:
    'This is your last way to sign in. Connect another account or set a password before you disconnect it.',
  errorConnectionOtherWay:
    'There is already an account with your email address. Please sign in the way you did before.',
  errorConnectionBroken:
    'The other service sent an answer that we can’t use. Please try again later or sign in in another way.',
  errorConnectionDown:
    'The other service can’t be reached right now. Please try again in a moment or sign in in another way.',
  errorConnectionStale: 'The other service didn’t ask you to sign in again. Sign out there, then try again.',
  errorConnectionOnly: 'People with this address sign in through their organization.',

  errorTitle: 'Something went wrong',
  errorDetails: 'Details for support',
  errorCode: 'Error code: {code}',
  copyCode: 'Copy',
  copiedCode: 'Copied',
  formPostTitle: 'One moment, please',
  formPostText: 'You are being taken back to {client}.',
  formPostTextNoClient: 'You are being taken back to the application.',
  continueSubmit: 'Continue',

  languageLabel: 'Language',
  linkTerms: 'Terms of use',
  linkPrivacy: 'Privacy',
  linkSupport: 'Help',

  errorInvalidGrant: 'The username or password is wrong.',
  errorCurrentPassword: 'The current password is wrong.',
  errorTooManyRequests: 'Too many attempts. Please wait {duration} and try again.',
  errorTooManyRequestsLater: 'Too many attempts. Please try again later.',
  errorTemporarilyUnavailable: 'The service is not available right now. Please try again in a moment.',
  errorServerError: 'Something went wrong on our side. Please try again later.',
  errorInvalidRequest: 'The request is not valid. Please go back and try again.',
  errorInvalidField: 'Please check what you entered here.',
  errorInvalidToken: 'Links work once and for a short time. Ask for a new one.',
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
  errorSignInTooWeak: 'This page needs two-step sign-in. Set it up in your account first.',
  errorUsernameTaken: 'This username is already taken.',
  errorCharacters: 'The username is too long or contains characters that are not allowed.',
  errorUsernameForm:
    'Use an email address, or 3 to 64 characters: a–z, 0–9, dot, underscore and hyphen, starting with a letter or digit.',
  errorEmailForm: 'This is not a valid email.',
  errorEmailNotVerified: 'Your email isn’t confirmed yet. Open the link in the email that we sent you.',
  errorEmailDiffers: 'If your username is an email address, this must be the same one.',
  errorEmailSame: 'This is your email already.',
  errorCodeForm: 'The code has 6 digits.',
  errorWrongCode: 'This code is wrong. Enter the one that the app shows now.',
  errorUsedCode: 'This code was used already. Wait until the app shows the next one.',
  errorFactorDisabled: 'After too many wrong codes, your authenticator app no longer works here. Use a recovery code.',
  errorEmailCodeForm: 'The code has 8 digits.',
  errorEmailCodeWrong: 'This code is wrong.',
  errorEmailCodeSpent: 'Too many wrong codes were entered. Wait ten minutes, then get a new code.',
  errorEmailCodeAgain: 'This code no longer works, or you asked for it in another browser. Get a new code.',
  errorEmailCodeRefused: 'This code is wrong or no longer works. Check it, or open the link in the email.',
  errorDeviceCodeForm: 'The code has 8 letters.',
  errorDeviceCodeWrong: 'This code is wrong or has expired. Check it on your device, or get a new one there.',
  errorWrongRecoveryCode: 'This recovery code is wrong, or was used already.',
  errorPasskeyRefused: 'The passkey was not accepted. Try again, or sign in another way.',
  errorPasskeyCopied:
    'There may be a copy of this passkey, so it was not accepted. Sign in another way, remove it, and create a new one.',
  errorPasskeyTwice: 'You have this passkey already.',
  errorPasskeyLimit: 'You have as many passkeys as you can have. Remove one first.',
  errorFactorLimit: 'You have as many authenticator apps as you can have. Remove one first.',
  errorApiKeyLimit: 'You have as many API keys as you can have. Remove one first.',
  errorLastFactor: 'This is your last authenticator app, and your account needs one.',
  errorRequired: 'Please fill in this field.',
  errorTooShort: 'Use {limit, plural, one {# character} other {# characters}} or more.',
  errorTooLong: 'Use at most {limit, plural, one {# character} other {# characters}}.',
  errorAtLeast: 'Enter {limit} or more.',
  errorAtMost: 'Enter {limit} or less.',
  errorAbove: 'Enter more than {limit}.',
  errorBelow: 'Enter less than {limit}.',
  errorMultiple: 'Enter a multiple of {limit}.',
  errorNumber: 'Enter a number.',
  errorInteger: 'Enter a whole number.',
  errorChoice: 'Choose one of these.',
  errorForm: 'Enter it like this: {limit}',
  errorPassword: 'This password can’t be used. Please choose another one.',
  errorPasswordTooShort: 'The password needs at least {minLength} characters.',
  errorPasswordTooShortPlain: 'The password is too short.',
  errorPasswordTooLong: 'The password is too long.',
  errorPasswordCharacters: 'The password contains characters that are not valid.',
  errorPasswordCommon: 'This is one of the most common passwords. Please choose another one.',
  errorPasswordContext:
    'This password is too easy to guess, because it is made of your username or the name of this service. Please choose another one.',
  errorPasswordBreached: 'This password is known from a data breach. Please choose another one.'
} as const

export type MessageKey = keyof typeof PAGES
/** All texts of the pages in one language. */
export type Messages = Readonly<Record<MessageKey, string>>

const BY_EMAIL = {
  usernameLabel: 'Email',
  forgotText: 'We’ll email you a link to choose a new one.',
  emailCodeText: 'Enter your email and we’ll send you a code to sign in.',
  forgotSentText: 'If this email has an account, we’ve sent a link to it. The link works once and for a short time.',
  errorInvalidGrant: 'The email or password is wrong.',
  errorUsernameTaken: 'There is already an account with this email.',
  errorCharacters: 'The email is too long or contains characters that are not allowed.',
  errorPasswordContext:
    'This password is too easy to guess, because it is made of your email or the name of this service. Please choose another one.'
} as const satisfies Partial<Messages>

const MAILS: MailTexts = {
  password_reset: {
    heading: 'Choose a new password',
    text: 'We got a request to reset the password for your account.',
    button: 'Choose a new password',
    otherwise: 'If that wasn’t you, you can ignore this message: nothing changes.'
  },
  verify_email: {
    heading: 'Confirm your email',
    text: 'Confirm your email to finish creating your account.',
    button: 'Confirm email',
    otherwise: 'If that wasn’t you, don’t confirm it. You can ignore this message.'
  },
  already_registered: {
    heading: 'You already have an account',
    text: 'Someone tried to sign up with this email, but it already has an account. If that was you, sign in, or choose a new password here.',
    button: 'Choose a new password',
    otherwise: 'If that wasn’t you, you can ignore this message.'
  },
  password_changed: {
    heading: 'Your password was changed',
    text: 'The password of your account was changed, and all other devices were signed out.'
  },
  new_sign_in: {
    heading: 'New sign-in to your account',
    text: 'Someone signed in to your account on a new device or browser.',
    button: 'Review your account'
  },
  email_change: {
    heading: 'Confirm your new email',
    text: 'You asked to use this email for your account. Once confirmed, it replaces the former one.',
    button: 'Confirm email',
    otherwise: 'If that wasn’t you, don’t confirm it. You can ignore this message.'
  },
  invitation: {
    heading: 'You’re invited',
    text: 'An account was created for you. Accept the invitation to use it.',
    button: 'Accept invitation',
    otherwise: 'If you weren’t expecting this, you can ignore this message.'
  },
  email_change_requested: {
    heading: 'A change of your email was requested',
    text: 'Someone asked to change the email of your account. It changes when the link that we sent to the new email is opened.',
    otherwise:
      'If that wasn’t you, choose a new password now: use “Forgot your password?” on the sign-in page. That signs everyone out and stops the change.'
  },
  email_changed: {
    heading: 'Your email was changed',
    text: 'Your account now has another email. Messages no longer go to this one, and links that we sent to it no longer work.',
    otherwise: 'If that wasn’t you, contact us now.'
  },
  email_change_refused: {
    heading: 'Your new email was refused',
    text: 'The owner of the new email says that it isn’t yours. Your account keeps its email.'
  },
  impersonated: {
    heading: 'Our support team used your account',
    text: 'A member of our team used the service with your account for a short time, to help you or to look into a problem. That way nobody can change your password, your email or the ways you sign in.'
  },
  account_removed_user: {
    heading: 'Your account was deleted',
    text: 'You asked us to delete your account, and we did. All devices were signed out.',
    otherwise: 'If that wasn’t you, contact us now.'
  },
  account_removed_host: {
    heading: 'Your account was deleted',
    text: 'We deleted your account. All devices were signed out.'
  },
  identity_linked: {
    heading: 'New way to sign in to your account',
    text: 'An account at another provider was connected to your account. You can now use it to sign in.',
    otherwise: 'If that wasn’t you, disconnect it on your account page now, and choose a new password.'
  },
  identity_linked_takeover: {
    heading: 'You sign in through another provider now',
    text: 'Another provider manages your email. You now sign in only through it. Your password, your passkeys and your other ways to sign in were removed, and all devices were signed out. An authenticator app stays.',
    otherwise: 'If that wasn’t you, contact us now.'
  },
  identity_unlinked: {
    heading: 'A way to sign in to your account was removed',
    text: 'An account at another provider was disconnected from your account. Nobody can sign in to your account with it any more.'
  },
  second_factor_failed: {
    heading: 'A sign-in stopped at the second step',
    text: 'Someone passed the first step of a sign-in to your account, but failed at the second.'
  },
  factor_added_totp: {
    heading: 'An authenticator app was added',
    text: 'An authenticator app was set up for your account. You can now use its codes to sign in.'
  },
  factor_added_passkey: {
    heading: 'A passkey was added',
    text: 'A passkey was set up for your account. You can now use it to sign in.'
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
    text: 'An authenticator app was removed from your account. Its codes no longer work here.'
  },
  factor_removed_passkey: {
    heading: 'A passkey was removed',
    text: 'A passkey was removed from your account. It no longer works here.'
  },
  factor_removed_all: {
    heading: 'Your two-step sign-in was reset',
    text: 'All passkeys, authenticator apps and recovery codes of your account were removed, and all devices were signed out.'
  },
  factor_disabled: {
    heading: 'Your authenticator app was restricted',
    text: 'Someone passed the first step of a sign-in to your account and then gave many wrong codes. Your authenticator app now works only in browsers in which you have used it before. To use it elsewhere, remove it on the security page of your account, and set it up again.'
  },
  recovery_code_used: {
    heading: 'A recovery code was used',
    text: 'A recovery code was used to sign in to your account. That code no longer works.'
  },
  passkey_counter_regressed: {
    heading: 'A passkey may have been copied',
    text: 'Someone may have copied a passkey of your account, so we didn’t accept it.',
    otherwise: 'Sign in another way, remove this passkey on the security page of your account, and create a new one.'
  },
  sign_in_code: {
    heading: 'Your sign-in code',
    text: 'Enter this code on the page where you asked for it.',
    button: 'Sign in',
    otherwise: 'Don’t share this code. We’ll never ask you for it. Didn’t ask for it? Ignore this message.'
  },
  secure: 'If that wasn’t you, choose a new password now: use “Forgot your password?” on the sign-in page.',
  secureWithoutPassword:
    'If that wasn’t you, open your account page now: choose “Sign out everywhere else”, and remove anything that isn’t yours.',
  undo: 'If that wasn’t you, press the button now. It undoes the change, signs out all devices and sends you a link to choose a new password.',
  apiKeysStay: 'Your API keys still work. Remove any that you don’t know.',
  notAsked: 'If you didn’t ask us to do that, contact us now.',
  validity: 'The link is valid for {duration} and works once.',
  codeValidity: 'The code is valid for {duration} and works once.',
  onlyHere: 'The button works only in the browser where you asked for the code.',
  codeAsked: 'Requested on {time} with: {browser}',
  hint: 'Button not working? Open this address:',
  signInTime: 'Time: {time}',
  signInDevice: 'Device: {device}',
  signInAddress: 'IP address: {address}',
  account: 'Account: {username}'
}

/** A language: `EN`, or the JSON file of another language. The fields before the texts are the head of the file. */
export interface Language {
  /** The language's own name for itself. */
  name: string
  direction: 'ltr' | 'rtl'
  /** Separates two sentences: a space, or `''`. */
  space: string
  /**
   * Fonts with the letters of the language. `''`: the usual fonts have them. Chinese and Japanese write many
   * shared characters in different shapes, so each language names its own fonts.
   */
  fonts: string
  wordBreak: 'normal' | 'auto-phrase' | 'keep-all'
  /** True if letters have marks above and below, which need taller lines. */
  tall: boolean
  /** Further language tags that select this language, in lower case. */
  aliases: readonly string[]
  /** The texts of the pages, including errors. */
  pages: Messages
  /** Replaces texts of `pages` if every username is an email address. */
  byEmail: Partial<Messages>
  mails: MailTexts
}

export const EN: Language = {
  name: 'English',
  direction: 'ltr',
  space: ' ',
  fonts: '',
  wordBreak: 'normal',
  tall: false,
  aliases: [],
  pages: PAGES,
  byEmail: BY_EMAIL,
  mails: MAILS
}
