import { setImmediate } from 'node:timers/promises'
import type { Fault } from './support/planted-faults.ts'
import { mustBeFound } from './support/planted-faults.ts'

const FAULTS: Fault[] = [
  {
    name: 'a redemption that reads and writes in two steps',
    of: ({ tokens }) => {
      const used = new Set<string>()
      return {
        tokens: {
          async redeemCode(redemption) {
            const wasUsed = used.has(redemption.sid)
            await setImmediate()
            used.add(redemption.sid)
            const result = await tokens.redeemCode(redemption)
            return wasUsed || result.outcome !== 'replayed' ? result : { outcome: 'redeemed', family: result.family }
          }
        }
      }
    },
    found: ['codes: redeems a code once in 50 parallel redemptions, and ends its family on the second']
  },
  {
    name: 'a redemption that forgets the code',
    of: ({ tokens }) => {
      const used = new Set<string>()
      return {
        tokens: {
          async redeemCode(redemption) {
            if (used.has(redemption.sid)) return { outcome: 'unknown' }
            const result = await tokens.redeemCode(redemption)
            if (result.outcome === 'redeemed') used.add(redemption.sid)
            return result
          }
        }
      }
    },
    found: [
      'codes: ends only the family of a code that is used twice, however late',
      'codes: ends a code and its family on a wrong secret',
      'codes: sweeps expired codes, and keeps valid and redeemed ones'
    ]
  },
  {
    name: 'a redemption by any client',
    of: ({ tokens }) => ({
      tokens: {
        redeemCode: async (redemption) =>
          await tokens.redeemCode({
            ...redemption,
            clientId: redemption.clientId === 'client-2' ? 'client-1' : redemption.clientId
          })
      }
    }),
    found: ['codes: neither redeems nor ends a code for another client'],
    only: true
  },
  {
    name: 'a redemption that lets any secret pass, but revokes nothing',
    of: ({ tokens }) => ({
      tokens: {
        redeemCode: async (redemption) =>
          redemption.digest === 'another' ? { outcome: 'unknown' } : await tokens.redeemCode(redemption)
      }
    }),
    found: ['codes: ends a code and its family on a wrong secret']
  },
  {
    name: 'one lifetime for all families',
    of: ({ tokens }) => ({
      tokens: {
        redeemCode: async (redemption) =>
          await tokens.redeemCode({ ...redemption, onlineExpiresAt: redemption.expiresAt })
      }
    }),
    found: [
      'codes: gives an online family the lifetime',
      'codes: creates a family with all fields of the redeemed code'
    ]
  },
  ...[1, -1].map((off): Fault => ({
    name: `a code that lives 1 ms too ${off > 0 ? 'long' : 'short'}`,
    of: ({ tokens }) => ({
      tokens: {
        createCode: async (code, use) =>
          await tokens.createCode({ ...code, codeExpiresAt: code.codeExpiresAt + off }, use)
      }
    }),
    found: [`codes: ${off > 0 ? 'does not find a code at' : 'redeems a code 1 ms before'} codeExpiresAt`]
  })),
  {
    name: 'a code that is created before its session is checked',
    of: ({ tokens, browserSessions }) => ({
      tokens: {
        async createCode(code, use) {
          await tokens.createCode(code)
          await setImmediate()
          return use === undefined || (await browserSessions.useSession(use))
        }
      }
    }),
    found: [
      'codes of a session: creates no code when the session was ended',
      'codes of a session: creates no code when the session has expired'
    ]
  },
  {
    name: 'a session that is used before its code is created',
    of: ({ tokens, browserSessions }) => ({
      tokens: {
        async createCode(code, use) {
          if (use !== undefined && !(await browserSessions.useSession(use))) return false
          await setImmediate()
          return await tokens.createCode(code)
        }
      }
    }),
    found: [
      'codes of a session: leaves no code after a sign-out that races 40 new codes',
      'codes of a session: does not use the session when the sid of the code is taken'
    ]
  },
  {
    name: 'a code whose session is not used',
    of: ({ tokens }) => ({ tokens: { createCode: async (code) => await tokens.createCode(code) } }),
    found: [
      'codes of a session: creates a code, and records the use of its session',
      'codes of a session: creates no code when the session was never there'
    ]
  },
  {
    name: 'a peek that counts as a use',
    of: ({ tokens }) => ({
      tokens: {
        async peekToken(use) {
          const used = await tokens.useToken({ ...use, idleExpiresAt: use.now + 1000 })
          return used.outcome === 'used' ? used.family : null
        }
      }
    }),
    found: ['tokens: changes nothing when it peeks at a token, even a replayed one']
  },
  {
    name: 'a session end that leaves its codes',
    of: ({ tokens, browserSessions }) => ({
      tokens: {
        async revokeSession(userId, sessionSid, clientId) {
          const [session = null] = await browserSessions.revokeSessionsOfUser(userId)
          const sids: string[] = []
          for (const family of await tokens.listFamiliesOfUser(userId, 0)) {
            if (family.sessionSid !== sessionSid || (family.offline && family.clientId !== clientId)) continue
            if (await tokens.revokeFamily(family.sid)) sids.push(family.sid)
          }
          return { session, sids }
        }
      }
    }),
    found: [
      'codes: revokeSession ends a code',
      'codes: ends the codes and families of an ended session, except offline families of other clients'
    ]
  },
  {
    name: 'a session end in two steps that lets another tab get a code in between',
    of: ({ tokens, browserSessions }) => ({
      tokens: {
        async revokeSession(userId) {
          const sids = await tokens.revokeFamiliesOfUser(userId)
          await setImmediate()
          const [session = null] = await browserSessions.revokeSessionsOfUser(userId)
          return { session, sids }
        }
      }
    }),
    found: ['codes of a session: leaves no code after a sign-out that races 40 new codes']
  },
  {
    name: 'a session end that ends the sessions of all users',
    of: ({ tokens }) => ({
      tokens: {
        async revokeSession(userId, sessionSid, clientId) {
          const others = await tokens.revokeSession('user-104981', sessionSid, clientId)
          const { session, sids } = await tokens.revokeSession(userId, sessionSid, clientId)
          return { session, sids: [...others.sids, ...sids] }
        }
      }
    }),
    found: ['codes: ends the codes and families of an ended session, except offline families of other clients'],
    only: true
  },
  {
    name: 'a revocation of a client that leaves its codes',
    of: ({ tokens }) => ({
      tokens: {
        async revokeFamiliesOfClient(userId, clientId) {
          const families = (await tokens.listFamiliesOfUser(userId, 0)).filter((family) => family.clientId === clientId)
          await Promise.all(families.map(async ({ sid }) => await tokens.revokeFamily(sid)))
          return families.map(({ sid }) => sid)
        }
      }
    }),
    found: [
      'codes: revokeFamiliesOfClient ends a code',
      'codes: ends all codes and families of one user and client, and no other'
    ]
  }
]

mustBeFound(FAULTS)
