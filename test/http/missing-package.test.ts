/** A host without the package @node-rs/bcrypt whose users have bcrypt hashes. */
import { register } from 'node:module'
import t from '../support/tap.ts'
import { memoryUserStore } from '../../lib/index.ts'
import { PASSWORD, signIn, signUp, testApp } from '../support/app.ts'

register(
  `data:text/javascript,${encodeURIComponent(`
  export async function resolve (specifier, context, next) {
    if (specifier !== '@node-rs/bcrypt') return await next(specifier, context)
    throw Object.assign(new Error("Cannot find package '@node-rs/bcrypt'"), { code: 'ERR_MODULE_NOT_FOUND' })
  }
`)}`
)

const BCRYPT = '$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW'

t.test('answers 503 to a sign-in that needs a missing package, and logs the package', async (t) => {
  const lines: Array<Record<string, unknown>> = []
  const users = memoryUserStore([{ id: '1', username: 'old', passwordHash: BCRYPT }])
  const { app, close } = await testApp(
    { users },
    {
      logger: {
        level: 'warn',
        stream: {
          write(line: string) {
            lines.push(JSON.parse(line) as Record<string, unknown>)
          }
        }
      }
    }
  )
  t.teardown(close)
  await signUp(app)
  t.same(
    lines.filter(({ level }) => level === 50),
    [],
    'nothing is missing until such a hash is met'
  )
  const reply = await app.inject({
    method: 'POST',
    url: '/auth/token',
    payload: { grant_type: 'password', username: 'old', password: 'U*U' }
  })
  t.equal(reply.statusCode, 503)
  t.equal(reply.json().error, 'temporarily_unavailable')
  t.notMatch(reply.body, 'bcrypt')
  t.match(
    lines.filter(({ level }) => level === 50),
    [
      {
        code: 'FST_AUTHORITY_PACKAGE_MISSING',
        err: { message: /@node-rs\/bcrypt could not be loaded.*npm install @node-rs\/bcrypt/ }
      }
    ]
  )
  t.ok((await signIn(app, 'ann', PASSWORD)).access_token)
})
