/** The program that the guide on profile fields prints, with its store. */
import type { FastifyInstance } from 'fastify'
import t from '../support/tap.ts'
import type { UserStore } from '../../lib/index.ts'
import { delayed, IDENTITY_METHODS, runContract, userStoreContract } from '../../lib/testing/index.ts'
import { PASSWORD } from '../support/app.ts'
import { messagesOf, openWorkshop } from './support/guide-files.ts'

const workshop = openWorkshop()
t.teardown(() => {
  workshop.remove()
})
const inMemory = (text: string): string =>
  text.replace("'people.db'", "':memory:'").replace('logger: true', 'logger: false')
const project = workshop.project('docs/guides/profile-fields.md', { change: inMemory })
const { peopleStore } = (await import(project.module('people-store.ts'))) as { peopleStore(file: string): UserStore }

t.test('compiles the printed files of the guide', (t) => {
  t.strictSame(messagesOf([project]), [])
  t.end()
})

t.test('shows the fields on the sign-up page, checks them at registration, and changes them', async (t) => {
  const { app } = (await import(project.module('app.ts'))) as { app: FastifyInstance }
  t.teardown(async () => {
    await app.close()
  })
  const page = await app.inject('/auth/signup')
  for (const label of ['Your name', 'Plan', 'I accept the Terms of use', 'value="free" required checked>'])
    t.match(page.body, label)
  const register = async (fields: object): Promise<[number, unknown]> => {
    const reply = await app.inject({
      method: 'POST',
      url: '/auth/register',
      payload: { username: 'ann@example.com', password: PASSWORD, ...fields }
    })
    return [reply.statusCode, reply.json<{ error_description?: string }>().error_description]
  }
  t.match(await register({ terms: true }), [400, /^name: /])
  t.match(await register({ name: 'Ann', terms: false }), [400, /^terms: /])
  t.match(await register({ name: 'Ann', terms: true, plan: 'gold' }), [400, "plan: it takes 'free' or 'team'."])
  t.match(await register({ name: 'Ann', terms: true, interests: ['boats'] }), [201])
  const { access_token: token } = (
    await app.inject({
      method: 'POST',
      url: '/auth/token',
      payload: { grant_type: 'password', username: 'ann@example.com', password: PASSWORD }
    })
  ).json<{ access_token: string }>()
  const profile = await app.inject({
    method: 'PATCH',
    url: '/auth/profile',
    headers: { authorization: `Bearer ${token}` },
    payload: { plan: 'team', interests: null }
  })
  t.equal(profile.statusCode, 200)
  t.match(profile.json(), { name: 'Ann', plan: 'team', terms: true })
  t.notOk('interests' in profile.json<object>())
})

t.test('passes the user store suite with the printed store', async (t) => {
  runContract(
    userStoreContract(
      async () => ({ store: delayed(peopleStore(':memory:')) }),
      ['setPasswordHash', 'setEmailVerified', 'remove', ...IDENTITY_METHODS]
    ),
    (name, run) => {
      void t.test(name, async () => {
        await run()
      })
    }
  )
})
