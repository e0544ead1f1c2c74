import type { FastifyInstance } from 'fastify'
import type { FormModel } from '../../pages/common-model.ts'
import type { PageModels } from '../../pages/model.ts'
import type { User } from '../../ports/user-store.ts'
import type { PageDeps } from './deps.ts'
import type { Submission, Visit } from './form-page.ts'

/** Fields that a part adds to the model of a page. */
export type AddedTo<Name extends 'login' | 'reauthenticate'> = Partial<Omit<PageModels[Name], keyof FormModel>>

/** Additions of a feature to the hosted pages. */
export interface PageSlots {
  routes?(child: FastifyInstance, deps: PageDeps): void
  /** A way to sign in that the pages of the kernel lead to. */
  signIn?(deps: PageDeps): SignInPart
}

export interface SignInPart {
  /** Fields of the model of the sign-in page. */
  login(journey: Visit['journey']): AddedTo<'login'>
  /** The value of the button with which a signed-in user proves again that it is them. */
  decision: string
  /** Fields of the model of the page with that button; `null`: this user has no button. */
  reauthenticate(user: User): AddedTo<'reauthenticate'> | null
  submit(user: User, visit: Visit): Promise<Submission<never>>
}
