import { messagesOf } from '../../../lib/pages/texts.ts'
import type { CommonModel } from '../../../lib/pages/common-model.ts'
import type { PageModels, PageName } from '../../../lib/pages/model.ts'
import { resolvePages } from '../../../lib/settings/sections/pages.ts'
import { deviceModels } from './device-models.ts'

export const COMMON: CommonModel = {
  title: 'Example Service',
  logo: null,
  ...resolvePages({}, 'https://auth.example').shown,
  footer: { terms: '/terms', privacy: 'https://example.com/privacy', support: 'mailto:help@example.com' },
  languages: [
    { lang: 'en', name: 'English', url: '?ui_locales=en' },
    { lang: 'de', name: 'Deutsch', url: '?ui_locales=de' }
  ],
  requestId: 'req-1',
  lang: 'en',
  dir: 'ltr',
  messages: messagesOf('en'),
  styleUrl: '/auth/pages.css?v=1',
  scriptUrl: '/auth/pages.js?v=1',
  clientName: 'Acme Photos'
}

const form = { action: '/auth/post?client_id=acme', error: null }
const accountLinks = {
  profile: '/auth/account/profile',
  email: '/auth/account/email',
  password: '/auth/account/password',
  security: '/auth/security',
  connections: null,
  sessions: '/auth/account/sessions',
  access: null,
  apiKeys: null,
  remove: '/auth/account/remove'
}
const account = { username: 'ann', accountUrl: '/auth/account', accountLinks, logoutUrl: '/auth/logout', done: null }
const connections = [
  {
    id: 'google',
    name: 'Google',
    label: null,
    brand: 'google',
    mark: { '#4285F4': 'M0 0h24v24H0z' },
    logoUrl: null,
    url: '/auth/connect/google?client_id=acme'
  },
  {
    id: 'sso',
    name: 'Acme',
    label: 'Work or school account',
    brand: null,
    mark: null,
    logoUrl: null,
    url: '/auth/connect/sso?client_id=acme'
  }
]
const loginUrl = '/auth/login?client_id=acme'

const asked = {
  scriptUrl: '/auth/passkeys.js?v=1',
  signals: {},
  renewUrl: null,
  options: { rpId: 'auth.example', challenge: 'AAAA', allowCredentials: [{ type: 'public-key', id: 'AAAA' }] }
}
const made = {
  ...asked,
  options: {
    rp: { id: 'auth.example', name: 'Example Service' },
    user: { id: 'AAAA', name: 'ann', displayName: 'Ann' },
    challenge: 'AAAA'
  }
}

/** A plain model of every page. */
export const MODELS: PageModels = {
  login: {
    ...COMMON,
    ...form,
    again: false,
    username: '',
    otherUrl: null,
    signupUrl: '/auth/signup',
    forgotUrl: '/auth/forgot-password',
    emailCodeUrl: '/auth/email-code',
    connections,
    passwordLater: false,
    passkey: null,
    tellsPasskeys: false
  },
  second_factor: {
    ...COMMON,
    ...form,
    username: 'ann',
    way: 'code',
    otherWays: [
      { way: 'passkey', url: '/auth/second-factor?way=passkey' },
      { way: 'recovery_code', url: '/auth/second-factor?way=recovery_code' }
    ],
    rememberSeconds: 2_592_000,
    loginUrl,
    passkey: null,
    tellsPasskeys: false
  },
  passkey_prompt: {
    ...COMMON,
    ...form,
    username: 'ann',
    passkey: made,
    skipUrl: '/'
  },
  reauthenticate: {
    ...COMMON,
    ...form,
    username: 'ann',
    asksPassword: true,
    passkey: asked,
    sendsCode: false,
    connections,
    loginUrl
  },
  second_factor_link: { ...COMMON, ...form, token: 'one-time', username: 'ann' },
  set_up_second_factor: {
    ...COMMON,
    ...form,
    username: 'ann',
    forAccount: true,
    enrolment: {
      token: 'sealed',
      secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
      uri: 'otpauth://totp/Acme:ann?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Acme',
      qr: { size: 29, path: 'M4 4h7v1h-7z' }
    },
    passkey: made,
    sent: false,
    name: '',
    loginUrl
  },
  signup: {
    ...COMMON,
    ...form,
    username: '',
    fields: [
      { name: 'terms', label: 'I accept the terms', type: 'checkbox', required: true, value: '', choices: [] },
      { name: 'email', label: 'Email', type: 'email', required: true, value: '', choices: [] },
      { name: 'age', label: 'Age', type: 'number', required: false, value: '', choices: [] },
      {
        name: 'plan',
        label: 'Plan',
        type: 'select',
        required: true,
        value: '',
        choices: [
          { value: 'free', label: 'Free' },
          { value: 'paid', label: 'Paid' }
        ]
      }
    ],
    minLength: 8,
    loginUrl,
    connections
  },
  email_code: {
    ...COMMON,
    ...form,
    step: 'enter',
    username: 'ann@mail.example',
    fields: [],
    hasLink: true,
    tellsPasskeys: false,
    loginUrl
  },
  email_link: {
    ...COMMON,
    ...form,
    token: 'link-token',
    username: 'ann@mail.example',
    tellsPasskeys: false,
    codeUrl: '/auth/email-code?client_id=acme'
  },
  forgot_password: { ...COMMON, ...form, username: '', loginUrl },
  check_email: {
    ...COMMON,
    ...form,
    awaits: 'signup',
    username: 'ann@mail.example',
    resent: false,
    hasCode: true,
    otherUrl: '/auth/signup?client_id=acme',
    loginUrl
  },
  reset_password: { ...COMMON, ...form, token: 'reset-token', username: 'ann', minLength: 8, loginUrl, done: false },
  verify_email: {
    ...COMMON,
    ...form,
    token: 'verify-token',
    username: 'ann',
    sentAt: Date.UTC(2026, 0, 1, 12),
    canDisown: true,
    newAddress: null,
    loginUrl,
    continueUrl: null,
    done: false,
    disowned: false
  },
  accept_invitation: {
    ...COMMON,
    ...form,
    token: 'invitation-token',
    username: 'ann@mail.example',
    minLength: 8,
    asksPassword: true,
    connections,
    loginUrl,
    done: false
  },
  undo: { ...COMMON, ...form, token: 'undo-token', what: 'factor', username: 'ann', done: false },
  consent: {
    ...COMMON,
    ...form,
    asks: 'consent',
    username: 'ann@mail.example',
    otherUrl: '/auth/login?prompt=x',
    client: { name: 'Acme Photos', id: 'acme', redirectHost: 'photos.acme.example' },
    unknown: null,
    scopes: [
      { name: 'openid', description: 'scopeOpenid', own: null },
      { name: 'photos:write', description: null, own: null }
    ],
    lifetimeSeconds: 2_592_000,
    clientLogoUri: null,
    clientUri: null
  },
  account: {
    ...COMMON,
    username: 'ann',
    email: 'ann@mail.example',
    emailVerified: false,
    states: {
      passkeys: 2,
      twoStep: true,
      passwordChangedAt: Date.UTC(2026, 0, 1, 12),
      connections: ['Google'],
      sessions: 3,
      access: 1,
      apiKeys: 0
    },
    links: {
      profile: '/auth/account/profile',
      email: '/auth/account/email',
      password: '/auth/account/password',
      security: '/auth/security',
      connections: '/auth/account/connections',
      sessions: '/auth/account/sessions',
      access: '/auth/account/access',
      apiKeys: '/auth/account/api-keys',
      remove: '/auth/account/remove'
    },
    accountUrl: '/auth/account',
    logoutUrl: '/auth/logout',
    backUrl: '/'
  },
  account_profile: {
    ...COMMON,
    ...form,
    ...account,
    fields: [{ name: 'nickname', label: 'Nickname', type: 'text', required: false, value: 'Annie', choices: [] }]
  },
  account_email: {
    ...COMMON,
    ...form,
    ...account,
    currentEmail: 'ann@mail.example',
    emailVerified: false,
    email: '',
    awaited: null,
    canChange: true,
    canResend: true,
    askPassword: true,
    signInUrl: null
  },
  account_remove: { ...COMMON, ...form, ...account, askPassword: true, signInUrl: null },
  account_removed: { ...COMMON, homeUrl: '/' },
  account_password: { ...COMMON, ...form, ...account, minLength: 8, hasPassword: true },
  account_connections: {
    ...COMMON,
    ...form,
    ...account,
    links: [
      {
        id: 'link-1',
        name: 'Google',
        email: 'ann@mail.example',
        linkedAt: Date.UTC(2026, 0, 1, 12),
        lastUsedAt: Date.UTC(2026, 0, 2, 12)
      },
      {
        id: 'link-2',
        name: 'Acme',
        email: null,
        linkedAt: Date.UTC(2026, 0, 1, 12),
        lastUsedAt: Date.UTC(2026, 0, 2, 12)
      }
    ],
    ways: connections,
    askPassword: true,
    signInUrl: null
  },
  account_security: {
    ...COMMON,
    ...form,
    ...account,
    factors: [
      {
        id: 'phone',
        name: 'My phone',
        createdAt: Date.UTC(2026, 0, 1, 12),
        lastUsedAt: null,
        disabled: false,
        removeUrl: '?remove=phone'
      },
      {
        id: 'old',
        name: null,
        createdAt: Date.UTC(2025, 0, 1, 12),
        lastUsedAt: Date.UTC(2026, 0, 2, 12),
        disabled: true,
        removeUrl: '?remove=old'
      }
    ],
    hasPassword: true,
    mustKeepOne: false,
    twoStep: { on: true, offers: 'off' },
    recoveryCodesLeft: 9,
    enrolUrl: '/auth/security/totp',
    canForget: true,
    signInUrl: null,
    passkeys: [
      {
        id: 'key',
        name: null,
        createdAt: Date.UTC(2026, 0, 1, 12),
        lastUsedAt: null,
        synced: false,
        removeUrl: '?remove=key'
      },
      {
        id: 'cloud',
        name: 'Cloud',
        createdAt: Date.UTC(2026, 0, 1, 12),
        lastUsedAt: Date.UTC(2026, 0, 2, 12),
        synced: true,
        removeUrl: '?remove=cloud'
      }
    ],
    addPasskeyUrl: '/auth/security/passkeys',
    removing: null,
    passkeySignals: {
      scriptUrl: '/auth/passkeys.js?v=1',
      signals: {
        signalAllAcceptedCredentials: { rpId: 'auth.example', userId: 'handle', allAcceptedCredentialIds: ['one'] }
      }
    }
  },
  account_passkey: {
    ...COMMON,
    ...form,
    ...account,
    passkey: made,
    name: '',
    signInUrl: null,
    confirmUrl: null
  },
  account_totp: {
    ...COMMON,
    ...form,
    ...account,
    enrolment: {
      token: 'sealed',
      secret: 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ',
      uri: 'otpauth://totp/Acme:ann?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Acme',
      qr: { size: 29, path: 'M4 4h7v1h-7z' }
    },
    signInUrl: null,
    confirmUrl: null,
    endsOthers: true
  },
  account_recovery_codes: {
    ...COMMON,
    username: 'ann',
    signedIn: true,
    codes: ['0000-1111-2222-3333-4444-5555', 'aaaa-bbbb-cccc-dddd-eeee-ffff'],
    backUrl: '/auth/security'
  },
  account_sessions: {
    hasMore: true,
    ...COMMON,
    ...form,
    ...account,
    sessions: [
      {
        id: 'here',
        current: true,
        clientName: null,
        userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
        createdAt: Date.UTC(2026, 0, 1, 12),
        lastUsedAt: Date.UTC(2026, 0, 2, 12)
      },
      {
        id: 'there',
        current: false,
        clientName: 'Acme Photos',
        userAgent: null,
        createdAt: Date.UTC(2026, 0, 1, 12),
        lastUsedAt: Date.UTC(2026, 0, 2, 12)
      }
    ]
  },
  account_api_keys: {
    ...COMMON,
    ...form,
    ...account,
    keys: [
      {
        id: 'key-1',
        name: 'Nightly',
        scopes: [{ name: 'photos:write', description: null, own: null }],
        api: 'Photos',
        createdAt: Date.UTC(2026, 0, 1, 12),
        lastUsedAt: Date.UTC(2026, 0, 2, 12),
        expiresAt: Date.UTC(2026, 3, 1, 12),
        removeUrl: '/auth/account/api-keys?remove=key-1'
      }
    ],
    hasMore: true,
    newest: 'key-1',
    name: 'Backup',
    groups: [
      {
        name: null,
        scopes: [
          { field: 'scope profile', scope: { name: 'profile', description: 'scopeProfile', own: null }, checked: true }
        ]
      },
      {
        name: 'Photos',
        scopes: [
          {
            field: 'scope photos:write',
            scope: { name: 'photos:write', description: null, own: { text: 'change photos', lang: 'en' } },
            checked: false
          }
        ]
      }
    ],
    lifetimes: [
      { seconds: 2_592_000, chosen: true },
      { seconds: null, chosen: false }
    ],
    signInUrl: null,
    removing: null
  },
  account_api_key: {
    ...COMMON,
    username: 'ann',
    name: 'Nightly',
    key: 'fa_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf1Yo7hP',
    backUrl: '/auth/account/api-keys'
  },
  account_access: {
    hasMore: true,
    ...COMMON,
    ...form,
    ...account,
    clients: [
      {
        clientId: 'acme',
        name: 'Acme Photos',
        scopes: [
          { name: 'openid', description: 'scopeOpenid', own: null },
          { name: 'photos:write', description: null, own: null }
        ],
        grantedAt: Date.UTC(2026, 0, 1, 12)
      }
    ]
  },
  connect_leaving: { ...COMMON, name: 'Google', url: 'https://accounts.google.example/o/oauth2/v2/auth?state=s' },
  connect_failed: { ...COMMON, error: { error: 'connection_denied', text: 'No.', field: null }, loginUrl },
  ...deviceModels(COMMON, form),
  connect_confirm: {
    ...COMMON,
    name: 'Google',
    email: 'ann@mail.example',
    signInUrl: loginUrl,
    forgotUrl: '/auth/forgot-password'
  },
  connect_link: {
    ...COMMON,
    ...form,
    name: 'Google',
    username: 'ann@mail.example',
    identity: 'Ann Example (ann@mail.example)',
    skipUrl: '/auth/authorize?client_id=acme'
  },
  connect_finish: {
    ...COMMON,
    ...form,
    name: 'Google',
    email: 'ann@mail.example',
    fields: [{ name: 'age', label: 'Age', type: 'number', required: true, value: '', choices: [] }],
    loginUrl
  },
  logout: { ...COMMON, ...form, username: 'ann@mail.example' },
  signed_out: { ...COMMON, ended: true, homeUrl: '/', loginUrl },
  error: {
    ...COMMON,
    error: { error: 'invalid_request', text: 'No.', field: null },
    sent: null,
    homeUrl: '/',
    newLink: null
  },
  form_post: {
    ...COMMON,
    action: 'https://photos.acme.example/cb',
    params: { code: 'the-code', state: 'the-state', iss: 'https://auth.example' }
  }
}

export const PAGES = Object.keys(MODELS) as PageName[]
