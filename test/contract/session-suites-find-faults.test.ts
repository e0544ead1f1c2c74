import { setImmediate } from 'node:timers/promises'
import type { Fault } from './support/planted-faults.ts'
import { NOW } from './suites/session-fixtures.ts'
import { mustBeFound } from './support/planted-faults.ts'

/** The number of grants that the fault below has made. */
let grants = 0

const FAULTS: Fault[] = [
  {
    name: 'a renewal that keeps the former secret',
    of: ({ browserSessions }) => ({
      browserSessions: {
        findSession: async (sid, digest) => await browserSessions.findSession(sid, digest, NOW)
      }
    }),
    found: [
      'browserSessions: rejects the replaced secret 10000 ms after a renewal',
      'browserSessions: keeps strings unchanged: quotes'
    ]
  },
  {
    name: 'a renewal by any former secret',
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
    found: [
      'browserSessions: renews no session by a replaced or unknown secret',
      'browserSessions: revokeSessionsOfUser keeps the excepted session with its proofs, under the new secret only'
    ]
  },
  {
    name: 'a revocation of other sessions that leaves a copy of the cookie',
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
      'browserSessions: revokeSessionsOfUser keeps the excepted session with its proofs, under the new secret only',
      'codes of a session: creates no code for a wrong or long replaced secret'
    ]
  },
  {
    name: 'a renewal of the session of any user',
    of: ({ browserSessions }) => ({
      browserSessions: {
        renewSession: async (renewal) =>
          await browserSessions.renewSession({
            ...renewal,
            userId: renewal.userId === 'user-104981' ? 'user-19367' : renewal.userId
          })
      }
    }),
    found: ['browserSessions: does not renew the session of another user'],
    only: true
  },
  {
    name: 'a use that reads and writes the clients in two steps',
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
    found: ['browserSessions: keeps all clients of 50 parallel uses']
  },
  ...[1, -1].map((off): Fault => ({
    name: `a session that lives 1 ms too ${off > 0 ? 'short' : 'long'}`,
    of: ({ browserSessions }) => ({
      browserSessions: {
        findSession: async (sid, digest, now) => await browserSessions.findSession(sid, digest, now + off)
      }
    }),
    found: ['idleExpiresAt', 'expiresAt'].map(
      (what) => `browserSessions: ${off > 0 ? 'finds a session 1 ms before' : 'does not find a session at'} ${what}`
    )
  })),
  {
    name: 'a grant that reads and writes in two steps',
    of: ({ consents }) => ({
      consents: {
        async grantConsent(consent) {
          const former = await consents.findConsent(consent.userId, consent.clientId, consent.grantedAt)
          // Waits, so that other calls revoke and grant between the two steps.
          const turns = 1 + 4 * (grants++ % 3)
          for (let turn = 0; turn < turns; turn++) await setImmediate()
          await consents.revokeConsent(consent.userId, consent.clientId)
          await consents.grantConsent({
            ...consent,
            scopes: [...new Set([...(former?.scopes ?? []), ...consent.scopes])]
          })
        }
      }
    }),
    found: [
      'consents: keeps the scopes of all of 50 parallel grants',
      'consents: drops earlier scopes when the client looks different at the next grant'
    ],
    only: true
  },
  {
    name: 'a grant that brings back expired scopes',
    of: ({ consents }) => ({
      consents: {
        async grantConsent(consent) {
          const former = await consents.findConsent(consent.userId, consent.clientId, 0)
          await consents.grantConsent({ ...consent, scopes: [...(former?.scopes ?? []), ...consent.scopes] })
        }
      }
    }),
    found: ['consents: does not find a consent at expiresAt', 'consents: does not find a consent 1 ms after expiresAt']
  },
  {
    name: 'a sweep that removes valid records',
    of: ({ sweep }) => ({
      sweep: async (now) => {
        await sweep(now + 1e9)
      }
    }),
    found: [
      'codes: sweeps expired codes, and keeps valid and redeemed ones',
      'browserSessions: sweeps expired sessions, and keeps live ones',
      'consents: sweeps expired consents, and keeps valid ones'
    ]
  },
  {
    name: 'a sweep that removes nothing',
    of: () => ({ sweep() {} }),
    found: [
      'oneTimeTokens: sweeps expired tokens, and keeps valid ones',
      'browserSessions: sweeps expired sessions, and keeps live ones',
      'consents: sweeps expired consents, and keeps valid ones',
      'assertions: sweeps only expired claims'
    ]
  }
]

mustBeFound(FAULTS)
