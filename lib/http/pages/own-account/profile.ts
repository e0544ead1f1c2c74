import type { FastifyInstance } from 'fastify'
import { Type } from '@sinclair/typebox'
import { changeProfile } from '../../../accounts/profile.ts'
import type { ProfileField } from '../../../pages/common-model.ts'
import type { Registration } from '../../edge/registration.ts'
import type { PageDeps } from '../deps.ts'
import { profileChangeForm } from '../profile-fields.ts'
import { accountPage } from './account-page.ts'

/** The person's profile, changed as by `PATCH /auth/profile`. */
export function profilePage(
  child: FastifyInstance,
  deps: PageDeps,
  registration: Registration,
  fields: readonly string[]
): void {
  const {
    authorize: { accounts }
  } = deps
  const profile = profileChangeForm(registration, fields)
  accountPage<'account_profile', { fields: ProfileField[] }>(
    child,
    {
      name: 'account_profile',
      path: 'accountProfile',
      summaries: { page: 'Profile page', form: 'Change the profile by a form' },
      body: Type.Object(Object.fromEntries(profile.names.map((name) => [name, Type.Optional(Type.String())]))),
      fields: profile.names,
      open: async ({ person: { user } }, form) => ({ fields: profile.show(user, form) }),
      submit(
        form,
        {
          person: {
            user,
            session: { sid }
          },
          origin
        }
      ) {
        const changes = profile.read(form, user)
        return {
          limit: null,
          async work() {
            await changeProfile({ user, sid, changes, origin }, accounts)
            return 'profile'
          }
        }
      },
      content: (shown) => shown
    },
    deps
  )
}
