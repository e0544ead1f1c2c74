import { setImmediate } from 'node:timers/promises'
import type { Fault } from './support/planted-faults.ts'
import { mustBeFound } from './support/planted-faults.ts'

const FAULTS: Fault[] = [
  {
    name: 'a renewal that keeps the former secret',
    of: ({ browserSessions }) => ({
      browserSessions: {
        renewSession: async (renewal) => await browserSessions.renewSession({ ...renewal, formerDigest: '' })
      }
    }),
    found: [
      'browserSessions: a renewal begins',
      'browserSessions: of two parallel renewals',
      'browserSessions: with four secrets',
      'browserSessions: strings are kept as they are: quotes'
    ]
  },
  {
    name: 'a renewal that one of two loses',
    of: ({ browserSessions }) => {
      const ended = new Set<string>()
      return {
        browserSessions: {
          async renewSession(renewal) {
            if (ended.has(renewal.formerDigest)) return false
            ended.add(renewal.formerDigest)
            return await browserSessions.renewSession(renewal)
          }
        }
      }
    },
    found: ['browserSessions: of two parallel renewals', 'browserSessions: of 50 parallel renewals']
  },
  {
    name: "a renewal of whoever's session",
    of: ({ browserSessions }) => ({
      browserSessions: {
        renewSession: async (renewal) =>
          await browserSessions.renewSession({
            ...renewal,
            userId: renewal.userId === 'user-104981' ? 'user-19367' : renewal.userId
          })
      }
    }),
    found: ["browserSessions: another user's session is not renewed"],
    only: true
  },
  {
    name: 'a use that reads the clients first and writes them later',
    of: ({ browserSessions }) => {
      const clients = new Map<string, string[]>()
      return {
        browserSessions: {
          async useSession(use) {
            const known = clients.get(use.sid) ?? []
            await setImmediate()
            clients.set(
              use.sid,
              use.clientId === undefined || known.includes(use.clientId) ? known : [...known, use.clientId]
            )
            return await browserSessions.useSession({ sid: use.sid, now: use.now, idleExpiresAt: use.idleExpiresAt })
          },
          async findSession(...args) {
            const session = await browserSessions.findSession(...args)
            return session === null
              ? null
              : { ...session, clientIds: [...session.clientIds, ...(clients.get(session.sid) ?? [])] }
          }
        }
      }
    },
    found: ['browserSessions: of 50 parallel uses by 50 clients']
  },
  ...[1, -1].map((off): Fault => ({
    name: `a session that lives 1 ms too ${off > 0 ? 'short' : 'long'}`,
    of: ({ browserSessions }) => ({
      browserSessions: {
        findSession: async (sid, digest, now) => await browserSessions.findSession(sid, digest, now + off)
      }
    }),
    found: ['idleExpiresAt', 'expiresAt'].map((what) => `browserSessions: ${off > 0 ? -1 : 0} ms from ${what}`)
  })),
  {
    name: 'a grant that reads first and writes later',
    of: ({ consents }) => ({
      consents: {
        async grantConsent(consent) {
          const former = await consents.findConsent(consent.userId, consent.clientId, consent.grantedAt)
          await setImmediate()
          await consents.revokeConsent(consent.userId, consent.clientId)
          await consents.grantConsent({
            ...consent,
            scopes: [...new Set([...(former?.scopes ?? []), ...consent.scopes])]
          })
        }
      }
    }),
    found: ['consents: of 50 parallel grants none is lost'],
    only: true
  },
  {
    name: 'a grant that brings back what has expired',
    of: ({ consents }) => ({
      consents: {
        async grantConsent(consent) {
          const former = await consents.findConsent(consent.userId, consent.clientId, 0)
          await consents.grantConsent({ ...consent, scopes: [...(former?.scopes ?? []), ...consent.scopes] })
        }
      }
    }),
    found: ['consents: 0 ms from expiresAt', 'consents: 1 ms from expiresAt']
  },
  {
    name: 'a sweep that removes what is valid',
    of: ({ sweep }) => ({
      sweep: async (now) => {
        await sweep(now + 1e9)
      }
    }),
    found: ['codes: a sweep', 'browserSessions: a sweep', 'consents: a sweep']
  },
  {
    name: 'a sweep that removes nothing',
    of: () => ({ sweep() {} }),
    found: ['oneTimeTokens: a sweep', 'browserSessions: a sweep', 'consents: a sweep', 'assertions: a sweep']
  }
]

mustBeFound(FAULTS)
