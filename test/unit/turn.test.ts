import { AsyncLocalStorage } from 'node:async_hooks'
import t from '../support/tap.ts'
import { endOfTurn } from '../../lib/ports/turn.ts'

t.test('endOfTurn resumes callers in order of arrival at the end of the turn', async (t) => {
  const steps: string[] = []
  const request = async (name: string): Promise<void> => {
    await endOfTurn()
    steps.push(`${name} 1`)
    await Promise.resolve()
    steps.push(`${name} 2`)
    await endOfTurn()
    steps.push(`${name} 3`)
  }
  const all = [request('a'), Promise.resolve().then(async () => await request('b'))]
  await new Promise(process.nextTick)
  t.strictSame(steps, [])
  await Promise.all(all)
  t.strictSame(steps, ['a 1', 'b 1', 'a 2', 'b 2', 'a 3', 'b 3'])
})

t.test('endOfTurn keeps the AsyncLocalStorage context of each caller', async (t) => {
  const current = new AsyncLocalStorage<string>()
  const after = async (): Promise<string | undefined> => {
    await endOfTurn()
    return current.getStore()
  }
  t.strictSame(await Promise.all(['a', 'b'].map(async (name) => await current.run(name, after))), ['a', 'b'])
})

t.test('endOfTurn resolves even if a test of the host has replaced setImmediate', async (t) => {
  const { setImmediate } = globalThis
  t.teardown(() => {
    globalThis.setImmediate = setImmediate
  })
  globalThis.setImmediate = (() => {}) as never
  t.equal(await endOfTurn(), undefined)
})
