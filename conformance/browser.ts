import { ALIAS, KEYED_CLIENTS } from './clients.ts'
import { PASSWORD, USERNAME } from './person.ts'

/**
 * Steps of the suite's own browser on the pages of the provider. The first block whose `match` fits an address that a
 * module opens is played.
 */
export interface Block {
  match: string
  /** How often it is played. */
  'match-limit'?: number
  tasks: Task[]
}
/** One page. An optional task is left out where the browser is at another page. */
interface Task {
  task: string
  match: string
  optional?: true
  commands: Array<Array<string | number>>
}

const WAIT_SECONDS = 10
const CALLBACK = `/test/a/${ALIAS}/callback`

/** For all modules but those of `overrides`. */
export function blocks(issuer: string): Block[] {
  const { authorize, logout } = addresses(issuer)
  return [
    { match: authorize, tasks: [...authorizing(issuer), callback()] },
    {
      match: logout,
      tasks: [
        ...confirming(issuer),
        { task: 'Back at the client', match: '*/test/*/post_logout_redirect*', commands: [] }
      ]
    }
  ]
}

/**
 * For the modules where the suite wants to keep a page that a person looks at afterwards, by the name of the module.
 */
export function overrides(issuer: string): Record<string, { browser: Block[] }> {
  const { authorize, login, logout } = addresses(issuer)
  const signingIn: Block = { match: authorize, tasks: [...authorizing(issuer), callback()] }
  const again: Block = {
    match: authorize,
    tasks: [
      keep('Asks for the password again', login, 'Sign in', { optional: true }),
      ...authorizing(issuer),
      callback()
    ]
  }
  const refused: Block = {
    match: authorize,
    tasks: [keep('Refuses without a redirect', authorize, 'Something went wrong')]
  }
  const logoutRefused: Block = {
    match: logout,
    tasks: [keep('Refuses without a redirect', logout, 'Something went wrong')]
  }
  // A hint that is not from here counts as none: the person is asked, and nobody is led back.
  const logoutAsked: Block = {
    match: logout,
    tasks: [keep('Asks whether to sign out', logout, 'Sign out?')]
  }
  const signedOut: Block = {
    match: logout,
    tasks: [...confirming(issuer), keep('Says that nobody is signed in', logout, 'You are signed out')]
  }
  return {
    ...each(['oidcc-prompt-login', 'oidcc-max-age-1'], [again]),
    ...each(['oidcc-ensure-registered-redirect-uri', 'oidcc-ensure-request-object-with-redirect-uri'], [refused]),
    ...each(
      ['bad-post-logout-redirect-uri', 'query-added-to-post-logout-redirect-uri', 'no-id-token-hint'].map(ofLogout),
      [signingIn, logoutRefused]
    ),
    ...each(['modified-id-token-hint', 'bad-id-token-hint'].map(ofLogout), [signingIn, logoutAsked]),
    ...each(['no-params', 'only-state', 'no-post-logout-redirect-uri'].map(ofLogout), [signingIn, signedOut])
  }
}

/** The person leaves the sign-in page that the first visit of a request leads to, and comes again. */
export function fapiOverrides(
  issuer: string
): Record<string, { browser: Block[]; client?: unknown; client2?: unknown }> {
  const { authorize, login } = addresses(issuer)
  return {
    ...each(
      ['fapi2-security-profile-final-par-ensure-reused-request-uri-prior-to-auth-completion-succeeds'],
      [
        { match: authorize, 'match-limit': 1, tasks: [{ task: 'Leave', match: login, commands: [] }] },
        {
          match: authorize,
          tasks: [
            keep('Asks for the password', login, 'Sign in', { optional: true }),
            ...authorizing(issuer),
            callback()
          ]
        }
      ]
    ),
    'fapi2-security-profile-final-user-rejects-authentication': {
      browser: [{ match: authorize, tasks: [...authorizing(issuer, 'deny'), callback()] }],
      client: KEYED_CLIENTS[2],
      client2: KEYED_CLIENTS[3]
    },
    ...each(
      [
        'fapi2-security-profile-final-par-attempt-to-use-expired-request_uri',
        'fapi2-security-profile-final-par-attempt-to-use-request_uri-for-different-client'
      ],
      [{ match: authorize, tasks: [keep('Refuses without a redirect', authorize, 'Something went wrong')] }]
    )
  }
}

/** The provider's pages with any query. `*` stands for anything. */
function addresses(issuer: string): Record<'authorize' | 'login' | 'consent' | 'logout', string> {
  return {
    authorize: `${issuer}/auth/authorize*`,
    login: `${issuer}/auth/login*`,
    consent: `${issuer}/auth/consent*`,
    logout: `${issuer}/auth/logout*`
  }
}

function authorizing(issuer: string, answer: 'allow' | 'deny' = 'allow'): Task[] {
  const { authorize, login, consent } = addresses(issuer)
  const button = `button[name=decision][value=${answer}]:enabled`
  return [
    {
      task: 'Sign in',
      match: login,
      optional: true,
      commands: [
        ['text', 'name', 'username', USERNAME],
        ['text', 'name', 'password', PASSWORD],
        ['click', 'css', 'form button[type=submit]']
      ]
    },
    // The button works half a second after the page is shown.
    {
      task: answer,
      match: consent,
      optional: true,
      commands: [
        ['wait', 'css', button, WAIT_SECONDS],
        ['click', 'css', button]
      ]
    },
    // This page goes on by its script.
    { task: 'Form post', match: authorize, optional: true, commands: [['wait', 'contains', CALLBACK, WAIT_SECONDS]] }
  ]
}

function callback(): Task {
  return {
    task: 'Back at the client',
    match: `*${CALLBACK}*`,
    commands: [['wait', 'id', 'submission_complete', WAIT_SECONDS]]
  }
}

function confirming(issuer: string): Task[] {
  return [
    {
      task: 'Sign out',
      match: addresses(issuer).logout,
      optional: true,
      commands: [['click', 'css', 'button[name=decision][value=sign_out]', 'optional']]
    }
  ]
}

/** Keeps the page in the log. A module that is about to ask for it may not have asked yet: then it is optional. */
function keep(task: string, match: string, text: string, { optional }: { optional?: true } = {}): Task {
  const action = optional === undefined ? 'update-image-placeholder' : 'update-image-placeholder-optional'
  return {
    task,
    match,
    ...(optional === undefined ? {} : { optional }),
    commands: [['wait', 'xpath', '//*', WAIT_SECONDS, text, action]]
  }
}

function each(modules: string[], browser: Block[]): Record<string, { browser: Block[] }> {
  return Object.fromEntries(modules.map((module) => [module, { browser }]))
}

function ofLogout(name: string): string {
  return `oidcc-rp-initiated-logout-${name}`
}
