import Keycloak from 'keycloak-js'

/** Without its iframe and its probe for third-party cookies, which only its own server has pages for. One listener an event. */
export function make ({ clientId, provider, redirectUri, signedOut }) {
  const keycloak = new Keycloak({ clientId, oidcProvider: provider })
  let ready
  const init = () => ready = keycloak.init({ checkLoginIframe: false, responseMode: 'query', redirectUri })
  return {
    async login () {
      await (ready ?? init())
      await keycloak.login({ scope: 'openid profile email offline_access' })
    },
    callback: async () => { await init() },
    user: async () => keycloak.authenticated ? keycloak.idTokenParsed : null,
    async token () {
      await keycloak.updateToken(1)
      return keycloak.token
    },
    logout: async () => { await keycloak.logout({ redirectUri: signedOut }) },
    forget: async () => { keycloak.clearToken() },
    listen: (listener) => { keycloak.onAuthSuccess = listener },
    onChange (listener) {
      keycloak.onAuthSuccess = listener
      keycloak.onAuthLogout = listener
    }
  }
}
