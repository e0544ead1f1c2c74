/** The bindings, in an app that a bundler puts together. */
import type { ComputedRef } from 'vue'
import { useAuth as useReact, type AuthState } from 'fastify-authority/client/react'
import { useAuth as useVue } from 'fastify-authority/client/vue'
import { auth } from '../client.ts'

export function react (): string {
  const { user, isLoading, error } = useReact(auth)
  const role: 'admin' | 'user' | undefined = user?.role
  // @ts-expect-error -- nobody may be signed in
  void user.sub
  return `${role ?? ''} ${String(isLoading)} ${error?.error ?? ''}`
}

export function vue (): ComputedRef<boolean> {
  const { user, isLoading } = useVue(auth)
  const role: 'admin' | 'user' | undefined = user.value?.role
  // @ts-expect-error -- only the client changes it
  user.value = null
  void role
  return isLoading
}

export type State = AuthState<{ sub: string }>
