import Keycloak from 'keycloak-js'
import { fetchWithStepUp } from './step-up.mjs'

/**
 * Without its iframe and its probe for third-party cookies, which only its own server has pages for. One listener an
 * event.
 */
export function make({ clientId, provider, redirectUri, signedOut }) {
  const keycloak = new Keycloak({ clientId, oidcProvider: provider })
  let ready
  const init = () => (ready = keycloak.init({ checkLoginIframe: false, responseMode: 'query', redirectUri }))
  const login = async (options) => {
    await keycloak.login({ scope: 'openid profile email offline_access', ...options })
  }
  const token = async () => {
    await keycloak.updateToken(1)
    return keycloak.token
  }
  return {
    async login() {
      await (ready ?? init())
      await login()
    },
    callback: async () => {
      await init()
    },
    user: async () => (keycloak.authenticated ? keycloak.idTokenParsed : null),
    token,
    api: async (path) =>
      (
        await fetchWithStepUp(path, token, async ({ acr_values: acrValues, max_age: maxAge }) => {
          await login({ acrValues, maxAge: Number(maxAge) })
        })
      ).status,
    logout: async () => {
      await keycloak.logout({ redirectUri: signedOut })
    },
    forget: async () => {
      keycloak.clearToken()
    },
    listen: (listener) => {
      keycloak.onAuthSuccess = listener
    },
    onChange(listener) {
      keycloak.onAuthSuccess = listener
      keycloak.onAuthLogout = listener
    }
  }
}
