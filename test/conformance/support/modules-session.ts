import type { Module } from './modules-flow.ts'

/** The suite's errors for `prompt=none`. */
const NEEDS_A_PAGE = ['login_required', 'interaction_required', 'consent_required', 'account_selection_required']
/** 128 characters, including every character that is unescaped in URLs. */
export const LONG_STATE = `${'aZ09'.repeat(31)}-._~`

/** Requests in a browser with a session, and how long the session counts. */
export const SESSION_MODULES: Readonly<Record<string, Module>> = {
  async 'oidcc-prompt-login'(suite) {
    const { t, op } = suite
    const first = await suite.signIn()
    op.clock.step(2000)
    const second = await suite.signIn({ prompt: 'login' })
    t.strictSame(second.seen, ['login'], 'a second sign-in page')
    t.equal(second.claims['sub'], first.claims['sub'])
    t.ok(Number(second.claims['auth_time']) > Number(first.claims['auth_time']), 'a later sign-in')
  },

  async 'oidcc-prompt-none-not-logged-in'(suite) {
    const { t } = suite
    t.equal(LONG_STATE.length, 128)
    t.ok(NEEDS_A_PAGE.includes(await suite.refusal({ prompt: 'none', state: LONG_STATE })))
  },

  async 'oidcc-prompt-none-logged-in'(suite) {
    const { t, op } = suite
    const first = await suite.signIn()
    op.clock.step(2000)
    const second = await suite.signIn({ prompt: 'none' })
    t.strictSame(second.seen, [])
    t.equal(second.claims['sub'], first.claims['sub'])
    t.equal(second.claims['auth_time'], first.claims['auth_time'])
  },

  async 'oidcc-max-age-1'(suite) {
    const { t, op } = suite
    const first = await suite.signIn()
    op.clock.step(2000)
    t.equal(await suite.refusal({ max_age: '1', prompt: 'none' }), 'login_required', 'and not without a page')
    const second = await suite.signIn({ max_age: '1' })
    t.strictSame(second.seen, ['login'], 'a second sign-in page')
    t.equal(second.claims['sub'], first.claims['sub'])
    t.ok(Number(second.claims['auth_time']) > Number(first.claims['auth_time']), 'a later sign-in')
    t.equal(second.claims['auth_time'], Math.floor(op.clock.now() / 1000), 'a recent one')
  },

  async 'oidcc-max-age-10000'(suite) {
    const { t, op } = suite
    const first = await suite.signIn({ max_age: '15000' })
    t.strictSame(first.seen, ['login'])
    op.clock.step(2000)
    const second = await suite.signIn({ max_age: '10000' })
    t.strictSame(second.seen, [])
    t.equal(second.claims['sub'], first.claims['sub'])
    t.equal(second.claims['auth_time'], first.claims['auth_time'])
  },

  async 'oidcc-id-token-hint'(suite) {
    const { t, op } = suite
    const first = await suite.signIn()
    // An expired ID token still counts as a hint.
    op.clock.step(3_600_000)
    const second = await suite.signIn({ prompt: 'none', id_token_hint: first.tokens.id_token })
    t.strictSame(second.seen, [])
    t.equal(second.claims['sub'], first.claims['sub'])
    t.equal(second.claims['auth_time'], first.claims['auth_time'])
  },

  async 'oidcc-login-hint'(suite) {
    const { t, op } = suite
    for (const hint of ['ann', 'buffy@localhost', 'tel:+49 30', '<b>"\'&', 'ä'.repeat(200)]) {
      const { seen } = await suite.signIn({ login_hint: hint }, { browser: op.newBrowser() })
      t.strictSame(seen, ['login'], hint)
    }
  }
}
