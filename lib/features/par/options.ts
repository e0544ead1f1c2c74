import { Type } from '@sinclair/typebox'
import { type Given, option } from '../../settings/schema-words.ts'

export const PAR_OPTIONS = {
  /**
   * Pushed authorization requests: a client sends its request to `POST /auth/par`, and the browser brings only a
   * `request_uri`, which works once and begins within 90 seconds. `'required'`: no request comes by the browser alone.
   * With several instances or restarts, set `secret`. The guide on pushed requests explains it.
   */
  par: option<boolean | 'required'>(
    Type.Union([Type.Boolean(), Type.Literal('required')], { takes: 'true, "required" or false' }),
    false
  )
}

export interface ParOption extends Given<typeof PAR_OPTIONS> {}
