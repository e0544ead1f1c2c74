/** The timed operations, each on records that were not used for long. */
import Fastify from 'fastify'
import type { FastifyInstance } from 'fastify'
import authPlugin from '../../lib/index.ts'
import { fastHasher } from '../../lib/testing/doubles.ts'
import { type Engine, each } from './engine.ts'
import {
  NOW,
  codeOf,
  limitsOf,
  redemptionOf,
  sessionDigest,
  sessionOf,
  successorOf,
  tokenOf,
  useOf,
  userId
} from './records.ts'

export interface Operation {
  /** Everything that the calls need, and that is not theirs to pay. `turns` number the calls of the whole run. */
  prepare(numbers: readonly number[], turns: readonly number[]): Promise<Array<() => unknown>>
  /** Takes back what would make the next batch dearer. */
  restore?(numbers: readonly number[], turns: readonly number[]): Promise<void>
}

const requireThat = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(`${what}: not what it should be`)
}

const PASSWORD = 'a password of the growth benchmark'
/** A hash takes as long as it does whatever the store holds, and would hide the rest. */
const hasher = fastHasher()

async function appOn({ state, users: stored }: Engine, size: number): Promise<FastifyInstance> {
  const app = Fastify() as unknown as FastifyInstance
  const user = { username: 'ann', passwordHash: null }
  const anyone = {
    async findById(id: string) {
      return { id, ...user }
    },
    async findByUsername() {
      return null
    }
  }
  await stored?.load(size, await hasher.hash(PASSWORD, { memoryCost: 19_456, timeCost: 2, parallelism: 1 }))
  await app.register(authPlugin, {
    issuer: 'http://localhost',
    secret: 'of-the-growth-benchmark-and-no-secret-0123456789',
    users: stored?.store ?? anyone,
    password: { hasher },
    state,
    rateLimit: false
  })
  await app.ready()
  return app
}

export async function operationsOf(
  engine: Engine,
  size: number
): Promise<{ operations: Record<string, Operation>; close(): Promise<void> }> {
  const {
    state: { tokens, browserSessions },
    attempts
  } = engine
  const generations = new Uint16Array(size)
  const app = await appOn(engine, size)
  const operations: Record<string, Operation> = {
    useToken: {
      prepare: async (numbers) =>
        numbers.map((number) => {
          const use = useOf(number, generations[number] ?? 0)
          return async () => {
            requireThat((await tokens.useToken(use)).outcome === 'used', 'useToken')
          }
        })
    },
    rotateToken: {
      prepare: async (numbers) =>
        numbers.map((number) => {
          const generation = generations[number] ?? 0
          const [use, next] = [useOf(number, generation), successorOf(number, generation)]
          generations[number] = generation + 1
          return async () => {
            requireThat((await tokens.rotateToken(use, next)).outcome === 'rotated', 'rotateToken')
          }
        })
    },
    findSession: {
      prepare: async (numbers) =>
        numbers.map((number) => {
          const { sid } = sessionOf(number)
          const digest = sessionDigest(number)
          return async () => {
            requireThat((await browserSessions.findSession(sid, digest, NOW + 1000)) !== null, 'findSession')
          }
        })
    },
    redeemCode: {
      async prepare(numbers, turns) {
        const owners = numbers.map((number) => userId(Math.floor(number / 2)))
        await each(0, turns.length, engine.concurrency, async (index) => {
          await tokens.createCode(codeOf(turns[index] ?? 0, owners[index] ?? ''))
        })
        return turns.map((turn, index) => {
          const redemption = redemptionOf(turn, owners[index] ?? '')
          return async () => {
            requireThat((await tokens.redeemCode(redemption)).outcome === 'redeemed', 'redeemCode')
          }
        })
      },
      async restore(numbers, turns) {
        await each(0, turns.length, engine.concurrency, async (index) => {
          await tokens.revokeFamily(codeOf(turns[index] ?? 0, userId(Math.floor((numbers[index] ?? 0) / 2))).sid)
        })
      }
    },
    'POST /auth/refresh': {
      prepare: async (numbers) =>
        numbers.map((number) => {
          const headers = { authorization: `Bearer ${tokenOf(number, generations[number] ?? 0)}` }
          return async () => {
            requireThat(
              (await app.inject({ method: 'POST', url: '/auth/refresh', headers })).statusCode === 200,
              '/auth/refresh'
            )
          }
        })
    }
  }
  if (engine.users !== undefined) {
    // The families have the users of the lower half.
    const idOf = (number: number): string => userId(Math.floor((size + number) / 2))
    operations['POST /auth/token, password'] = {
      prepare: async (numbers) =>
        numbers.map((number) => {
          const payload = { grant_type: 'password', username: idOf(number), password: PASSWORD }
          return async () => {
            requireThat(
              (await app.inject({ method: 'POST', url: '/auth/token', payload })).statusCode === 200,
              'sign-in'
            )
          }
        }),
      async restore(numbers) {
        await each(0, numbers.length, engine.concurrency, async (index) => {
          await tokens.revokeFamiliesOfUser(idOf(numbers[index] ?? 0))
        })
      }
    }
  }
  if (attempts !== undefined) {
    operations['limit check'] = {
      prepare: async (numbers, turns) =>
        numbers.map((number, index) => {
          const [limits, id] = [limitsOf(number), `attempt:${turns[index]}`]
          return async () => {
            requireThat((await attempts.reserve(id, limits)).allowed, 'reserve')
          }
        }),
      async restore(numbers, turns) {
        await each(0, numbers.length, engine.concurrency, async (index) => {
          await attempts.refund(`attempt:${turns[index]}`, limitsOf(numbers[index] ?? 0))
        })
      }
    }
  }
  return {
    operations,
    close: async () => {
      await app.close()
    }
  }
}
