import type { SessionBegun, StepNeeded } from '../../accounts/slots.ts'
import type { Leave, PageDeps } from './deps.ts'
import type { Form } from './forms.ts'
import { leadOn } from './lead-on.ts'
import { pageBefore } from './parts.ts'
import { type Arrival, proposesPasskey } from './passkey-proposal.ts'

/**
 * `leadOn` from a form of ours: where a sign-in elsewhere waits to be confirmed, that comes first, and else perhaps the
 * proposal of a passkey.
 */
export async function leadOnFrom(
  begun: SessionBegun | StepNeeded,
  { request, journey, isSignUp }: Arrival,
  form: Form,
  deps: PageDeps
): Promise<Leave> {
  const first = pageBefore(begun.user.id, { request, journey }, deps)
  if (first !== null) return leadOn(begun, { ...journey, next: first, nativeRequest: null }, request, deps)
  if (!(await proposesPasskey(begun, { request, journey, isSignUp }, form, deps)))
    return leadOn(begun, journey, request, deps)
  return async (reply) => {
    deps.cookies.prompted.set(reply, '1')
    return await leadOn(
      begun,
      { ...journey, next: `${deps.link('passkeyPrompt')}${journey.query}` },
      request,
      deps
    )(reply)
  }
}
