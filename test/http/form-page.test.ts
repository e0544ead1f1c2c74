import { Type } from '@sinclair/typebox'
import t from '../support/tap.ts'
import { OAuthError } from '../../lib/errors.ts'
import { formPage, goOn, type FormPage } from '../../lib/http/pages/form-page.ts'
import { OWN, pagesApp, type PagesApp } from './support/account-pages-app.ts'

interface Shown {
  word: string
}
type Page = FormPage<'logout', Shown>

/** An example page: its fields, and a use case that refuses or continues. */
function page(changes: Partial<Page> = {}): Page {
  return {
    name: 'logout',
    path: 'logout',
    summaries: { page: 'A page', form: 'A form' },
    what: { page: 'Shows a word.', form: 'Takes a word.' },
    body: Type.Object({ word: Type.String() }),
    fields: ['word'],
    open: async () => ({ word: 'first' }),
    submit: ({ word = '' }) => ({
      limit: { rule: 'register' },
      async work() {
        if (word === 'no') throw new OAuthError('invalid_request', 'word: not this one.', { field: 'word' })
        if (word === 'down') throw new Error('the store is down')
        return word === 'on' ? goOn('/next') : { word: `done ${word}` }
      }
    }),
    again: ({ word = '' }) => ({ word }),
    content: ({ word }) => ({ username: word }),
    ...changes
  }
}

async function appWith(t: Parameters<typeof pagesApp>[0], changes: Partial<Page> = {}, limits = {}): Promise<PagesApp> {
  return await pagesApp(t, {
    limits,
    pages: (child, deps) => {
      formPage(child, page(changes), deps)
    }
  })
}

t.test('shows a form page, its result, its errors with the input, or a redirect', async (t) => {
  const test = await appWith(t, {}, { register: { max: 10 } })
  const first = await test.get('/auth/logout?client_id=app')
  t.equal(first.statusCode, 200)
  t.match(test.last(), {
    page: 'logout',
    content: { action: '/auth/logout?client_id=app', error: null, username: 'first' },
    settings: { clientName: 'app', uiLocales: ['fr'] }
  })
  t.equal((await test.post('/auth/logout', { word: 'it' })).statusCode, 200)
  t.match(test.last().content, { username: 'done it', error: null })
  t.equal((await test.post('/auth/logout', { word: 'no' })).statusCode, 400)
  t.match(test.last().content, { username: 'no', error: { error: 'invalid_request', field: 'word' } })
  t.equal((await test.post('/auth/logout', { word: 'down' })).statusCode, 503)
  t.match(test.last().content, { username: 'down', error: { error: 'temporarily_unavailable', field: null } })
  const on = await test.post('/auth/logout', { word: 'on' })
  t.equal(on.statusCode, 303)
  t.equal(on.headers.location, '/next')
})

t.test('rejects a form of another site with 403 and a form over the limit with 429, and forbids caching', async (t) => {
  const test = await appWith(t, {}, { register: { max: 1 } })
  for (const headers of [{}, { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }, { origin: 'null' }]) {
    const refused = await test.post('/auth/logout', { word: 'it' }, headers)
    t.equal(refused.statusCode, 403)
    t.equal(refused.headers['cache-control'], 'no-store')
    t.equal(refused.headers['x-ratelimit-limit'], undefined, 'it counted under no limit')
  }
  t.equal((await test.get('/auth/logout')).headers['cache-control'], 'no-store')
  for (const [word, status] of [
    ['on', 303],
    ['it', 429]
  ] as const) {
    const reply = await test.post('/auth/logout', { word }, OWN)
    t.equal(reply.statusCode, status)
    t.equal(reply.headers['cache-control'], 'no-store')
  }
  t.match(test.last().content, { username: 'it', error: { error: 'too_many_requests' } })
})

t.test('does not count a form that `submit` rejects, and shows the error page when `again` throws', async (t) => {
  const slip = await appWith(
    t,
    {
      submit() {
        throw new OAuthError('invalid_request', 'word: it is required.', { field: 'word' })
      }
    },
    { register: { max: 1 } }
  )
  for (const _ of [1, 2]) {
    const reply = await slip.post('/auth/logout', {})
    t.equal(reply.statusCode, 400)
    t.equal(reply.headers['x-ratelimit-limit'], undefined)
    t.equal(slip.last().page, 'logout')
  }
  const over = await appWith(
    t,
    {
      again(_form, refused) {
        throw refused
      }
    },
    { register: { max: 9 } }
  )
  t.equal((await over.post('/auth/logout', { word: 'no' })).statusCode, 400)
  t.equal(over.last().page, 'error')
})

t.test('with the limit `failures`, counts failed forms, but neither successful forms nor opened pages', async (t) => {
  const bad = (): never => {
    throw new OAuthError('invalid_token', 'The link is not good.', { statusCode: 400 })
  }
  const test = await appWith(
    t,
    {
      open: async () => bad(),
      submit: ({ word }) => ({ limit: 'failures', work: async () => (word === 'it' ? { word } : bad()) })
    },
    { refresh: { max: 2 } }
  )
  for (const _ of [1, 2, 3]) t.equal((await test.get('/auth/logout')).statusCode, 400)
  t.equal(test.last().page, 'error')
  for (const [word, status] of [
    ['x', 400],
    ['it', 200],
    ['x', 400],
    ['x', 429],
    ['it', 200]
  ] as const)
    t.equal((await test.post('/auth/logout', { word })).statusCode, status)
})

t.test('marks the address as secret and answers HEAD only with tokenInAddress', async (t) => {
  const [token, plain] = [await appWith(t, { tokenInAddress: true }), await appWith(t, {})]
  for (const [test, secretAddress, status] of [
    [token, true, 200],
    [plain, undefined, 404]
  ] as const) {
    t.equal((await test.app.inject({ method: 'HEAD', url: '/auth/logout' })).statusCode, status)
    await test.get('/auth/logout')
    t.equal(test.last().settings.secretAddress, secretAddress)
  }
})
