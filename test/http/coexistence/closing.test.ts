import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from '../../support/tap.ts'

t.test('leaves nothing running after app.close(), so that the process ends', async (t) => {
  const child = fork(fileURLToPath(new URL('support/closing-app.ts', import.meta.url)))
  t.teardown(() => {
    child.kill('SIGKILL')
  })
  const exit = once(child, 'exit')
  const [message] = await once(child, 'message')
  t.same(message, { statuses: [201, 200, 202] })
  const [code] = await exit
  t.equal(code, 0, 'without waiting for anything')
})
