/** The bytes of one record of each kind. */
import { oneTimeToken } from '../../lib/protocol/credential.ts'
import { digest } from '../../lib/protocol/digest.ts'
import { type Engine, each } from './engine.ts'
import {
  CLIENT,
  NOW,
  codeOf,
  familyOf,
  limitsOf,
  redemptionOf,
  sessionDigest,
  sessionOf,
  successorOf,
  useOf,
  userId
} from './records.ts'

export interface Kind {
  name: string
  bytes: number
  bytesOfKeys?: number
}

const WEEK_MS = 604_800_000

/** `count` records of each kind, each another user's, but for the second family. */
export async function sizeOfKinds(engine: Engine, count: number): Promise<Kind[]> {
  const {
    state: { tokens, browserSessions, oneTimeTokens, consents },
    attempts
  } = engine
  // Several writers at once would have PostgreSQL give each of them pages in advance.
  const concurrency = engine.bytesOfKeys === undefined ? 1 : engine.concurrency
  // Users of one kind are not those of another.
  let firstUser = 0
  const userOf = (number: number): string => userId(1e9 + firstUser + number)
  const all = async (work: (number: number) => Promise<unknown>): Promise<void> => {
    await each(0, count, concurrency, work)
  }
  const create = (number: number): Promise<void> => tokens.createFamily(familyOf(number, userOf(number)))

  const kinds: Record<string, () => Promise<void>> = {
    'family, new': async () => {
      await all(create)
    },
    'family, rotated twice': async () => {
      await all(create)
      for (const generation of [0, 1])
        await all((number) =>
          tokens.rotateToken(useOf(number, generation, userOf(number)), successorOf(number, generation))
        )
    },
    'two families of one user, each': async () => {
      await each(0, count, concurrency, (number) =>
        tokens.createFamily(familyOf(number, userOf(Math.floor(number / 2))))
      )
    },
    'code that waits': async () => {
      await all((number) => tokens.createCode(codeOf(number, userOf(number))))
    },
    'family from a code, rotated': async () => {
      await all((number) => tokens.createCode(codeOf(number, userOf(number))))
      await all((number) => tokens.redeemCode(redemptionOf(number, userOf(number))))
      await all((number) => {
        const { sid, tokenDigest } = redemptionOf(number, userOf(number))
        return tokens.rotateToken(
          { ...useOf(number, 0), sid, digest: tokenDigest, clientId: CLIENT },
          successorOf(number, 1)
        )
      })
    },
    'browser session': async () => {
      await all((number) => browserSessions.createSession(sessionOf(number, userOf(number)), sessionDigest(number)))
    },
    'one-time token': async () => {
      await all((number) =>
        oneTimeTokens.put({
          purpose: 'password_reset',
          digest: oneTimeToken(userOf(number), digest(`mail:${number}`)).digest,
          userId: userOf(number),
          expiresAt: NOW + WEEK_MS
        })
      )
    },
    consent: async () => {
      await all((number) =>
        consents.grantConsent({
          userId: userOf(number),
          clientId: 'a-client-of-others',
          scopes: ['openid', 'profile', 'email'],
          grantedAt: NOW,
          expiresAt: NOW + WEEK_MS
        })
      )
    }
  }
  if (attempts !== undefined) {
    for (const times of [1, 3, 10]) {
      kinds[`counter, ${times} ${times === 1 ? 'attempt' : 'attempts'}`] = async () => {
        for (let time = 0; time < times; time++) {
          await all(
            async (number) =>
              await attempts.reserve(`a:${number}:${time}`, limitsOf(1e9 + firstUser + number).slice(0, 1))
          )
        }
      }
    }
  }

  // A store makes its tables with the first call.
  await browserSessions.findSession(sessionOf(0).sid, sessionDigest(0), NOW)
  const found: Kind[] = []
  for (const [name, put] of Object.entries(kinds)) {
    await engine.clear?.()
    const before = await engine.bytes()
    await put()
    const bytes = ((await engine.bytes()) - before) / count
    const keys = await engine.bytesOfKeys?.()
    found.push({ name, bytes, ...(keys === undefined ? {} : { bytesOfKeys: keys / count }) })
    firstUser += count
  }
  return found
}
