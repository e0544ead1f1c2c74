import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Client } from 'fastify-authority'
import { document, html, type Html } from './html.ts'

/** The page of the browser app. What its script needs to know is on it; the rest the script learns by discovery. */
export async function browserApp (app: FastifyInstance, { issuer, client }: { issuer: string, client: Client }): Promise<void> {
  const page = document({ title: 'Example app', body: bodyOf(issuer, client), script: '/app.js' })
  app.get('/app', async (_request, reply): Promise<FastifyReply> => reply.type('text/html; charset=utf-8').header('cache-control', 'no-cache').send(page))
}

function bodyOf (issuer: string, { clientId, redirectUris: [redirectUri = ''] = [] }: Client): Html {
  return html`<main data-issuer="${issuer}" data-client-id="${clientId}" data-redirect-uri="${redirectUri}">
<h1>Example app</h1>
<noscript><p>This app needs JavaScript. The <a href="/">start page</a> and the <a href="/third-party">third-party demo</a> don't.</p></noscript>
<p id="status" role="status"></p>
<section id="signed-out" hidden>
<p class="actions"><button type="button" id="sign-in">Sign in</button> <a href="/auth/signup?return_to=/app">Sign up</a></p>
</section>
<section id="signed-in" hidden>
<p class="actions">
<button type="button" id="call-me">Call /me</button>
<button type="button" id="refresh">Refresh</button>
<button type="button" id="list-sessions">List sessions</button>
<button type="button" id="sign-out">Sign out</button>
</p>
<h2>Profile</h2>
<dl id="profile"></dl>
<h2>/me</h2>
<dl id="me"></dl>
<h2>Sessions</h2>
<ul id="sessions"></ul>
</section>
<p><a href="/">Start page</a></p>
</main>`
}
