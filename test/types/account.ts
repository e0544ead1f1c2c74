/**
 * A host whose rows have more than `User` says, and whose tokens have more claims. Each `@ts-expect-error` fails where
 * there is no error.
 */
import type { FastifyRequest } from 'fastify'
import Fastify from 'fastify'
import authPlugin, { memoryUserStore } from 'fastify-authority'
import type {
  AccessTokenClaims,
  AuthorityOptions,
  AuthPlugin,
  ClaimsFunction,
  User,
  UserStore
} from 'fastify-authority'

declare module 'fastify-authority' {
  interface AccessTokenClaims {
    readonly tenant: string
  }
}

export const tenantOf = ({ auth }: FastifyRequest): string => (auth === null ? '' : auth.tenant.toUpperCase())
export const ofClaims = ({ tenant, sub }: AccessTokenClaims): string => `${tenant}/${sub}`

interface Account extends User {
  tenant: string
}

export async function typedByTheStore(store: UserStore<Account>): Promise<void> {
  const app = Fastify()
  const issuer = 'http://localhost:3000'
  await app.register(authPlugin<Account>, {
    issuer,
    users: store,
    claims: (user) => ({ tenant: user.tenant.toUpperCase() })
  })
  await app.register(authPlugin, {
    issuer,
    users: store,
    claims: (user: Account) => ({ tenant: user.tenant.toUpperCase() })
  })
  await app.register(authPlugin, {
    issuer,
    users: memoryUserStore(),
    claims: (user, { use }) => ({ n: user.username.toUpperCase(), t: user['tenant'], use })
  })
  await app.register(authPlugin, { issuer, users: store, claims: async (user) => ({ n: user.username.toUpperCase() }) })
  await app.register(authPlugin, () => ({ issuer, users: store }))
  // @ts-expect-error -- not of this store
  await app.register(authPlugin<Account>, { issuer, users: memoryUserStore() })
  // @ts-expect-error -- unknown option
  await app.register(authPlugin<Account>, { issuer, users: store, isuer: 'y' })
  await app.register(authPlugin<Account>, {
    issuer,
    users: store,
    // @ts-expect-error -- no such field
    claims: (user) => ({ t: user.tenent.toUpperCase() })
  })
  // @ts-expect-error -- unknown option
  await app.register(authPlugin, { issuer, users: store, isuer: 'y' })
  // @ts-expect-error -- no issuer
  await app.register(authPlugin, { users: store })
  // @ts-expect-error -- unrelated user
  await app.register(authPlugin, { issuer, users: store, claims: (user: { nothing: 1 }) => ({ user }) })
}

/** Options that are made elsewhere. */
export const claims: ClaimsFunction<Account> = ({ tenant }, { scopes }) => (scopes.includes('tenant') ? { tenant } : {})
export const options = (users: UserStore<Account>): AuthorityOptions<Account> => ({
  issuer: 'http://localhost:3000',
  users,
  claims
})
export const plugin: AuthPlugin = authPlugin
