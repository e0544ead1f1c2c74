/** The clients that are compared, and what each of them is made for. */
export interface ClientKind {
  name: string
  title: string
  /** Its package; `undefined`: this one. */
  package?: string
  /** The module of `pages/`, and the arguments of its `make` besides the addresses. */
  page: string
  variant?: Record<string, unknown>
  /** Entry for the size: sign-in, callback, user and token. */
  entry: string
  /** True if another tab, or a reload, has the session by design. */
  shared: boolean
  /** How many listeners an event may have. */
  listeners: 'none' | 'one' | 'many'
  /** The provider that it needs: one like Auth0, or like Keycloak. */
  provider?: 'auth0' | 'keycloak'
}

const AUTH0 = {
  package: '@auth0/auth0-spa-js',
  page: 'auth0',
  entry: "export { Auth0Client } from '@auth0/auth0-spa-js'",
  listeners: 'none',
  provider: 'auth0'
} as const

export const CLIENTS: readonly ClientKind[] = [
  {
    name: 'ours',
    title: 'fastify-authority/client',
    page: 'ours',
    entry: "export { createAuthClient } from './lib/client/index.ts'",
    shared: true,
    listeners: 'many'
  },
  {
    ...AUTH0,
    name: 'auth0-local',
    title: 'auth0-spa-js (localStorage)',
    variant: { cacheLocation: 'localstorage' },
    shared: true
  },
  {
    ...AUTH0,
    name: 'auth0-memory',
    title: 'auth0-spa-js (memory)',
    variant: { cacheLocation: 'memory' },
    shared: false
  },
  {
    name: 'oidc-client-ts',
    title: 'oidc-client-ts',
    package: 'oidc-client-ts',
    page: 'oidc-client-ts',
    entry: "export { UserManager, WebStorageStateStore } from 'oidc-client-ts'",
    shared: true,
    listeners: 'many'
  },
  {
    name: 'keycloak-js',
    title: 'keycloak-js',
    package: 'keycloak-js',
    page: 'keycloak-js',
    entry: "export { default } from 'keycloak-js'",
    shared: false,
    listeners: 'one',
    provider: 'keycloak'
  }
]
