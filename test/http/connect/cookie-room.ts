import { randomBytes } from 'node:crypto'

/** An authorization request that a foreign page makes up, with a state that can't be deflated. */
export const authorizationRequest = (state: string): string =>
  `/auth/authorize?${new URLSearchParams({
    client_id: 'spa',
    redirect_uri: 'https://spa.example/cb',
    response_type: 'code',
    scope: 'openid',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
    connection: 'acme',
    state
  }).toString()}`

/** Text that can't be deflated. */
export const noise = (characters: number): string => randomBytes(characters).toString('base64url').slice(0, characters)
