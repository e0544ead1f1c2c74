import { UserManager, WebStorageStateStore } from 'oidc-client-ts'

/** Renewed when it is asked for: its timer, a minute before the end, would renew tokens of five seconds without a pause. */
export function make ({ clientId, provider, redirectUri, signedOut }) {
  const manager = new UserManager({
    authority: provider,
    client_id: clientId,
    redirect_uri: redirectUri,
    post_logout_redirect_uri: signedOut,
    scope: 'openid profile email offline_access',
    userStore: new WebStorageStateStore({ store: localStorage }),
    automaticSilentRenew: false
  })
  return {
    login: async () => { await manager.signinRedirect() },
    callback: async () => { await manager.signinCallback() },
    user: async () => (await manager.getUser())?.profile,
    async token () {
      const user = await manager.getUser()
      return (user?.expired ? await manager.signinSilent() : user)?.access_token
    },
    logout: async () => { await manager.signoutRedirect() },
    forget: async () => { await manager.removeUser() },
    listen: (listener) => { manager.events.addUserLoaded(listener) },
    onChange (listener) {
      manager.events.addUserLoaded(listener)
      manager.events.addUserUnloaded(listener)
      manager.events.addUserSignedOut(listener)
    }
  }
}
