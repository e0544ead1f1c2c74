// The browser client at work. Its modules are served as they are in the package; a real app imports 'fastify-authority/client'.
// eslint-disable-next-line import/no-absolute-path -- an address, not a file
import { createAuthClient } from '/client/index.js'

const { issuer, clientId, redirectUri } = document.querySelector('main').dataset
const element = (id) => document.getElementById(id)

const auth = createAuthClient({ clientId, domain: issuer, redirectUri })

auth.on('authenticated', (user) => { show(user) })
auth.on('unauthenticated', () => { show(null) })
auth.on('token_refreshed', () => { say('There is a new access token.') })

const ACTIONS = {
  'sign-in': async () => { await auth.loginWithRedirect() },
  'call-me': async () => { list('me', await call('/me')) },
  refresh: async () => { await auth.getAccessToken({ force: true }) },
  'list-sessions': async () => {
    const { sessions } = await call('/auth/sessions')
    element('sessions').replaceChildren(...sessions.map(({ kind, current, created_at: since, user_agent: agent }) => {
      const item = document.createElement('li')
      item.textContent = `${kind}${current ? ', this one' : ''}, since ${new Date(since).toLocaleString()}, ${agent ?? 'unknown program'}`
      return item
    }))
  },
  'sign-out': async () => { await auth.logout({ returnTo: redirectUri }) }
}

/** A JSON answer of a protected route; throws what the server says went wrong. */
async function call (url) {
  const response = await auth.fetch(url)
  const answer = await response.json()
  if (!response.ok) throw new Error(answer.error_description)
  return answer
}

function show (user) {
  element('signed-in').hidden = user === null
  element('signed-out').hidden = user !== null
  list('profile', user ?? {})
  say(user === null ? 'Signed out.' : 'Signed in.')
}

function list (id, values) {
  element(id).replaceChildren(...Object.entries(values).flatMap(([name, value]) => {
    const [term, detail] = [document.createElement('dt'), document.createElement('dd')]
    term.textContent = name
    detail.textContent = typeof value === 'string' ? value : JSON.stringify(value)
    return [term, detail]
  }))
}

function say (text) { element('status').textContent = text }

async function run (action) {
  try {
    await action()
  } catch (error) {
    say(error.message)
  }
}

for (const [id, action] of Object.entries(ACTIONS)) element(id).addEventListener('click', () => { void run(action) })

// Registered URIs are compared character by character, so the app works where it is registered only.
if (!redirectUri.startsWith(`${location.origin}/`)) say(`This app is at ${redirectUri}.`)
else {
  await run(async () => {
    if (location.search !== '') await auth.handleRedirectCallback()
    show(await auth.getUser())
  })
}
