import { createAuthClient } from 'fastify-authority/client'

/** One client for the whole app. `domain` is where the provider is: here the app's own origin. */
export const auth = createAuthClient<{ sub: string; preferred_username?: string; email?: string }>({
  clientId: 'spa-react',
  domain: location.origin,
  redirectUri: `${location.origin}/me`
})
