import t, { type Test } from '../support/tap.ts'
import type { FastifyRequest } from 'fastify'
import { appWith, next } from './support/hooks-app.ts'

const ROLES: Array<[title: string, claims: Record<string, unknown>, passes: boolean]> = [
  ['a role', { roles: ['reader', 'editor'] }, true],
  ['a group', { groups: ['editor'] }, true],
  ['an entitlement', { entitlements: ['editor'] }, true],
  ['a role next to a malformed claim', { roles: 'editor', groups: ['editor'] }, true],
  ['no claim', {}, false],
  ['an empty claim', { roles: [] }, false],
  ['another role', { roles: ['reader'] }, false],
  ['a role of another case', { roles: ['Editor'] }, false],
  ['a longer role', { roles: ['sub-editor', 'editors', 'editor '] }, false],
  ['a claim that is text', { roles: 'editor' }, false],
  ['a claim that is longer text', { roles: 'no editor' }, false],
  ['null', { roles: null, groups: null, entitlements: null }, false],
  ['an object', { roles: { editor: true, 0: 'editor', length: 1 } }, false],
  ['an array in an array', { roles: [['editor']] }, false],
  ['an object in an array', { roles: [{ value: 'editor' }] }, false],
  ['a scope of that name', { scope: 'editor' }, false],
  ['a claim of another name', { role: ['editor'], permissions: ['editor'] }, false]
]

const ACTORS: Array<[title: string, claims: Record<string, unknown>, passes: boolean]> = [
  ['no actor', {}, true],
  ['an actor', { act: { sub: 'admin' } }, false],
  ['an empty actor', { act: {} }, false],
  ['null', { act: null }, false],
  ['false', { act: false }, false],
  ['text', { act: '' }, false]
]

/** An app with a guard of the host that sets these claims. */
async function statusOf(t: Test, claims: Record<string, unknown>): Promise<(url: string) => Promise<number[]>> {
  const { app } = await appWith(t, (host) => {
    const set = async (request: FastifyRequest): Promise<void> => {
      request.auth = Object.freeze({ sub: 'ann', ...claims }) as never
    }
    const hooks = {
      '/role': host.requireRole('editor'),
      '/both': host.requireRole('editor', 'Content Editor'),
      '/actor': host.requireNoActor
    }
    for (const [url, hook] of Object.entries(hooks)) {
      host.get(url, { onRequest: [set, hook] }, next)
      host.get(`${url}/late`, { onRequest: set, preHandler: hook }, next)
      host.get(`${url}/awaited`, { onRequest: set }, async (request, reply) => {
        await hook(request, reply)
        return await next(request, reply)
      })
    }
  })
  return async (url) => {
    const replies = await Promise.all(['', '/late', '/awaited'].map(async (form) => await app.inject(url + form)))
    for (const { statusCode, headers } of replies) {
      t.equal(headers['x-reached'], statusCode === 200 ? 'yes' : undefined)
      if (statusCode === 403) t.match(headers['www-authenticate'], /^Bearer error="insufficient_scope"/)
    }
    return replies.map(({ statusCode }) => statusCode)
  }
}

// covers ASVS-8.2.1
t.test('requireRole reads arrays of roles, groups and entitlements alone', async (t) => {
  for (const [title, claims, passes] of ROLES)
    t.strictSame(await (await statusOf(t, claims))('/role'), Array(3).fill(passes ? 200 : 403), title)
})

t.test('requireRole asks for all of its roles, in any of the claims', async (t) => {
  const all = await statusOf(t, { roles: ['editor'], groups: ['Content Editor'] })
  t.strictSame(await all('/both'), [200, 200, 200])
  const one = await statusOf(t, { roles: ['editor'] })
  t.strictSame(await one('/both'), [403, 403, 403])
})

t.test('requireNoActor rejects a token with an act claim of any content', async (t) => {
  for (const [title, claims, passes] of ACTORS)
    t.strictSame(await (await statusOf(t, claims))('/actor'), Array(3).fill(passes ? 200 : 403), title)
})

t.test('requireRole throws for invalid role names when it is called', async (t) => {
  const { app } = await appWith(t, () => {})
  for (const given of [[], [''], [['editor']], [undefined], [null], [1], ['editor', undefined]])
    t.throws(() => app.requireRole(...(given as string[])), {
      code: 'FST_AUTHORITY_INVALID_OPTIONS',
      message: /^Invalid option "requireRole": got .*; it takes names of roles, one by one/
    } as never)
})
