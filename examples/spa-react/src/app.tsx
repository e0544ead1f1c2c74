import { StrictMode, useEffect, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { useAuth } from 'fastify-authority/client/react'
import { auth } from './auth.ts'

/** Ends a sign-in where the address has its answer. StrictMode runs it twice, and both get the same. */
function useCallback (): string | null {
  const [failed, setFailed] = useState<string | null>(null)
  useEffect(() => {
    if (!new URLSearchParams(location.search).has('state')) return
    auth.handleRedirectCallback().then(
      ({ appState }) => { if (appState !== undefined) history.replaceState(null, '', appState.from) },
      (error: Error) => { setFailed(error.message) }
    )
  }, [])
  return failed
}

function Me (): React.JSX.Element {
  const [answer, setAnswer] = useState('')
  const ask = async (): Promise<void> => {
    const response = await auth.fetch('/api/me')
    setAnswer(await response.text())
  }
  return (
    <p>
      <button type="button" onClick={() => { ask().catch((error: Error) => { setAnswer(error.message) }) }}>Call /api/me</button>
      {' '}
      <output>{answer}</output>
    </p>
  )
}

function App (): React.JSX.Element {
  const failed = useCallback()
  const { user, isLoading } = useAuth(auth)
  if (isLoading) return <p>…</p>
  if (user === null) {
    return (
      <main>
        <h1>React example</h1>
        {failed !== null && <p role="alert">{failed}</p>}
        <button type="button" onClick={() => { void auth.loginWithRedirect({ appState: { from: location.pathname } }) }}>Sign in</button>
      </main>
    )
  }
  return (
    <main>
      <h1>Hello {user.preferred_username ?? user.sub}</h1>
      <Me />
      <button type="button" onClick={() => { void auth.logout({ returnTo: `${location.origin}/` }) }}>Sign out</button>
    </main>
  )
}

const root = document.querySelector('#root')
if (root !== null) createRoot(root).render(<StrictMode><App /></StrictMode>)
