import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import cookie from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Client } from 'fastify-authority'
import * as openid from 'openid-client'
import { document } from './document.ts'
import { claimList, html, type Html } from './html.ts'

/** This site's data of one browser: a sign-in under way, or its result. */
interface Visit {
  flow?: { state: string; nonce: string; verifier: string }
  given?: { claims: Record<string, unknown>; userinfo: Record<string, unknown>; scope: string; idToken: string }
}

const PATH = '/third-party'
const COOKIE = 'third_party'

/**
 * A site of another company, which knows only the issuer's address, and has a client id and a secret. It is written
 * with openid-client, as any site could be, and only shares the process for the demo's sake. It needs no JavaScript.
 */
export async function thirdParty(
  app: FastifyInstance,
  { issuer, client, secret }: { issuer: string; client: Client & { clientSecret: string }; secret: string }
): Promise<void> {
  const {
    clientId,
    clientSecret,
    redirectUris: [redirectUri = ''] = [],
    postLogoutRedirectUris: [afterLogout = ''] = []
  } = client
  const visits = sealer(secret)
  await app.register(cookie)

  /** Fetched each time: this is a demo, and the issuer may not be up yet at the first. */
  async function provider(): Promise<openid.Configuration> {
    const loopback = new URL(issuer).protocol === 'http:'
    // The token came straight from the issuer; its signature is checked all the same, since this page says so.
    return await openid.discovery(new URL(issuer), clientId, clientSecret, undefined, {
      execute: [openid.enableNonRepudiationChecks, ...(loopback ? [openid.allowInsecureRequests] : [])]
    })
  }

  app.setErrorHandler((error, request, reply): FastifyReply => {
    if (error instanceof openid.AuthorizationResponseError && error.error === 'access_denied')
      return send(reply.code(200), refused('You did not allow it, so this site knows nothing of you.'))
    request.log.warn({ err: error }, 'the third-party demo failed')
    return send(reply.code(502), refused('The sign-in failed. The log of the server says more.'))
  })

  const visitOf = (request: FastifyRequest): Visit => visits.open(request.cookies[COOKIE] ?? '')

  function remember(reply: FastifyReply, visit: Visit): void {
    reply.setCookie(COOKIE, visits.seal(visit), {
      path: PATH,
      httpOnly: true,
      sameSite: 'lax',
      secure: new URL(issuer).protocol === 'https:'
    })
  }

  app.get(PATH, async (request, reply): Promise<FastifyReply> => {
    const { given } = visitOf(request)
    if (given === undefined) return send(reply, welcome())
    const signOutUrl = openid.buildEndSessionUrl(await provider(), {
      id_token_hint: given.idToken,
      post_logout_redirect_uri: afterLogout
    })
    return send(reply, shown(given, signOutUrl.href))
  })

  app.get(`${PATH}/sign-in`, async (request, reply): Promise<FastifyReply> => {
    const flow = { state: openid.randomState(), nonce: openid.randomNonce(), verifier: openid.randomPKCECodeVerifier() }
    const url = openid.buildAuthorizationUrl(await provider(), {
      redirect_uri: redirectUri,
      scope: 'openid profile email',
      state: flow.state,
      nonce: flow.nonce,
      code_challenge: await openid.calculatePKCECodeChallenge(flow.verifier),
      code_challenge_method: 'S256'
    })
    remember(reply, { flow })
    return reply.redirect(url.href, 303)
  })

  app.get(`${PATH}/callback`, async (request, reply): Promise<FastifyReply> => {
    const { flow } = visitOf(request)
    if (flow === undefined) return send(reply.code(400), refused('This answer belongs to no sign-in that began here.'))
    // Once: an answer that comes again, by the back button, finds nothing to answer to.
    reply.clearCookie(COOKIE, { path: PATH })
    const config = await provider()
    const tokens = await openid.authorizationCodeGrant(config, new URL(request.url, redirectUri), {
      expectedState: flow.state,
      expectedNonce: flow.nonce,
      pkceCodeVerifier: flow.verifier,
      idTokenExpected: true
    })
    const claims = { ...tokens.claims() }
    const userinfo = { ...(await openid.fetchUserInfo(config, tokens.access_token, String(claims.sub))) }
    remember(reply, { given: { claims, userinfo, scope: tokens.scope ?? '', idToken: tokens.id_token ?? '' } })
    return reply.redirect(PATH, 303)
  })

  app.get(`${PATH}/signed-out`, async (_request, reply): Promise<FastifyReply> => {
    return reply.clearCookie(COOKIE, { path: PATH }).redirect(PATH, 303)
  })
}

/** One browser's data is in that browser, sealed: any instance can go on with it, and this site keeps nothing. */
function sealer(secret: string): { seal(visit: Visit): string; open(sealed: string): Visit } {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', 'visits of the third-party demo', 32))
  return {
    seal(visit) {
      const iv = randomBytes(12)
      const cipher = createCipheriv('aes-256-gcm', key, iv)
      const sealed = Buffer.concat([cipher.update(JSON.stringify(visit)), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
    },
    open(text) {
      const bytes = Buffer.from(text, 'base64url')
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12)).setAuthTag(bytes.subarray(12, 28))
        return JSON.parse(Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString()) as Visit
      } catch {
        return {}
      }
    }
  }
}

function send(reply: FastifyReply, content: Html): FastifyReply {
  const body = html`<main class="narrow">
${content}
</main>`
  return reply
    .type('text/html; charset=utf-8')
    .header('cache-control', 'no-store')
    .send(
      document({
        title: 'Third-party demo',
        site: 'other',
        here: '/third-party',
        body
      })
    )
}

function welcome(): Html {
  return html`<section class="hero">
<h1>Somebody else's site</h1>
<p class="lead">It has a client id and a secret, and is not the host's own (<code>firstParty: false</code>). So you are asked before it learns anything of you.</p>
<p class="actions"><a class="button" href="${PATH}/sign-in">Sign in with fastify-authority example</a></p>
</section>`
}

function refused(text: string): Html {
  return html`<section class="hero">
<h1>Not signed in</h1>
<p class="lead" role="alert">${text}</p>
<p class="actions"><a class="button" href="${PATH}/sign-in">Try again</a></p>
</section>`
}

function shown({ claims, userinfo, scope }: NonNullable<Visit['given']>, signOutUrl: string): Html {
  return html`<section class="hero">
<h1>What this site knows of you</h1>
<p class="lead">You allowed: <code>${scope}</code></p>
<p class="actions"><a class="button quiet" href="${signOutUrl}">Sign out, here and at the provider</a></p>
</section>
<section class="card">
<h2>ID token</h2>
<p class="fine">Its signature, issuer, audience and nonce have been checked.</p>
${claimList(claims)}
</section>
<section class="card">
<h2>Userinfo</h2>
<p class="fine">Asked with the access token, server to server.</p>
${claimList(userinfo)}
</section>`
}
