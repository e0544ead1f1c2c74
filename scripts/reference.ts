/**
 * The reference pages, made from the code: options from the schema that checks them, endpoints from the routes that a
 * real app registers, errors and events from their closed lists. `npm run docs:reference` writes them.
 */
import { EVENT_NAMES, type AuthorityEventName } from '../lib/events.ts'
import { COMMANDS, lineOfCommand } from '../lib/cli/commands.ts'
import { OAuthError, type OAuthErrorCode, type StartErrorCode } from '../lib/errors.ts'
import { messagesOf } from '../lib/pages/texts.ts'
import { LANGUAGES } from '../lib/texts/languages.ts'
import { LOG_CODES } from '../lib/ports/log.ts'
import type { Callers } from '../lib/http/edge/callers.ts'
import { type Endpoint, endpoints, fieldTable } from './reference-endpoints.ts'
import { clientPage } from './reference-client.ts'
import { optionRows } from './reference-options.ts'

const GENERATED = '<!-- Made by scripts/reference.ts from the code. Change the code, then: npm run docs:reference -->'

export const ERROR_MEANINGS: Readonly<Record<OAuthErrorCode, string>> = {
  invalid_request:
    'The request lacks something, has something twice, or has something that does not fit. The ' +
    'description names the field.',
  invalid_client: 'Client authentication failed, or there is no such client.',
  invalid_grant:
    'The username or password is wrong, or may not be used; with `error_reason: ' +
    '"email_not_verified"` the password is right and the email address must be confirmed ' +
    'first; or the authorization code or refresh token is invalid, expired, revoked or another ' +
    "client's.",
  unauthorized_client: 'This client may not use this grant.',
  authorization_pending: 'The person has not decided on the request of the device yet. Poll again after `interval`.',
  slow_down: 'The device polled too early. The interval is five seconds longer from now on.',
  expired_token: 'Nobody decided on the request of the device in time. Ask for another device code.',
  unsupported_grant_type: 'The grant type is unknown here or turned off.',
  invalid_scope: 'The scope is malformed or more than may be granted.',
  invalid_target: 'The resource is unknown, malformed, not for this client or not of this grant, or one must be named.',
  invalid_dpop_proof:
    'The DPoP proof is missing, malformed, used before, or made for another request, token or key. The description ' +
    'names the mistake.',
  use_dpop_nonce:
    'The DPoP proof needs the nonce of the header `DPoP-Nonce` (400 at the token endpoint, 401 elsewhere). Make a ' +
    'new proof with it.',
  invalid_redirect_uri: 'A client registered itself with a redirect URI that no client may have.',
  invalid_client_metadata: 'A client registered itself with a member that does not fit. The description names it.',
  invalid_token:
    'The access or refresh token is missing, malformed, expired or revoked (401, with ' +
    '`WWW-Authenticate`); or the token of a message is (400).',
  insufficient_scope: 'The access token does not grant the scope that the route requires; the challenge names it.',
  insufficient_user_authentication:
    'The sign-in is too long ago for this, or worth too little (RFC 9470): sign in again, or ' +
    'send the password where the endpoint takes one. `max_age` of the challenge says how many ' +
    'seconds old it may be, `acr_values` what it must be worth.',
  access_denied:
    'The user did not allow it; or a page of another origin, which no client has registered, ' +
    'made the browser send this. With `error_reason: "email_not_verified"`: a second factor ' +
    "can't be set up before the email address of the account is confirmed; the message for " +
    'that is on its way.',
  unsupported_response_type: 'The authorization endpoint gives codes only.',
  invalid_request_uri:
    'The `request_uri` is unknown, has expired, was used before, or is of another client: the client pushes the ' +
    'request again.',
  login_required:
    '`prompt=none`, and nobody is signed in, or not recently enough, or another person than the request asked for.',
  interaction_required:
    'Only in the answer of an authorization request: `prompt=none`, and the client is an app ' +
    "on the person's device, whose redirect URI any other app could take. It never gets a code " +
    'without a page. Or `mfa.required` wants a second factor, and the person has to set one up.',
  consent_required: '`prompt=none`, and the user has not allowed this client yet.',
  request_not_supported: 'The authorization request has the parameter `request`.',
  request_uri_not_supported: 'The authorization request has the parameter `request_uri`.',
  registration_not_supported: 'The authorization request has the parameter `registration`.',
  unmet_authentication_requirements:
    'An `acr` was asked for, by `acr_values`, as an essential claim or by the registration of ' +
    'the client, that can not be had.',
  invalid_password: 'The new password is refused; the description says why.',
  connection_denied: 'On a page only: a sign-in through a connection was not completed at the provider.',
  connection_failed:
    'On a page only: the provider of a connection answered with an error, or with what does ' +
    'not fit. The log and the event `connection_failed` say where.',
  last_sign_in_method:
    'The person could not sign in any more without it. Connecting another account or setting a password comes first.',
  mfa_required:
    'The password is right, and the account has a second factor. Nothing was issued. ' +
    '`mfa_token` goes back to the token endpoint with a code, by ' +
    '`grant_type=urn:fastify-authority:grant-type:mfa`, within ten minutes and from the same ' +
    'client; `methods` says what is taken.',
  mfa_enrollment_required:
    'The password is right, `mfa.required` wants a second factor, and the account has none. ' +
    'Nothing was issued, and nothing can be done at the token endpoint: the person sets one up ' +
    'on the pages, by signing in through the redirect flow.',
  invalid_code:
    'What was sent as a code of an authenticator app or as a recovery code can be none, or it ' +
    'is not the one that the app shows.',
  invalid_credential:
    'What was sent as a new passkey is none: it does not fit, answers no challenge of this ' +
    'sign-in and this purpose, or is older than ten minutes. Begin again.',
  duplicate_factor: 'The account has this passkey already.',
  api_key_limit: 'The account has as many API keys as it may.',
  factor_limit: 'The account has as many factors of this kind as it may.',
  last_factor: 'The factor is the last one, and `mfa.required` wants the account to have one. Add another first.',
  username_taken: 'There is an account of this name. Never said where `registration.verifyEmail` is on.',
  too_many_requests:
    'A rate limit is reached. `Retry-After` and the field `retryAfter` say, in seconds, when to try again.',
  conflict: 'The state of the user does not allow the act.',
  changed_meanwhile: 'The user has another version than the act named. Read the user again.',
  not_found: "There is no such thing of this user's.",
  server_error: 'The host and the plugin disagree: the log has the detail.',
  temporarily_unavailable:
    'A store is down, the hashing queue is full or there is no signing key yet. `Retry-After` says when to try again.'
}

export const START_ERRORS: Readonly<Record<StartErrorCode, string>> = {
  FST_AUTHORITY_INVALID_OPTIONS:
    'An option is missing, unknown or out of range. The message names its path, what it got ' +
    'and what it takes; secrets are not shown.',
  FST_AUTHORITY_NAME_TAKEN:
    'The host has a decorator of that name. The message says which of the option `decorators` to set.',
  FST_AUTHORITY_ROUTE_TAKEN:
    'The app has a route of its own where one of ours is. The message names the path and the option that moves ours.',
  FST_AUTHORITY_FOREIGN_STATE:
    'The state belongs to another issuer or prefix. The message says how to give this service a state of its own.'
}

const OTHER_ERRORS: Readonly<Record<string, string>> = {
  FST_AUTHORITY_OAUTH: 'The `code` of every `OAuthError`; its `error` is one of the codes above.',
  FST_AUTHORITY_IDENTITY_TAKEN: 'The `code` of `IdentityTakenError`, which `UserStore.createWithIdentity` throws.',
  FST_AUTHORITY_NOT_SUPPORTED:
    'The `code` of `NotSupportedError`: the user store lacks the method that `app.authority.users` needs.',
  FST_AUTHORITY_USERNAME_TAKEN:
    'The `code` of `UsernameTakenError`, which `UserStore.create`, `createWithIdentity` and `update` throw.',
  FST_AUTHORITY_STORE_MISFIT:
    "The `code` of a `MisfitError`, in the log and from `app.authority`: a store of the host's " +
    'answered what its port does not allow. The message names the method and the field. The ' +
    'request is answered 500 `server_error`, and counts as an attempt.',
  FST_AUTHORITY_HOOK_MISFIT: "The same of a hook of the host's, such as `claims`."
}

export const EVENT_MEANINGS: Readonly<Record<AuthorityEventName, string>> = {
  authenticated:
    'A person signed in with all factors that were required. `method` is the first factor: `password`, ' +
    '`passkey`, `email` (a code or link), or `connection`, which `connection` then names. `methods` lists all ' +
    'proofs: `password`, `passkey`, `email`, `connection`, and the second factors `otp` (an app), ' +
    '`recovery_code` and `security_key` (or a passkey).',
  connection_failed:
    'A sign-in through a connection failed. `reason`: `denied` (by the person or the provider), `mismatch` (the ' +
    'answer does not belong to this sign-in), `expired`, `exchange`, `id_token` or `userinfo` (that answer of ' +
    'the provider is an error or does not fit), `email` (no address that the connection accepts), `disabled` ' +
    '(the connection or the account), `closed` (the connection registers nobody), `taken` (the identity is ' +
    'linked to another user), `other_way` (an account has the address, and `linking` is `never`), `outage`. The ' +
    'event contains nothing that the provider sent.',
  link_required:
    'A person signed in through the connection with an address that the account `userId` has. The two are linked ' +
    'after the person signs in as that user.',
  second_factor_required:
    'The first factor was right, and the user has a second one, which is asked for. Nobody is signed in yet.',
  enrolment_required:
    'The first factor was right, and the user has to set up a second one, by `mfa.required` or a link of ' +
    '`startEnrolment`. Nobody is signed in yet.',
  enrolment_link_made: '`app.authority.startEnrolment` made a link by which the user sets up a second factor.',
  enrolment_link_used:
    'A person pressed the button on the page of such a link. Nobody is signed in by that: the person signs in ' +
    'next.',
  second_factor_failed:
    'A second factor was refused after a right first factor, or a passkey by which a signed-in user should prove ' +
    'their identity again. `kind`: `totp`, `recovery_code`, `passkey`. `reason`: `wrong`; `replayed`, a right ' +
    'code that was used before; `disabled`, no app of the user works any more. The event does not have the ' +
    'number of remaining tries; `rate_limited` reports that there are none.',
  factor_added: 'A user set up an authenticator app (`totp`) or a passkey (`passkey`).',
  factor_removed:
    'An authenticator app (`kind` `totp`) or a passkey (`passkey`) was removed: by the `user`, by the `host`, or ' +
    'by `mailbox`, when a person proved the address of an account in which the factor was provisional or that a ' +
    'connection with `enforce` took over. `factorId` and `kind` are `null` if all were removed at once. `admin` is ' +
    'the administrator that `resetFactors` was called with.',
  factor_disabled: 'The authenticator apps of a user no longer count, after a hundred wrong codes in a row.',
  factor_replayed: 'A used code came again. An attacker may have seen it.',
  passkey_counter_regressed:
    'The counter of a passkey did not grow, which may mean that there is a copy. `refused` is true if the ' +
    'sign-in was refused. A passkey that several devices share may count separately on each, so its sign-in ' +
    'continues.',
  recovery_code_used: 'A recovery code replaced the second factor. `left` is the number of remaining codes.',
  two_step_changed:
    'A user turned two-step sign-in on or off. On: all their other sign-ins end. Off: their recovery codes end.',
  recovery_codes_replaced: 'A user made new recovery codes. The former ones no longer work.',
  device_remembered:
    'A user gave the second factor and ticked the box "do not ask again in this browser" (`mfa.rememberDevice`).',
  step_up:
    'A signed-in user proved their identity again on `/auth/reauthenticate` or the sign-in page, or gave the ' +
    'second factor that the session lacked. `methods` lists the proofs of the session now, as `authenticated` ' +
    'does; `host` is a proof that your own code vouched for.',
  new_sign_in:
    'A session began in a browser in which the account never had one. `reasons`: `unknown_browser`. With ' +
    '`sendMessage`, the person gets a message about it at most once an hour.',
  devices_forgotten:
    'Every browser of the user has to give the second factor again: the user asked for it on the security page, ' +
    'or the host called `forgetDevices`.',
  login_failed:
    'A sign-in by password or passkey failed. `username` is present only if such a user exists, because people ' +
    'type their password into the wrong field.',
  client_authentication_failed:
    'A client did not prove its identity at the token, revocation or introspection endpoint. `clientId` is ' +
    '`null` if there is no such client. `reason`: `unknown_client`, `no_secret`, `wrong_secret` (also a secret ' +
    'of a client that has none), `wrong_method`, `wrong_signature`, `replayed` (a used assertion), ' +
    '`malformed_credentials`.',
  api_key_created: 'A user or the host made an API key.',
  api_key_revoked: 'An API key ended before its time.',
  registered: 'An account was created.',
  token_issued:
    'A device or an app got its first tokens. `grantType` is `authorization_code`, `password`, `passkey`, ' +
    '`token_exchange`, `mfa` (a second factor finished one of these), ' +
    '`urn:ietf:params:oauth:grant-type:device_code`, or `host` (`app.authority.issueTokens`). Or a client got a ' +
    'token of its own: `grantType` is `client_credentials`, and `userId` and `sid` are `null`.',
  token_refreshed: 'A refresh token brought a new access token. `rotated` is true if the refresh token was replaced.',
  refresh_token_reused:
    'A refresh token came again after it was replaced and the grace time had ended, so its session was ended. An ' +
    'attacker may have stolen it.',
  password_reset_requested:
    'A reset message was requested for a user who exists. `message_sent` reports that it went out.',
  password_changed: 'A new password is stored.',
  email_change_requested: 'A signed-in user asked for another email address. Nothing has changed yet.',
  email_changed:
    'The account has another, confirmed email address. A username that was the former address changed too.',
  profile_changed: 'A user changed their own profile. `fields` has the names, and no values.',
  identity_linked:
    'An account at another provider was linked to the user, by the `user` or by the `host` ' +
    '(`app.authority.linkIdentity`). A sign-in with that account now signs in this user.',
  identity_unlinked:
    'The link was removed: by the `user`, by the `host` (`app.authority.unlinkIdentity`), by a `password_reset`, ' +
    'an `email_sign_in`, a change of the address (`email_changed`) or another link by the address ' +
    '(`identity_linked`), or because the owner of the address disowned the account (`disowned`). The last five ' +
    'concern links from before the address of the account was proved.',
  account_removed:
    'A user removed their account, or the host did: then `sid` is `null`, and `admin` is the administrator that ' +
    '`deleteUser` was called with. All sign-ins of the user have ended, and the user store has no such user any ' +
    'more.',
  user_created: 'A user without a password was created by `app.authority.users.create`.',
  user_updated: 'A user was changed by `app.authority.users.update`: `fields` has the names, no values.',
  user_disabled: 'A user was disabled by `app.authority.users.disable`. Their sign-ins end.',
  user_enabled: 'A disabled user was enabled by `app.authority.users.enable`.',
  user_invited: 'An invitation was sent by `app.authority.users`.',
  impersonated:
    'An access token was made with which `actor` acts in the name of the user. `scope` has what it grants, and ' +
    '`reason` why.',
  invitation_accepted:
    'A person accepted an invitation by a password, or through `connection`. It comes after what that changed.',
  password_reset_required:
    'A password was removed by `app.authority.users.requireReset`, and the user gets a link that sets a new one.',
  email_verified: 'An email address was confirmed.',
  logged_out:
    'Sessions were ended before their time. `by` is the cause. `user`: the person, or a client for them. `host`: ' +
    '`app.authority`. `password_changed`. `disabled`: a refresh found the account disabled or removed. ' +
    '`code_reused`: an authorization code came a second time, so an attacker may have stolen it. ' +
    '`account_removed`. `email_changed`. `identity_linked`: a person proved by a connection that the address of ' +
    'the account is theirs, which ended all earlier sign-ins. `factors_changed`: the first second factor was ' +
    'added, or the host reset the factors. `undone`: a sign-in could not be completed, so it was taken back; ' +
    'nobody got its tokens.',
  consent_granted:
    'A user allowed a client the scopes of its request. `scope` has all of them; `sid` is the browser session.',
  device_authorized:
    'A person allowed the request of a device. `sid` is the browser session. `token_issued` follows when the ' +
    'device gets its tokens.',
  consent_revoked:
    'A consent ended: by the `user`, by the `host` (`app.authority.revokeConsent`), or because the password ' +
    'changed (`password_changed`) or the account was removed (`account_removed`).',
  message_sent:
    '`sendMessage` accepted a message, at this attempt. `requestId` is that of the request that caused the ' +
    'message.',
  message_failed: 'A message was given up after this many attempts; 0: the queue was full. The log has the reason.',
  key_created:
    'This instance made a signing key, which is published now and signs from `signsFrom` on. A key of the start ' +
    'comes before `app.authority` exists: listen on the diagnostics channel.',
  key_retired:
    'A signing key was removed, because no token that it signed is alive. If several instances notice at once, ' +
    'each has the event.',
  rate_limited: 'A limit refused a request. `retryAfter` is in seconds.',
  hash_queue_full: 'The hashing queue is full and refuses requests. Once for each overload, not for each request.',
  store_degraded:
    'A store fails or hangs; `store` names it. `rate limits`: `rateLimit.onStoreError` applies; `state`: ' +
    'requests that need it get 503. Once for each outage.',
  audit_degraded: 'Audit entries can not be written, and wait. Once, until they can be written again.'
}

async function optionsPage(): Promise<string> {
  const places = new Map(
    (await endpoints()).map(({ url, pathName }) => [`paths.${pathName}`, `\`${url.replace(/\/:id(?:\/.*)?$/, '')}\``])
  )
  return page('Options', [
    'What `app.register(authPlugin, options)` takes. Checked at start: a bad or unknown option ' +
      'stops it with one error, `FST_AUTHORITY_INVALID_OPTIONS`, that names the path. Times are ' +
      'whole seconds, but for names that end in `Ms`.',
    table(
      ['option', 'takes', 'default', 'meaning'],
      optionRows().map((row) => [`\`${row.path}\``, row.takes, places.get(row.path) ?? row.default, row.description])
    )
  ])
}

const ENGLISH_NAMES = new Intl.DisplayNames('en', { type: 'language' })

function textsPage(): string {
  const { lang: _lang, ...texts } = messagesOf('en')
  return page('Texts of the hosted pages', [
    'What `pages.texts` can say in other words, in each of [the languages](#languages). This is the ' +
      'English; where `registration.username` is `"email"`, the second table applies. A name in braces is ' +
      'filled in, and has to stay in a text of yours.',
    table(
      ['key', 'text'],
      Object.entries(texts).map(([key, text]) => [`\`${key}\``, text])
    ),
    '## Where usernames are email addresses',
    table(
      ['key', 'text'],
      Object.entries(messagesOf('en', 'email'))
        .filter(([key, text]) => key !== 'lang' && texts[key as keyof typeof texts] !== text)
        .map(([key, text]) => [`\`${key}\``, text])
    ),
    '## Languages',
    table(
      ['tag', 'language', 'also for'],
      Object.entries(LANGUAGES).map(([tag, { name, aliases }]) => [
        `\`${tag}\``,
        `${ENGLISH_NAMES.of(tag)}, ${name}`,
        Intl.getCanonicalLocales([...aliases])
          .map((alias) => `\`${alias}\``)
          .join(', ')
      ])
    )
  ])
}

async function endpointsPage(): Promise<string> {
  const shown = new Map<string, string>()
  /** Tables as long as that of an authorization request stand where they come first. */
  const tableOnce = (rows: string[], title: string): string => {
    const content = rows.join('\n')
    const before = shown.get(content)
    if (before !== undefined) return `The fields of ${before}.`
    if (rows.length > 8) shown.set(content, title)
    return content
  }
  const section = ({
    method,
    url,
    callers,
    operationId,
    schema,
    pathName,
    what,
    success,
    failures
  }: Endpoint): string[] => {
    const title = `\`${method} ${url}\``
    const responses = (schema.response ?? {}) as Record<string, unknown>
    const successes = Object.keys(responses).filter((status) => /^2\d\d$/.test(status))
    const [query, body] = [fieldTable(schema.querystring, 'required'), fieldTable(schema.body, 'required')]
    return [
      `## ${title}`,
      what,
      [
        pathName === null ? '' : `Path option: \`paths.${pathName}\`.`,
        operationId === '' ? '' : `Operation id: \`${operationId}\`.`,
        callersSentence(callers)
      ]
        .filter((sentence) => sentence !== '')
        .join(' '),
      ...(query.length === 0 ? [] : ['Query:', tableOnce(query, title)]),
      ...(body.length === 0
        ? []
        : [
            `Body: ${(schema.consumes ?? ['application/json']).map((type) => `\`${type}\``).join(' or ')}.`,
            tableOnce(body, title)
          ]),
      ...(successes.length === 0 || success !== undefined
        ? [`Success: ${success ?? '200'}.`]
        : successes.flatMap((status) => {
            const fields = fieldTable(responses[status], 'always there')
            const { description = '' } = (responses[status] ?? {}) as { description?: string }
            return [
              `Success: ${status}${status === '204' ? ', no content.' : '.'}`,
              ...(fields.length === 0 ? [] : [fields.join('\n'), description])
            ]
          })),
      `Failures: ${failures}.`
    ].filter((block) => block !== '')
  }
  return page('Endpoints', [
    'Paths as they are by default: `prefix` and `paths` change them. A failure is `{ "error": ' +
      'code, "error_description": sentence }`, or at the endpoints for browsers a page; see ' +
      '[errors](errors.md). Every answer but the key set, the metadata and what the pages load ' +
      'has `Cache-Control: no-store`. At the paths of the token, refresh, revocation, introspection ' +
      'and userinfo endpoints, the key set and the metadata, other methods get 405 with `Allow`, ' +
      'unless your app has a route for them.',
    'Redirect sign-in (the authorization endpoint, the consent page, `authorization_code` and ' +
      'the OpenID configuration) exists where some client can use codes, `keys` is not `{ secret ' +
      '}` and `pages` is not `false`. With `pages: false` there are no pages. The forms of the ' +
      'pages are posted from the pages alone: what another site posts is refused by ' +
      '`Sec-Fetch-Site` and `Origin`. So is every other request of a browser that may count or ' +
      'change something, where a page of another origin sent it and no client has registered ' +
      'that origin: 403 `access_denied`, before anything is counted. Only `POST` to the ' +
      'authorization, logout and userinfo endpoints is taken from anywhere. They work without ' +
      'JavaScript. A form shows an error on its own page if another try can help. Any other error has a page of its ' +
      'own.',
    ...(await endpoints()).flatMap(section)
  ])
}

function errorsPage(): string {
  const wire = Object.entries(ERROR_MEANINGS).map(([code, meaning]) => [
    `\`${code}\``,
    String(new OAuthError(code as OAuthErrorCode, '').statusCode),
    meaning
  ])
  return page('Errors', [
    '## On the wire',
    'One shape for all: `{ "error": code, "error_description": sentence }`. Act on `error`; ' +
      'the sentence is for developers and may change. An answer of 405, 413 or 415 has ' +
      '`invalid_request`.',
    table(['error', 'status', 'meaning'], wire),
    '## At start',
    'A `StartError` with one of these as its `code`. The message says what to set.',
    table(
      ['code', 'meaning'],
      Object.entries(START_ERRORS).map(([code, meaning]) => [`\`${code}\``, meaning])
    ),
    '## In code',
    table(
      ['code', 'meaning'],
      Object.entries(OTHER_ERRORS).map(([code, meaning]) => [`\`${code}\``, meaning])
    ),
    '## In the log',
    'Every line of the plugin begins with `fastify-authority: `. Every line that an operator can act on has one of ' +
      'these as its `code`. A refused request (4xx) is a line at `debug`, `request refused`, with `error` and ' +
      '`detail`.',
    table(
      ['code', 'level and meaning'],
      Object.entries(LOG_CODES).map(([code, meaning]) => [`\`${code}\``, meaning])
    )
  ])
}

/** `source` is the text of lib/events.ts: payload types are not there at run time. */
function eventsPage(source: string): string {
  const rows = EVENT_NAMES.map((name) => {
    // On one line, or a field a line.
    const [, line, lines] = new RegExp(`^ {2}${name}: \\{(?: (.*) \\}$|\\n([^]*?)^ {2}\\}$)`, 'm').exec(source) ?? []
    if (line === undefined && lines === undefined) throw new Error(`no payload type of ${name}`)
    const fields = (line?.split(/[,;] /) ?? lines?.match(/^ {4}\w+\??:/gm) ?? []).map(
      (field) => field.trim().split(':')[0] ?? ''
    )
    return [`\`${name}\``, fields.map((field) => `\`${field}\``).join(', '), EVENT_MEANINGS[name]]
  })
  return page('Events', [
    '`app.authority.on(name, handler)` and `off`; each is also published on ' +
      '`node:diagnostics_channel` as `fastify-authority.<name>`. Payloads are frozen and carry ' +
      'no password, token or code. A handler that throws or rejects is logged and breaks no ' +
      'request.',
    'Every payload also has `time` (when it happened, in UTC as RFC 3339 writes it, by the ' +
      "clock that all instances share) and `requestId` (Fastify's `request.id`; " +
      '`requestIdHeader` lets callers choose it, so it is cut after 128 characters, and what is ' +
      'not visible ASCII becomes `_`). Where a request led to it, there are `ip` and `userAgent` ' +
      'too, cut after 64 and 256 characters; where none did, because `app.authority` was called ' +
      'or it happened by itself, `requestId` is `null`. A `sid` names a sign-in: a token family ' +
      'or a browser session, as `app.authority.sessions` lists them.',
    table(['event', 'payload', 'when'], rows)
  ])
}

/**
 * Path from the project's root, to content. `clientSource`: the text of each file of lib/client, by its name without
 * `.ts`.
 */
export async function references(
  eventsSource: string,
  clientSource: Readonly<Record<string, string>>
): Promise<Record<string, string>> {
  return {
    'docs/reference/options.md': await optionsPage(),
    'docs/reference/texts.md': textsPage(),
    'docs/reference/endpoints.md': await endpointsPage(),
    'docs/reference/errors.md': errorsPage(),
    'docs/reference/events.md': eventsPage(eventsSource),
    'docs/reference/command-line.md': commandLinePage(),
    'docs/reference/client.md': page('API of the browser client', clientPage(clientSource))
  }
}

function commandLinePage(): string {
  const config = [
    "import Database from 'libsql'",
    "import { sqliteAudit, sqliteState, sqliteUserStore } from 'fastify-authority'",
    '',
    "const db = new Database('users.db')",
    'const options = {',
    "  issuer: 'https://auth.example.com',",
    '  secret: process.env.AUTH_SECRET,',
    '  users: sqliteUserStore(db),',
    '  state: sqliteState(db),',
    '  audit: sqliteAudit(db)',
    '}',
    "export default { options, fastify: { trustProxy: '10.0.0.0/8' }, close: () => db.close() }"
  ]
  return page('Command line', [
    '`npx fastify-authority <command>` works on the stores of your app. Keep this in `fastify-authority.config.js`, ' +
      'or name another file by `--config`:',
    `\`\`\`js\n${config.join('\n')}\n\`\`\``,
    'Import the file in your app and register `options`, so that app and commands never differ. `fastify` has the ' +
      'options of the server; `close` ends what the file has opened. The export may be a function, also an async one.',
    table(
      ['command', 'effect'],
      COMMANDS.map((command) => [`\`${lineOfCommand(command)}\``, command.does])
    ),
    '`--json` prints JSON. `--reason` stands in the audit log, in at most 500 characters. Commands that end ' +
      'something ask for the name; `--yes` answers. No command takes or prints ' +
      'a password or a link. All but `doctor` and `migrate` refuse stores in memory, because only the app has them.',
    'Exit codes: 0 done, 1 refused or something found, 2 wrong use, 3 a store is out of reach or `sendMessage` ' +
      'failed. The error output has the checkpoints of `audit` and the errors of the log, one JSON object a line.'
  ])
}

function page(title: string, blocks: string[]): string {
  return [`# ${title}`, GENERATED, ...blocks].join('\n\n') + '\n'
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** A route's callers in words. */
function callersSentence(callers: Callers): string {
  switch (callers) {
    case 'anyone':
      return ''
    case 'own_page':
      return "Callers: pages of the issuer's own origin."
    case 'account':
      return (
        'Callers: the person, by an access token of no client or of a first-party one ' +
        "(`Authorization: Bearer`), or by the browser session from a page of the issuer's own " +
        'origin.'
      )
    case 'client':
      return 'Callers: clients with a secret or keys.'
    default:
      return 'scope' in callers
        ? `Callers: holders of an access token with the scope \`${callers.scope}\`.`
        : `Callers: administrators with the scope \`${callers.admin}\`.`
  }
}
