import type { FastifyRequest } from 'fastify'
import t from '../../support/tap.ts'
import { oncePerRequest } from '../../../lib/http/edge/cors.ts'
import type { Client, ClientStore } from '../../../lib/ports/client-store.ts'

function counted(name: string): ClientStore & { asked: string[] } {
  const asked: string[] = []
  return {
    asked,
    async findById(clientId): Promise<Client | null> {
      asked.push(clientId)
      return clientId === 'gone' ? null : { clientId, name }
    }
  }
}

const request = (): FastifyRequest => ({}) as FastifyRequest

const UNLIMITED: Parameters<typeof oncePerRequest>[1] = { countWork: async (_request, _rule, work) => await work() }

t.test('looks up each client once per request, including an unknown one', async (t) => {
  const store = counted('one')
  const clientsOf = oncePerRequest(store, UNLIMITED)
  const [first, second] = [request(), request()]
  await Promise.all([
    clientsOf(first).findById('spa'),
    clientsOf(first).findById('spa'),
    clientsOf(first).findById('gone')
  ])
  t.same(await clientsOf(first).findById('spa'), { clientId: 'spa', name: 'one' })
  t.equal(await clientsOf(first).findById('gone'), null)
  t.same(store.asked, ['spa', 'gone'])
  await clientsOf(second).findById('spa')
  t.same(store.asked, ['spa', 'gone', 'spa'])
})

t.test('keeps the clients of two stores apart within one request', async (t) => {
  const [one, other] = [counted('one'), counted('other')]
  const [ofOne, ofOther] = [oncePerRequest(one, UNLIMITED), oncePerRequest(other, UNLIMITED)]
  const shared = request()
  t.match(await ofOne(shared).findById('spa'), { name: 'one' })
  t.match(await ofOther(shared).findById('spa'), { name: 'other' })
  t.match(await ofOne(shared).findById('spa'), { name: 'one' })
  t.same([one.asked, other.asked], [['spa'], ['spa']])
})

t.test('returns the first failure to later queries of the same request', async (t) => {
  let calls = 0
  const clientsOf = oncePerRequest(
    {
      findById: async () => {
        throw new Error(`down ${++calls}`)
      }
    },
    UNLIMITED
  )

  const shared = request()
  await t.rejects(clientsOf(shared).findById('spa'), { message: 'down 1' })
  await t.rejects(clientsOf(shared).findById('spa'), { message: 'down 1' })
  await t.rejects(clientsOf(request()).findById('spa'), { message: 'down 2' })
})
