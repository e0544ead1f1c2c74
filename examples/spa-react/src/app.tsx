import { StrictMode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { RequireAuth, useAuth } from 'fastify-authority/client/react'
import { auth } from './auth.ts'

/** For everybody. */
function Home(): React.JSX.Element {
  const { user, isLoading } = useAuth(auth)
  return (
    <main>
      <h1>React example</h1>
      {!isLoading && (
        <p>
          <a href="/me">{user === null ? 'Sign in' : `Go on as ${user.preferred_username ?? user.sub}`}</a>
        </p>
      )}
    </main>
  )
}

/** Shown to a signed-in user. */
function Me(): React.JSX.Element {
  const { user } = useAuth(auth)
  const [answer, setAnswer] = useState('')
  const ask = async (): Promise<void> => {
    const response = await auth.fetch('/api/me')
    setAnswer(await response.text())
  }
  return (
    <main>
      <h1>Hello {user?.preferred_username ?? user?.sub}</h1>
      <p>
        <button
          type="button"
          onClick={() => {
            ask().catch((error: Error) => {
              setAnswer(error.message)
            })
          }}
        >
          Call /api/me
        </button>{' '}
        <output>{answer}</output>
      </p>
      <button
        type="button"
        onClick={() => {
          void auth.logout({ returnTo: `${location.origin}/` })
        }}
      >
        Sign out
      </button>
    </main>
  )
}

/** Shown until a user is signed in, or with the error of the sign-in, which is not tried again by itself. */
function Waiting(): React.JSX.Element {
  const { error } = useAuth(auth)
  return error === null ? (
    <p>…</p>
  ) : (
    <p role="alert">
      {error.message} <a href="/me">Try again</a>
    </p>
  )
}

/** `RequireAuth` sends other visitors to sign in, and ends the sign-in when they come back to this page. */
const page =
  location.pathname === '/me' ? (
    <RequireAuth client={auth} fallback={<Waiting />}>
      <Me />
    </RequireAuth>
  ) : (
    <Home />
  )

const root = document.querySelector('#root')
if (root !== null) createRoot(root).render(<StrictMode>{page}</StrictMode>)
