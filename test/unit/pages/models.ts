import { messagesOf } from '../../../lib/pages/texts.ts'
import type { CommonModel, PageModels, PageName } from '../../../lib/pages/model.ts'

export const COMMON: CommonModel = {
  title: 'Example Service',
  logoUrl: null,
  lang: 'en',
  messages: messagesOf('en'),
  styleUrl: '/auth/pages.css?v=1',
  scriptUrl: '/auth/pages.js?v=1',
  clientName: 'Acme Photos'
}

const form = { action: '/auth/post?client_id=acme', error: null }
const loginUrl = '/auth/login?client_id=acme'

/** A plain model of every page. */
export const MODELS: PageModels = {
  login: { ...COMMON, ...form, username: '', resendToken: null, signupUrl: '/auth/signup', forgotUrl: '/auth/forgot-password' },
  signup: {
    ...COMMON,
    ...form,
    username: '',
    fields: [
      { name: 'terms', label: 'I accept the terms', type: 'checkbox', required: true, value: '' },
      { name: 'email', label: 'E-mail address', type: 'email', required: true, value: '' },
      { name: 'age', label: 'Age', type: 'number', required: false, value: '' }
    ],
    minLength: 8,
    loginUrl,
    sent: false
  },
  forgot_password: { ...COMMON, ...form, username: '', loginUrl, sent: false },
  reset_password: { ...COMMON, ...form, token: 'reset-token', minLength: 8, loginUrl, done: false },
  verify_email: { ...COMMON, ...form, token: 'verify-token', username: 'ann', sentAt: Date.UTC(2026, 0, 1, 12), canDisown: true, newAddress: null, loginUrl, done: false, disowned: false },
  consent: {
    ...COMMON,
    ...form,
    asks: 'consent',
    username: 'ann@mail.example',
    client: { name: 'Acme Photos', id: 'acme', redirectHost: 'photos.acme.example' },
    scopes: [{ name: 'openid', description: 'scopeOpenid' }, { name: 'photos:write', description: null }],
    lifetimeSeconds: 2_592_000,
    clientLogoUri: null,
    clientUri: null
  },
  logout: { ...COMMON, ...form, username: 'ann@mail.example' },
  signed_out: { ...COMMON, ended: true, homeUrl: '/', loginUrl },
  error: { ...COMMON, error: { error: 'invalid_request', text: 'No.', field: null }, homeUrl: '/' },
  form_post: { ...COMMON, action: 'https://photos.acme.example/cb', params: { code: 'the-code', state: 'the-state', iss: 'https://auth.example' } }
}

export const PAGES = Object.keys(MODELS) as PageName[]
