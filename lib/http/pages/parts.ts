/** Functions by which built-in pages ask the features that are on for their additions. */
import type { FastifyRequest } from 'fastify'
import { wordsOf } from '../../protocol/authorization-params.ts'
import { PROMPTS } from '../../protocol/authorization-request.ts'
import type { ConnectButton } from '../../pages/common-model.ts'
import type { Journey, PageDeps, Submission, Visit } from './deps.ts'
import { type Form, queryParam } from './page-routes.ts'

type Deps = Pick<PageDeps, 'parts'>

/** The links to other providers, for a page of this journey. */
export async function connectButtons(
  request: FastifyRequest,
  journey: Pick<Journey, 'query'>,
  { parts }: Deps
): Promise<ConnectButton[]> {
  return (await Promise.all(parts.map(async ({ buttons }) => (await buttons?.(request, journey)) ?? []))).flat()
}

/** Addresses of pictures that the links show. */
export const buttonImages = ({ parts }: Deps): string[] => parts.flatMap(({ images = [] }) => images)

/** The outcome of a form whose username belongs to a feature; `null`: no feature takes the username. */
export async function elsewhere(form: Form, visit: Visit, { parts }: Deps): Promise<Submission<never> | null> {
  for (const part of parts) {
    const led = (await part.elsewhere?.(form, visit)) ?? null
    if (led !== null) return led
  }
  return null
}

/** True if a sign-in form has the hidden field in which the script reports that the browser supports passkeys. */
export const tellsPasskeys = ({ parts }: Deps): boolean => parts.some(({ proposal }) => proposal !== undefined)

/** The path of a page that comes before the goal of a sign-in; `null`: none. */
export function pageBefore(userId: string, visit: Pick<Visit, 'request' | 'journey'>, { parts }: Deps): string | null {
  for (const { leadOn } of parts) {
    const path = leadOn?.(userId, visit) ?? null
    if (path !== null) return path
  }
  return null
}

/**
 * The parameter `prompt=login`, if the page's address has it without a client. Links need it besides the query of the
 * journey, because a journey without a client drops it.
 */
export function freshness(request: FastifyRequest): Record<string, string> {
  return queryParam(request, 'client_id') === '' && promptsOf(request).includes('login') ? { prompt: 'login' } : {}
}

export function promptsOf(request: FastifyRequest): string[] {
  return knownPrompts(queryParam(request, 'prompt'))
}

/** The prompts that a page may repeat in its links: not `none`, and no unknown word. */
const knownPrompts = (prompt: string): string[] =>
  wordsOf(prompt).filter((word) => word !== 'none' && PROMPTS.some((known) => known === word))

/**
 * The sign-in page of the same journey for another account. The address has no `login_hint`. Opening it ends no
 * session, so that a link on another site signs nobody out.
 */
export function otherAccountUrl(loginUrl: string, query: string, prompts: readonly string[] = []): string {
  const params = new URLSearchParams(query)
  const words = new Set([...knownPrompts(params.get('prompt') ?? ''), ...prompts, 'select_account'])
  params.delete('login_hint')
  params.set('prompt', [...words].join(' '))
  return `${loginUrl}?${params.toString()}`
}
