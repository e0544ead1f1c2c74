/** The messages of `npx fastify-authority user`. */
import { readFileSync } from 'node:fs'
import { run } from '../../lib/cli/run.ts'
import t from '../support/tap.ts'
import { directory, host } from './support/import-host.ts'

const outbox = `${directory}/outbox`
const path = `${directory}/messages.sqlite`
const sendingBy = (send: string): string =>
  host({ path, audit: `options.sendMessage = async (message) => { ${send} }` }).config

const FAILS = "throw new Error('mailbox full: ' + message.url)"

async function user(config: string, ...words: string[]) {
  const lines: string[] = []
  const ended = await run(['user', ...words, '--json', '--config', config], undefined, (line) => {
    lines.push(line)
  })
  return { ...ended, lines: lines.join('') }
}

t.test('sends the links of an invitation and of a reset, and prints none', async (t) => {
  const config = sendingBy(
    `(await import('node:fs')).appendFileSync('${outbox}', message.kind + ' ' + message.url + '\\n')`
  )
  const eve = 'eve@example.com'
  for (const words of [
    ['create', eve, '--email', eve, '--invite'],
    ['invite', eve],
    ['reset', eve, '--yes']
  ]) {
    const { code, text, problem, lines } = await user(config, ...words)
    t.strictSame([code, problem, lines], [0, '', ''])
    t.notMatch(text, /https:/)
  }
  t.match(readFileSync(outbox, 'utf8'), /^invitation https:.+\ninvitation https:.+\npassword_reset https:.+\n$/)
})

for (const [what, send, kind, command, ...flags] of [
  ['fails', FAILS, 'invitation', 'create', '--email', 'fails@example.com', '--invite'],
  ['fails', FAILS, 'invitation', 'invite'],
  ['fails', FAILS, 'password_reset', 'reset', '--yes'],
  // The close of the service waits for five seconds. The timer keeps the process alive, as a socket does.
  [
    'hangs',
    'await new Promise((done) => setTimeout(done, 6_000))',
    'invitation',
    'create',
    '--email',
    'hangs@example.com',
    '--invite'
  ]
] as const)
  t.test(`exits with 3 for user ${command}, and names the message, if sendMessage ${what}`, async (t) => {
    const name = `${what}@example.com`
    const { code, text, problem, lines } = await user(sendingBy(send), command, name, ...flags)
    t.equal(code, 3)
    t.match(JSON.parse(text), { username: name, hasPassword: false }, 'the rest was done')
    t.match(problem, `sendMessage failed, so nobody got the message ${kind}.`)
    if (what === 'fails') t.match(lines, /"code":"FST_AUTHORITY_MESSAGE_FAILED".*\n$/)
    t.notMatch(problem + text + lines, /https:\/\/auth/)
  })
