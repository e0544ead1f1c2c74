import { Type } from '@sinclair/typebox'
import { type Given, option } from '../../settings/schema-words.ts'

export const PAR_OPTIONS = {
  /**
   * Pushed authorization requests: a client sends its request to `POST /auth/par`, and the browser sends only a
   * `request_uri`. The browser must open the `request_uri` within 90 seconds, and gets at most one code for it.
   * `'required'`: the service rejects requests that were not pushed. Requires `clients` and the hosted pages. With
   * several instances or restarts, set `secret`. See the guide on pushed requests.
   */
  par: option<boolean | 'required'>(
    Type.Union([Type.Boolean(), Type.Literal('required')], { takes: 'true, "required" or false' }),
    false
  )
}

export interface ParOption extends Given<typeof PAR_OPTIONS> {}
