import { createAuthClient } from '../../../lib/client/index.ts'
import { fetchWithStepUp } from '../../../lib/client/step-up.ts'

export function make({ clientId, provider, redirectUri, signedOut, ...options }) {
  const client = createAuthClient({ clientId, domain: provider, redirectUri, ...options })
  return {
    login: async () => {
      await client.loginWithRedirect()
    },
    callback: async () => {
      await client.handleRedirectCallback()
    },
    user: async () => await client.getUser(),
    token: async () => await client.getAccessToken(),
    api: async (path) => (await fetchWithStepUp(client, path)).status,
    logout: async () => {
      await client.logout({ returnTo: signedOut })
    },
    forget: async () => {
      await client.logout({ returnTo: false })
    },
    listen: (listener) => {
      client.on('authenticated', listener)
    },
    onChange(listener) {
      client.on('authenticated', listener)
      client.on('unauthenticated', listener)
    }
  }
}
