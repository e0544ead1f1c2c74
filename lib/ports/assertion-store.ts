/** Assertions of other parties that count once, such as an ID token that an app exchanges. Outages reject. */
export interface AssertionStore {
  /**
   * Claims the assertion for whoever asks first: of any number of parallel calls with one digest one is `fresh`, across
   * all instances, and all others are `replayed`. `digest`: 43 characters of base64url, and all that is kept. Until
   * `expiresAt`, in milliseconds since the epoch, it must stay known; after that nobody asks for it any more, for the
   * assertion itself has expired.
   */
  claim(digest: string, expiresAt: number): Promise<'fresh' | 'replayed'>
}
