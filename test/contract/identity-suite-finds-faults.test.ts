/** FED-29: the cases of sign-ins through other providers fail over a store with a mistake in it. */
import { setImmediate } from 'node:timers/promises'
import t from '../support/tap.ts'
import { memoryUserStore } from '../../lib/adapters/memory/user-store.ts'
import { IdentityTakenError } from '../../lib/errors.ts'
import type { Identity, LinkedIdentity, User, UserStore } from '../../lib/ports/user-store.ts'
import { ALICE } from '../../lib/testing/user-fixtures.ts'
import { userStoreContract } from '../../lib/testing/user-store-contract.ts'
import { failing } from './support/failing.ts'

const MISTAKES: Record<
  string,
  { make(store: ReturnType<typeof memoryUserStore>): Partial<UserStore>; found: string[] }
> = {
  'checks the identity and links in two steps': {
    make(store) {
      const links = new Map<string, LinkedIdentity[]>()
      return {
        async linkIdentity(userId, link) {
          const owner = await store.findByIdentity(link)
          if (owner !== null || (await store.findById(userId)) === null) return await store.linkIdentity(userId, link)
          await setImmediate()
          links.set(userId, [...(links.get(userId) ?? []), link])
          await store.linkIdentity(userId, link)
          return 'linked'
        }
      }
    },
    found: [
      'linkIdentity: links the identity to one of 50 users in parallel calls',
      'linkIdentity: links once in 50 parallel calls with the same user and identity',
      'createWithIdentity: never shares its identity or username with a parallel linkIdentity or create'
    ]
  },
  'counts the links and unlinks in two steps': {
    make: (store) => ({
      async unlinkIdentity(userId, identity, otherFactors) {
        const left = (await store.listIdentities(userId)).length
        await setImmediate()
        return await store.unlinkIdentity(userId, identity, otherFactors || left > 1)
      }
    }),
    found: ['unlinkIdentity: keeps one link when parallel calls remove all links of a user without a password']
  },
  'unlinks the last way to sign in': {
    make: (store) => ({
      unlinkIdentity: async (userId, identity) => await store.unlinkIdentity(userId, identity, true)
    }),
    found: ['unlinkIdentity: keeps the last link of a user without a password or another factor']
  },
  'ignores a remaining password': {
    make: (store) => ({
      async unlinkIdentity(userId, identity, otherFactors) {
        return !otherFactors &&
          (await store.listIdentities(userId)).length === 1 &&
          (await store.findById(userId)) !== null
          ? 'last_sign_in_method'
          : await store.unlinkIdentity(userId, identity, otherFactors)
      }
    }),
    found: ['unlinkIdentity: keeps the last link of a user without a password or another factor']
  },
  'ignores other factors': {
    make: (store) => ({
      unlinkIdentity: async (userId, identity) => await store.unlinkIdentity(userId, identity, false)
    }),
    found: ['unlinkIdentity: keeps the last link of a user without a password or another factor']
  },
  'unlinks an identity of another user': {
    make: (store) => ({
      unlinkIdentity: async (userId, identity, otherFactors) =>
        await store.unlinkIdentity((await store.findByIdentity(identity))?.id ?? userId, identity, otherFactors)
    }),
    found: ['unlinkIdentity: answers unknown for a link that the user lacks, even if another user has it']
  },
  'creates the user and links in two steps': {
    make: (store) => ({
      async createWithIdentity(user, link) {
        const created = await store.create(user)
        if ((await store.linkIdentity(created.id, link)) !== 'linked') throw new IdentityTakenError()
        return created
      }
    }),
    found: [
      'createWithIdentity: rejects a taken username or identity, and writes nothing',
      'createWithIdentity: creates one user in 50 parallel calls with the same identity'
    ]
  },
  'links an identity to an existing user with the same username': {
    make: (store) => ({
      async createWithIdentity(user, link) {
        const known = await store.findByUsername(user.username)
        if (known === null) return await store.createWithIdentity(user, link)
        await store.linkIdentity(known.id, link)
        return known
      }
    }),
    found: ['createWithIdentity: rejects a taken username or identity, and writes nothing']
  },
  'identifies by the subject alone': {
    make: (store) => {
      const bare = <Key extends Identity>(key: Key): Key => ({ ...key, issuer: 'https://op.example' })
      return {
        findByIdentity: async (key) => await store.findByIdentity(bare(key)),
        linkIdentity: async (id, link) => await store.linkIdentity(id, bare(link))
      }
    },
    found: ['linkIdentity: distinguishes identities by the exact bytes of issuer and subject']
  },
  'joins issuer and subject into one string': {
    make: (store) => {
      const joined = <Key extends Identity>(key: Key): Key => ({
        ...key,
        issuer: 'all',
        subject: key.issuer + key.subject
      })
      return {
        findByIdentity: async (key) => await store.findByIdentity(joined(key)),
        linkIdentity: async (id, link) => await store.linkIdentity(id, joined(link))
      }
    },
    found: ['linkIdentity: distinguishes identities by the exact bytes of issuer and subject']
  },
  'compares subjects without regard to case': {
    make: (store) => {
      const folded = <Key extends Identity>(key: Key): Key => ({ ...key, subject: key.subject.toLowerCase() })
      return {
        findByIdentity: async (key) => await store.findByIdentity(folded(key)),
        linkIdentity: async (id, link) => await store.linkIdentity(id, folded(link))
      }
    },
    found: ['linkIdentity: distinguishes identities by the exact bytes of issuer and subject']
  },
  'moves a taken identity to the last user': {
    make: (store) => ({
      async linkIdentity(userId, link) {
        const owner = await store.findByIdentity(link)
        if (owner !== null && owner.id !== userId) await store.unlinkIdentity(owner.id, link, true)
        return await store.linkIdentity(userId, link)
      }
    }),
    found: ['linkIdentity: writes nothing when the identity is already linked or the user is unknown']
  },
  'overwrites an existing link': {
    make: (store) => ({
      async linkIdentity(userId, link) {
        const outcome = await store.linkIdentity(userId, link)
        if (outcome === 'already_linked') {
          await store.unlinkIdentity(userId, link, true)
          await store.linkIdentity(userId, link)
        }
        return outcome
      }
    }),
    found: ['linkIdentity: writes nothing when the identity is already linked or the user is unknown']
  },
  'drops the sealed value': {
    make: (store) => ({ linkIdentity: async (id, { sealed: _sealed, ...link }) => await store.linkIdentity(id, link) }),
    found: ['linkIdentity: links the identity to the user, and lists the link as given']
  },
  'drops the provisional flag of a link': {
    make: (store) => ({
      linkIdentity: async (id, { provisional: _provisional, ...link }) => await store.linkIdentity(id, link)
    }),
    found: ['linkIdentity: links the identity to the user, and lists the link as given']
  },
  'creates a link by using it': {
    make(store) {
      const used = new Map<string, Identity>()
      return {
        async useIdentity(identity, at) {
          used.set(identity.subject, identity)
          await store.useIdentity(identity, at)
        },
        findByIdentity: async (identity) =>
          (await store.findByIdentity(identity)) ??
          (used.has(identity.subject) ? await store.findByUsername(ALICE) : null)
      }
    },
    found: ['useIdentity: records the time of use, and the email if given, for that link only']
  },
  'removes the email address when none is given': {
    make: (store) => ({
      useIdentity: async (identity, at, email) => {
        await store.useIdentity(identity, at, email ?? '')
      }
    }),
    found: ['useIdentity: records the time of use, and the email if given, for that link only']
  },
  'lists the newest link first': {
    make: (store) => ({ listIdentities: async (id) => (await store.listIdentities(id)).toReversed() }),
    found: ['listIdentities: lists copies of the links of a user, oldest first, across issuers']
  },
  'removes the user but not the links': {
    make(store) {
      const gone = new Set<string>()
      const links = new Map<string, string>()
      return {
        async linkIdentity(userId, link) {
          if (links.has(link.subject)) return 'taken'
          const outcome = await store.linkIdentity(userId, link)
          if (outcome === 'linked') links.set(link.subject, userId)
          return outcome
        },
        async remove(id) {
          gone.add(id)
          await store.remove(id)
        }
      }
    },
    found: [
      'remove: removes the links of the user, and frees their identities',
      'remove: leaves no link that a parallel call adds'
    ]
  },
  'checks the user and links in two steps': {
    make(store) {
      const late = new Map<string, User>()
      return {
        async linkIdentity(userId, link) {
          const user = await store.findById(userId)
          await setImmediate()
          const outcome = await store.linkIdentity(userId, link)
          if (outcome !== 'unknown_user' || user === null) return outcome
          late.set(link.subject, user)
          return 'linked'
        },
        findByIdentity: async (identity) => (await store.findByIdentity(identity)) ?? late.get(identity.subject) ?? null
      }
    },
    found: ['remove: leaves no link that a parallel call adds']
  }
}

for (const [what, { make, found }] of Object.entries(MISTAKES))
  t.test(`userStoreContract finds a store that ${what}`, async (t) => {
    const names = await failing(
      userStoreContract(async () => {
        const store = memoryUserStore()
        return { store: { ...store, ...make(store) } }
      })
    )
    for (const name of found) t.ok(names.includes(name), `${name}: found ${names.join(', ')}`)
    t.ok(
      names.every((name) => /[iI]dentit|^remove: .*link/.test(name)),
      names.join(', ')
    )
  })
