import { setImmediate } from 'node:timers/promises'
import type { Fault } from './support/planted-faults.ts'
import { NOW } from './suites/session-fixtures.ts'
import { mustBeFound } from './support/planted-faults.ts'

const FAULTS: Fault[] = [
  {
    name: 'a renewal that keeps the former secret',
    of: ({ browserSessions }) => ({
      browserSessions: {
        findSession: async (sid, digest) => await browserSessions.findSession(sid, digest, NOW)
      }
    }),
    found: [
      'browserSessions: 0 ms from ten seconds after a renewal',
      'browserSessions: strings are kept as they are: quotes'
    ]
  },
  {
    name: 'a renewal by whatever secret the cookie had',
    of: ({ browserSessions }) => {
      const live = new Map<string, string>()
      return {
        browserSessions: {
          async createSession(session, digest) {
            live.set(session.sid, digest)
            await browserSessions.createSession(session, digest)
          },
          async renewSession(renewal) {
            const formerDigest = live.get(renewal.sid) ?? ''
            const done = await browserSessions.renewSession({ ...renewal, formerDigest })
            if (done) live.set(renewal.sid, renewal.digest)
            return done
          }
        }
      }
    },
    found: ['browserSessions: a secret that was replaced', 'browserSessions: the session that stays has']
  },
  {
    name: 'all others end, and a copy of the cookie stays',
    of: ({ browserSessions }) => ({
      browserSessions: {
        revokeSessionsOfUser: async (userId, stays) =>
          await browserSessions.revokeSessionsOfUser(
            userId,
            stays === undefined || stays.secret === null
              ? stays
              : { sid: stays.sid, secret: { ...stays.secret, digest: stays.secret.formerDigest } }
          )
      }
    }),
    found: [
      'browserSessions: the session that stays has the new secret alone',
      'codes of a session: no code by a secret'
    ]
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
            return await browserSessions.useSession({
              sid: use.sid,
              digest: use.digest,
              now: use.now,
              idleExpiresAt: use.idleExpiresAt
            })
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
