import type { CDPSession, Page } from 'playwright-core'

/** A virtual authenticator of one page. It verifies its user and answers at once unless changed. */
export interface Authenticator {
  cdp: CDPSession
  id: string
  /** Makes the authenticator answer or not. Without an answer the request stays open. */
  answers(answers: boolean): Promise<void>
  /** Makes the authenticator recognize its user or not. If not, the request fails like a cancelled one. */
  recognizes(recognizes: boolean): Promise<void>
  credentials(): Promise<
    Array<{ credentialId: string; userHandle?: string; userName?: string; userDisplayName?: string; signCount: number }>
  >
}

/** @see https://chromedevtools.github.io/devtools-protocol/tot/WebAuthn/ */
export async function addAuthenticator(page: Page, options: { synced?: boolean } = {}): Promise<Authenticator> {
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable', { enableUI: false })
  const { authenticatorId: id } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      ctap2Version: 'ctap2_1',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
      defaultBackupEligibility: options.synced ?? false,
      defaultBackupState: options.synced ?? false
    }
  })
  return {
    cdp,
    id,
    answers: async (enabled) => {
      await cdp.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId: id, enabled })
    },
    recognizes: async (isUserVerified) => {
      await cdp.send('WebAuthn.setUserVerified', { authenticatorId: id, isUserVerified })
    },
    credentials: async () => (await cdp.send('WebAuthn.getCredentials', { authenticatorId: id })).credentials
  }
}
