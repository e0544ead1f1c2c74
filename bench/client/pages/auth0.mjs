import { Auth0Client } from '@auth0/auth0-spa-js'
import { fetchWithStepUp } from './step-up.mjs'

/** Its events: none. */
export function make({ clientId, provider, redirectUri, signedOut, cacheLocation }) {
  const client = new Auth0Client({
    domain: provider,
    clientId,
    cacheLocation,
    useRefreshTokens: true,
    authorizationParams: { redirect_uri: redirectUri }
  })
  const token = async () => await client.getTokenSilently()
  return {
    login: async () => {
      await client.loginWithRedirect()
    },
    callback: async () => {
      await client.handleRedirectCallback()
    },
    user: async () => await client.getUser(),
    token,
    api: async (path) =>
      (
        await fetchWithStepUp(path, token, async (authorizationParams) => {
          await client.loginWithRedirect({ authorizationParams })
        })
      ).status,
    logout: async () => {
      await client.logout({ logoutParams: { returnTo: signedOut } })
    },
    forget: async () => {
      await client.logout({ openUrl: false })
    }
  }
}
