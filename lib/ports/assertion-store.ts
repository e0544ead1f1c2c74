/** Assertions of other parties that count once, such as an ID token that an app exchanges. Outages reject. */
export interface AssertionStore {
  /**
   * Claims the assertion for the first caller: of parallel calls with one digest, one is `fresh` and all others are
   * `replayed`, across all instances. The store keeps only `digest`, 43 characters of base64url. It must remember it
   * until `expiresAt`, in milliseconds since the epoch. Later calls don't come, because the assertion itself has
   * expired.
   */
  claim(digest: string, expiresAt: number): Promise<'fresh' | 'replayed'>
}
