/**
 * The code of a host whose client has no reader for the challenge: the call, and if the API wants another sign-in, one
 * by the parameters of the challenge. @see RFC 9470 §3
 */
export async function fetchWithStepUp(path, token, signIn) {
  const response = await fetch(path, { headers: { authorization: `Bearer ${await token()}` } })
  const challenge = response.headers.get('www-authenticate') ?? ''
  if (response.status === 401 && challenge.includes('error="insufficient_user_authentication"')) {
    await signIn(
      Object.fromEntries(
        [...challenge.matchAll(/(acr_values|max_age)="([^"]+)"/g)].map(([, name, value]) => [name, value])
      )
    )
  }
  return response
}
