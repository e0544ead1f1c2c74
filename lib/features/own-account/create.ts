import type { Parts } from '../../feature.ts'
import { ownAccount } from './endpoints.ts'
import { accountOverview, ownAccountPages } from './pages/routes.ts'

export function create(): Parts {
  return {
    endpoints: ownAccount,
    pages: {
      groups: (deps) =>
        deps.offers.account
          ? [
              {
                cors: 'noOrigin',
                register(child) {
                  ownAccountPages(child, deps)
                }
              },
              {
                cors: 'noOriginBesides',
                register(child) {
                  accountOverview(child, deps)
                }
              }
            ]
          : []
    }
  }
}
