/** Authenticated encryption at rest under the option `secret`. */
export interface Sealer {
  seal(plain: string): string
  /** `null` where none of the configured secrets opens it. */
  open(sealed: string): string | null
}
