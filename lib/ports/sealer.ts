/** Authenticated encryption at rest under the option `secret`. */
export interface Sealer {
  /**
   * `context`: what the text is for and whose it is. It opens under no other, so that what was sealed for one purpose
   * or one user is nothing in the place of another's.
   */
  seal(plain: string, context?: string): string
  /** `null` where none of the configured secrets opens it, or it was sealed for another context. */
  open(sealed: string, context?: string): string | null
}
