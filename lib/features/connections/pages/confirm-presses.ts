import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SessionBegun, StepNeeded } from '../../../accounts/slots.ts'
import { UpstreamError } from '../../../errors.ts'
import type { Connection } from '../../../ports/upstream.ts'
import type { AuthenticationProof } from '../../../protocol/authentication.ts'
import { goOn, pressedOnce } from '../../../http/pages/form-page.ts'
import type { Journey } from '../../../http/pages/deps.ts'
import { pathOfStep } from '../../../http/pages/lead-on.ts'
import type { ConnectPageDeps } from './begin.ts'
import type { PendingConnect } from './cookies.ts'

export interface Waiting {
  pending: PendingConnect
  connection: Connection
  journey: Journey
  request: FastifyRequest
  reply: FastifyReply
}

/** A press within this many milliseconds after the first one counts as a repeated press. */
const PRESSED_AGAIN_MS = 10_000

/** The outcome of the sign-up form. An `UpstreamError` is a failure that no other input in the form can correct. */
export type SignedUp = SessionBegun | StepNeeded | UpstreamError
type Finished = SignedUp | 'linked' | 'sign_in_first'

/** The work of a form. It must call `useUp` before its first write. */
type Work<Done> = (useUp: () => Promise<void>) => Promise<Done>
type Pressed<Done> = { cookie: string | undefined } & ({ done: Done } | { failed: unknown; again: PendingConnect })

/**
 * Does the work, which uses up the proof by `useUp`, so that no copy of the proof's cookie can repeat the work. If the
 * work fails after that, `again` is a new proof for the next try.
 */
async function usingUp<Done>(
  { pending, request }: Waiting,
  { authorize: { accounts }, browser, connect: { cookies } }: ConnectPageDeps,
  work: Work<Done>
): Promise<Pressed<Done>> {
  let isUsed = false
  const useUp = async (): Promise<void> => {
    isUsed = true
    if (!(await cookies.useUp('link', pending.id)))
      throw new UpstreamError('mismatch', 'The proof of the provider was used before, with a copy of its cookie.')
  }
  try {
    const done = await work(useUp)
    return { done, cookie: browser.cookieOf(request) }
  } catch (error) {
    if (!isUsed) throw error
    return { failed: error, again: { ...pending, id: accounts.random.id() }, cookie: browser.cookieOf(request) }
  }
}

interface ConfirmPresses {
  /**
   * Does the work of the form once for parallel presses of the button. Each reply sets the session cookie that the
   * first press got. If the work failed after using up the proof, each reply also sets a new proof.
   */
  finish<Done extends Finished>(waiting: Waiting, work: Work<Done>): Promise<Done>
  /**
   * Answers a press that comes after the first press has cleared the proof. Leads to the page of the first press, or to
   * the sign-in page if no press in the last ten seconds has begun a session or a step here.
   */
  pressedBefore(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply>
}

/** Handles repeated presses of the button that finishes a sign-in through a connection. */
export function confirmPresses(deps: ConnectPageDeps): ConfirmPresses {
  const { browser, connect, journeys, link } = deps
  const oncePressed = pressedOnce<Pressed<Finished>>()
  return {
    async finish<Done extends Finished>(waiting: Waiting, work: Work<Done>) {
      const { pending, request, reply } = waiting
      // A proof is for one kind of work, a link or a sign-up, so the first press did the same work.
      const pressed = (await oncePressed(
        JSON.stringify([pending.id, browser.cookieOf(request)]),
        request,
        async () => await usingUp(waiting, deps, work)
      )) as Pressed<Done>
      if (pressed.cookie !== undefined && pressed.cookie !== browser.cookieOf(request))
        browser.setCookie(reply, pressed.cookie)
      if (!('failed' in pressed)) return pressed.done
      connect.cookies.setProof(reply, pressed.again)
      throw pressed.failed
    },
    async pressedBefore(request, reply) {
      const { next, query } = await journeys.read(request)
      const needs = await stepOwed(request, deps)
      if (needs !== null) return await goOn(`${link(pathOfStep(needs))}${query}`)(reply)
      const session = (await browser.signedIn(request))?.session
      const isAgain = session !== undefined && isByFirstPress(session.methods, session.authenticatedAt, deps)
      return await goOn(isAgain ? next : `${link('login')}${query}`)(reply)
    }
  }
}

/** True if a sign-in through a connection has begun this session or step in the last ten seconds. */
const isByFirstPress = (
  methods: readonly AuthenticationProof[],
  begunAt: number,
  { authorize: { accounts } }: ConnectPageDeps
): boolean =>
  methods.some(({ method }) => method === 'connection') && begunAt >= accounts.clock.now() - PRESSED_AGAIN_MS

/** Finds the step that a sign-in through a connection still owes, if it has just begun in this browser. */
async function stepOwed(request: FastifyRequest, deps: ConnectPageDeps): Promise<StepNeeded['needs'] | null> {
  const ticket = deps.cookies.step.read(request)
  if (ticket === undefined) return null
  for (const { stepOf } of deps.authorize.accounts.slots) {
    const owed = (await stepOf?.(ticket)) ?? null
    if (owed !== null && isByFirstPress(owed.methods, owed.begunAt, deps)) return owed.needs
  }
  return null
}
