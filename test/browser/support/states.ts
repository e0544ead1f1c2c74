import type { Page } from 'playwright-core'
import { Type } from '@sinclair/typebox'
import { type AuthorityOptions, memoryApiKeyStore } from '../../../lib/index.ts'
import { PASSWORD } from '../../support/app.ts'
import { formAction } from '../../support/browser.ts'
import { DEVICE_STATES } from './device-states.ts'
import { FACTOR_STATES } from './factor-states.ts'
import type { Provider } from './provider.ts'
import { nextName, type PageState, post, signIn, signUp } from './state-steps.ts'

/** The options of a provider with all of its pages. */
export const ALL_PAGES = {
  // The last is the host's own, which has no text in the catalogues.
  scopes: ['openid', 'profile', 'email', 'offline_access', 'orders:read'],
  registration: {
    fields: Type.Object({
      given_name: Type.Optional(Type.String({ title: 'Given name', maxLength: 20 })),
      birthdate: Type.Optional(Type.String({ title: 'Birthday', format: 'date' })),
      news: Type.Boolean({ title: 'Send me news once a month' })
    }),
    verifyEmail: true
  },
  apiKeys: { store: memoryApiKeyStore(), maxPerUser: 1000 },
  deviceGrant: true
} satisfies Partial<AuthorityOptions>

export const PAGE_STATES: readonly PageState[] = [
  { name: 'login', open: login },
  {
    name: 'login-wrong',
    async open(page, provider) {
      await login(page, provider)
      await post(page, { username: 'ann', password: 'not this one' })
    }
  },
  {
    name: 'login-unconfirmed',
    async open(page, provider) {
      const username = nextName()
      await signUp(provider, username)
      await login(page, provider)
      await post(page, { username, password: PASSWORD })
    }
  },
  { name: 'signup', open: signup },
  {
    name: 'signup-wrong',
    async open(page, provider) {
      await signup(page, provider)
      await post(page, { username: 'berta@example.com', password: 'password1', given_name: 'Berta' })
    }
  },
  {
    name: 'signup-sent',
    async open(page, provider) {
      await signup(page, provider)
      await post(page, { username: nextName(), password: PASSWORD })
      await provider.messages.next('verify_email')
    }
  },
  {
    name: 'signup-sent-wrong',
    async open(page, provider) {
      await signup(page, provider)
      await post(page, { username: nextName(), password: PASSWORD })
      await provider.messages.next('verify_email')
      await post(page, { code: '12345678' })
    }
  },
  {
    name: 'forgot-password',
    async open(page, { origin }) {
      await page.goto(`${origin}/auth/forgot-password`)
    }
  },
  {
    name: 'forgot-password-sent',
    async open(page, { origin }) {
      await page.goto(`${origin}/auth/forgot-password`)
      // Belongs to nobody, so that no message remains.
      await post(page, { username: 'nobody' })
    }
  },
  { name: 'reset-password', open: resetPassword },
  {
    name: 'reset-password-wrong',
    async open(page, provider) {
      await resetPassword(page, provider)
      await post(page, { password: 'short' })
    }
  },
  {
    name: 'reset-password-done',
    async open(page, provider) {
      await resetPassword(page, provider)
      await post(page, { password: PASSWORD })
    }
  },
  {
    name: 'link-expired',
    async open(page, { origin }) {
      await page.goto(`${origin}/auth/reset-password?token=of-last-year`)
    }
  },
  { name: 'accept-invitation', open: acceptInvitation },
  {
    name: 'accept-invitation-wrong',
    async open(page, provider) {
      await acceptInvitation(page, provider)
      await post(page, { password: 'short' })
    }
  },
  {
    name: 'accept-invitation-done',
    async open(page, provider) {
      await acceptInvitation(page, provider)
      await post(page, { password: PASSWORD })
    }
  },
  { name: 'verify-email', open: verifyEmail },
  {
    name: 'verify-email-done',
    async open(page, provider) {
      await verifyEmail(page, provider)
      await post(page)
    }
  },
  {
    name: 'verify-email-disowned',
    async open(page, provider) {
      await verifyEmail(page, provider)
      await Promise.all([page.waitForEvent('load'), page.locator('button[value=not_me]').click()])
    }
  },
  {
    name: 'consent',
    async open(page, provider) {
      await signIn(page, provider)
      await page.goto(
        provider.authorizeUrl({
          client_id: 'third',
          prompt: 'consent',
          scope: 'openid profile email offline_access orders:read'
        })
      )
    }
  },
  ...['', '-profile', '-email', '-password', '-sessions', '-remove'].map((page): PageState => ({
    name: `account${page}`,
    async open(browserPage, provider) {
      await signIn(browserPage, provider)
      await browserPage.goto(`${provider.origin}/auth/account${page.replace('-', '/')}`)
    }
  })),
  {
    name: 'account-access',
    async open(page, provider) {
      const browser = await signIn(page, provider)
      const asked = await browser.get(
        provider.authorizeUrl({ client_id: 'third', prompt: 'consent', scope: 'openid profile orders:read' })
      )
      await browser.submit(formAction((await browser.follow(asked)).reply.body), { decision: 'allow' })
      await page.goto(`${provider.origin}/auth/account/access`)
    }
  },
  {
    name: 'account-password-wrong',
    async open(page, provider) {
      await signIn(page, provider)
      await page.goto(`${provider.origin}/auth/account/password`)
      await post(page, { current_password: 'not this one', password: 'another long one' })
    }
  },
  {
    name: 'account-email-sent',
    async open(page, provider) {
      await signIn(page, provider)
      await page.goto(`${provider.origin}/auth/account/email`)
      await post(page, { email: nextName() })
      await provider.messages.next('email_change')
    }
  },
  {
    name: 'account-sessions-done',
    async open(page, provider) {
      await signIn(page, provider)
      await page.goto(`${provider.origin}/auth/account/sessions`)
      await Promise.all([page.waitForEvent('load'), page.locator('button[value=end_others]').click()])
    }
  },
  {
    name: 'account-api-keys',
    async open(page, provider) {
      await apiKeys(page, provider)
    }
  },
  {
    name: 'account-api-keys-remove',
    async open(page, provider) {
      await apiKeys(page, provider)
      await Promise.all([page.waitForEvent('load'), page.locator('a[href*="remove="]').first().click()])
    }
  },
  {
    name: 'account-api-key',
    async open(page, provider) {
      await apiKeys(page, provider)
      await post(page, { name: 'Nightly' })
    }
  },
  {
    name: 'logout',
    async open(page, provider) {
      await signIn(page, provider)
      await page.goto(`${provider.origin}/auth/logout`)
    }
  },
  {
    name: 'signed-out',
    async open(page, provider) {
      await signIn(page, provider)
      await page.goto(`${provider.origin}/auth/logout`)
      await post(page)
    }
  },
  {
    name: 'error',
    async open(page, provider) {
      await page.goto(provider.authorizeUrl({ redirect_uri: 'https://elsewhere.example/cb' }))
    }
  },
  {
    name: 'form-post',
    async open(page, provider) {
      // Its script would navigate away at once.
      await page.route('**/pages.js*', async (route) => {
        await route.fulfill({ contentType: 'text/javascript', body: '' })
      })
      await page.goto(provider.authorizeUrl({ response_mode: 'form_post', prompt: 'none' }))
    }
  },
  ...DEVICE_STATES,
  ...FACTOR_STATES
]

async function login(page: Page, provider: Provider): Promise<void> {
  await page.goto(provider.authorizeUrl({ prompt: 'login' }))
}

async function signup(page: Page, { origin }: Provider): Promise<void> {
  await page.goto(`${origin}/auth/signup`)
}

async function apiKeys(page: Page, provider: Provider): Promise<void> {
  await signIn(page, provider)
  await provider.app.authority.apiKeys.create({ userId: provider.ann.id, name: 'Backup', scopes: ['orders:read'] })
  await page.goto(`${provider.origin}/auth/account/api-keys`)
}

async function resetPassword(page: Page, { app, ann, messages }: Provider): Promise<void> {
  await app.authority.startPasswordReset(ann.id)
  const { url } = await messages.next('password_reset')
  await page.goto(url)
}

async function acceptInvitation(page: Page, { app, messages }: Provider): Promise<void> {
  const username = nextName()
  await app.authority.users.create({ username, invite: true })
  await page.goto((await messages.next('invitation')).url)
}

async function verifyEmail(page: Page, provider: Provider): Promise<void> {
  await page.goto(await signUp(provider, nextName()))
}
