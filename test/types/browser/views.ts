/** The view bindings, in a bundled app. */
import type { ComputedRef } from 'vue'
import { createElement, type ReactNode } from 'react'
import { createAuthClient } from 'fastify-authority/client'
import { RequireAuth, useAuth as useReact, type AuthState } from 'fastify-authority/client/react'
import { requireAuth } from 'fastify-authority/client/svelte'
import { RequireAuth as RequireVue, useAuth as useVue } from 'fastify-authority/client/vue'
import { h, type VNode } from 'vue'
import { auth } from '../client.ts'

export function react(): string {
  const { user, isLoading, error } = useReact(auth)
  const role: 'admin' | 'user' | undefined = user?.role
  // @ts-expect-error -- nobody may be signed in
  void user.sub
  return `${role ?? ''} ${String(isLoading)} ${error?.error ?? ''}`
}

export function standardClaims(): Array<string | undefined> {
  const plain = createAuthClient({ clientId: 'spa', domain: 'auth.example' })
  const { user } = useReact(plain)
  // @ts-expect-error -- the standard claims have types
  const wrong: number | undefined = user?.email
  void wrong
  return [user?.email, user?.name, useVue(plain).user.value?.picture]
}

export function vue(): ComputedRef<boolean> {
  const { user, isLoading } = useVue(auth)
  const role: 'admin' | 'user' | undefined = user.value?.role
  // @ts-expect-error -- only the client changes it
  user.value = null
  void role
  return isLoading
}

export function views(): [ReactNode, VNode] {
  const stop: () => void = requireAuth(auth, { appState: { from: '/cart' } }).subscribe(({ user }) => {
    void user?.role
  })
  // @ts-expect-error -- another state than the app's
  requireAuth(auth, { appState: 7 })
  stop()
  return [
    createElement(
      'main',
      null,
      RequireAuth({ client: auth, login: { appState: { from: '/cart' } }, fallback: 'wait', children: 'secret' })
    ),
    h(RequireVue, { client: auth }, { default: () => 'secret', fallback: () => 'wait' })
  ]
}

export type State = AuthState<{ sub: string }>
