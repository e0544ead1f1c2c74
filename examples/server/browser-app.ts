import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Client } from 'fastify-authority'
import { document } from './document.ts'
import { html, type Html } from './html.ts'

/** The page of the browser app. Its script finds its settings on the page, and the rest by discovery. */
export async function browserApp(
  app: FastifyInstance,
  { issuer, client }: { issuer: string; client: Client }
): Promise<void> {
  const page = document({
    title: 'Demo app – fastify-authority example',
    here: '/app',
    person: BAR,
    body: bodyOf(issuer, client),
    script: '/app.js'
  })
  app.get('/app', async (_request, reply): Promise<FastifyReply> =>
    reply.type('text/html; charset=utf-8').header('cache-control', 'no-cache').send(page)
  )
}

const BAR = html`<nav aria-label="Demo app"><span id="person" class="person spare" hidden><span class="avatar" aria-hidden="true"></span></span><button type="button" id="sign-out" class="quiet small" hidden>Sign out</button></nav>`

function bodyOf(issuer: string, { clientId, redirectUris: [redirectUri = ''] = [] }: Client): Html {
  return html`<main class="app" data-issuer="${issuer}" data-client-id="${clientId}" data-redirect-uri="${redirectUri}">
<noscript><p class="note">This app needs JavaScript. The <a href="/">start page</a> and the <a href="/third-party">third-party demo</a> don't.</p></noscript>
<p id="status" role="status"></p>
<div class="columns wide">
<div>
${SIGNED_OUT}
${SIGNED_IN}
</div>
${LOG}
</div>
</main>`
}

const SIGNED_OUT = html`<section id="signed-out" class="hero" hidden>
<h1>Demo app</h1>
<p class="lead">A single-page app with the browser client of the package. It never sees a password.</p>
<p class="actions"><button type="button" id="sign-in">Sign in</button><button type="button" id="sign-up" class="quiet">Sign up</button></p>
<ol class="steps">
<li><strong>Redirect</strong><span>The app makes a PKCE secret and sends the browser to <code>/auth/authorize</code>.</span></li>
<li><strong>Sign in</strong><span>The server's own page asks who is there. Whoever is signed in already isn't asked.</span></li>
<li><strong>Come back</strong><span>The app trades the code in the address for tokens, with the PKCE secret as its proof.</span></li>
</ol>
</section>`

const SIGNED_IN = html`<div id="signed-in" class="stack" hidden>
<section class="card profile" aria-labelledby="who">
<span class="avatar large" aria-hidden="true"></span>
<div><h1 id="who"></h1><p id="about"></p></div>
<details><summary>What the app knows</summary><dl id="profile" class="claims"></dl></details>
</section>
<section class="card" aria-labelledby="token-title">
<div class="head"><h2 id="token-title">Access token</h2><button type="button" id="refresh" class="quiet small">Refresh now</button></div>
<p><span id="expires"></span> <span class="fine">The client renews it by itself before that, once for all tabs.</span></p>
<progress id="life" max="1" value="1" aria-label="What is left of the access token's time"></progress>
<ul id="scopes" class="chips" aria-label="Scopes"></ul>
<details><summary>Its claims</summary><p class="fine">Decoded for this demo. The token is for the API: an app passes it on unread.</p><dl id="claims" class="claims"></dl></details>
</section>
<section class="card" aria-labelledby="route-title">
<div class="head"><h2 id="route-title">Protected route</h2><code>GET /me</code></div>
<p class="actions"><button type="button" id="call-me" class="small">Call with the token</button><button type="button" id="call-bare" class="quiet small">Call without</button></p>
<div id="answer" hidden><p><span id="answer-status" class="badge"></span> <span id="answer-time" class="fine"></span></p><pre tabindex="0" aria-label="The answer of the route"><code id="me"></code></pre></div>
</section>
<section class="card" aria-labelledby="sessions-title">
<div class="head"><h2 id="sessions-title">Sessions</h2><button type="button" id="list-sessions" class="quiet small">Look again</button></div>
<p class="fine">Where this person is signed in: browsers with a session, and apps with a refresh token.</p>
<ul id="sessions" class="rows"></ul>
</section>
</div>`

const LOG = html`<section class="card log" aria-labelledby="log-title">
<div class="head"><h2 id="log-title">What happens</h2><button type="button" id="clear" class="quiet small">Clear</button></div>
<div role="log" aria-label="What happens, newest first" tabindex="0"><ol id="log"></ol></div>
<p class="fine">Events of the client, and the calls that this page made. Tokens are never written here.</p>
</section>`
