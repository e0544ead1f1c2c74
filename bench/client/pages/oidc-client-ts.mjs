import { UserManager, WebStorageStateStore } from 'oidc-client-ts'
import { fetchWithStepUp } from './step-up.mjs'

/**
 * Renewed when it is asked for: its timer, a minute before the end, would renew tokens of five seconds without a pause.
 */
export function make({ clientId, provider, redirectUri, signedOut }) {
  const manager = new UserManager({
    authority: provider,
    client_id: clientId,
    redirect_uri: redirectUri,
    post_logout_redirect_uri: signedOut,
    scope: 'openid profile email offline_access',
    userStore: new WebStorageStateStore({ store: localStorage }),
    automaticSilentRenew: false
  })
  const token = async () => {
    const user = await manager.getUser()
    return (user?.expired ? await manager.signinSilent() : user)?.access_token
  }
  return {
    login: async () => {
      await manager.signinRedirect()
    },
    callback: async () => {
      await manager.signinCallback()
    },
    user: async () => (await manager.getUser())?.profile,
    token,
    api: async (path) =>
      (
        await fetchWithStepUp(path, token, async (params) => {
          await manager.signinRedirect(params)
        })
      ).status,
    logout: async () => {
      await manager.signoutRedirect()
    },
    forget: async () => {
      await manager.removeUser()
    },
    listen: (listener) => {
      manager.events.addUserLoaded(listener)
    },
    onChange(listener) {
      manager.events.addUserLoaded(listener)
      manager.events.addUserUnloaded(listener)
      manager.events.addUserSignedOut(listener)
    }
  }
}
