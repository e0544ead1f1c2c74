import { setImmediate } from 'node:timers/promises'
import type { Fault } from './support/planted-faults.ts'
import { mustBeFound } from './support/planted-faults.ts'

const FAULTS: Fault[] = [
  {
    name: 'a redemption that looks first and writes later',
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
    found: ['codes: of 50 parallel redemptions one is redeemed']
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
      'codes: a code used twice ends its family',
      'codes: a wrong secret ends a code',
      'codes: a sweep leaves codes'
    ]
  },
  {
    name: 'a redemption by whatever client',
    of: ({ tokens }) => ({
      tokens: {
        redeemCode: async (redemption) =>
          await tokens.redeemCode({
            ...redemption,
            clientId: redemption.clientId === 'client-2' ? 'client-1' : redemption.clientId
          })
      }
    }),
    found: ['codes: another client gets nothing and ends nothing'],
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
    found: ['codes: a wrong secret ends a code']
  },
  {
    name: 'one lifetime for all families',
    of: ({ tokens }) => ({
      tokens: {
        redeemCode: async (redemption) =>
          await tokens.redeemCode({ ...redemption, onlineExpiresAt: redemption.expiresAt })
      }
    }),
    found: ['codes: a family that is not offline lives', 'codes: a code becomes a family']
  },
  ...[1, -1].map((off): Fault => ({
    name: `a code that lives 1 ms too ${off > 0 ? 'long' : 'short'}`,
    of: ({ tokens }) => ({
      tokens: {
        createCode: async (code, use) =>
          await tokens.createCode({ ...code, codeExpiresAt: code.codeExpiresAt + off }, use)
      }
    }),
    found: [`codes: ${off > 0 ? 0 : -1} ms from codeExpiresAt`]
  })),
  {
    name: 'a code that is made first and whose session is looked at later',
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
      'codes of a session: no code where the session was ended',
      'codes of a session: no code where the session has expired'
    ]
  },
  {
    name: 'a session that is used first and whose code is made later',
    of: ({ tokens, browserSessions }) => ({
      tokens: {
        async createCode(code, use) {
          if (use !== undefined && !(await browserSessions.useSession(use))) return false
          await setImmediate()
          return await tokens.createCode(code)
        }
      }
    }),
    found: ['codes of a session: of 40 parallel codes and a sign-out', 'codes of a session: where the sid is taken']
  },
  {
    name: 'a code whose session is not used',
    of: ({ tokens }) => ({ tokens: { createCode: async (code) => await tokens.createCode(code) } }),
    found: ['codes of a session: the code is there', 'codes of a session: no code where the session was never there']
  },
  {
    name: 'a look that counts as a use',
    of: ({ tokens }) => ({
      tokens: {
        async peekToken(use) {
          const used = await tokens.useToken({ ...use, idleExpiresAt: use.now + 1000 })
          return used.outcome === 'used' ? used.family : null
        }
      }
    }),
    found: ['tokens: a look at a token changes nothing']
  },
  {
    name: 'the end of a session that leaves its codes',
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
    found: ['codes: revokeSession ends a code', 'codes: the end of a browser session']
  },
  {
    name: 'the end of a session in two steps, between which another tab is given a code',
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
    found: ['codes of a session: of 40 parallel codes and a sign-out']
  },
  {
    name: 'the end of a session that ends the sessions of all users',
    of: ({ tokens }) => ({
      tokens: {
        async revokeSession(userId, sessionSid, clientId) {
          const others = await tokens.revokeSession('user-104981', sessionSid, clientId)
          const { session, sids } = await tokens.revokeSession(userId, sessionSid, clientId)
          return { session, sids: [...others.sids, ...sids] }
        }
      }
    }),
    found: ['codes: the end of a browser session'],
    only: true
  },
  {
    name: 'the end of what a client was given that leaves its codes',
    of: ({ tokens }) => ({
      tokens: {
        async revokeFamiliesOfClient(userId, clientId) {
          const families = (await tokens.listFamiliesOfUser(userId, 0)).filter((family) => family.clientId === clientId)
          await Promise.all(families.map(async ({ sid }) => await tokens.revokeFamily(sid)))
          return families.map(({ sid }) => sid)
        }
      }
    }),
    found: ['codes: revokeFamiliesOfClient ends a code', 'codes: the end of what one client was given']
  }
]

mustBeFound(FAULTS)
