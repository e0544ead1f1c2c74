export interface Prose {
  what: string
  /** For pages and redirects, whose schema has no answers. */
  success?: string
  failures: string
}

/**
 * Prose for the reference that the schemas lack, by method and default path, in the order of the page. A route without
 * an entry, and an entry without a route, fail the test.
 */
export const PROSE: Readonly<Record<string, Prose>> = {
  'GET /auth/authorize': {
    what:
      'The authorization endpoint (RFC 6749 §4.1, OpenID Connect Core 1.0 §3.1.2): code flow, ' +
      'with PKCE by `S256`, which public clients always need. A browser goes here; it comes back ' +
      'to `redirect_uri` with `code`, `state` and `iss` (RFC 9207), in the query or as ' +
      '`response_mode` says. Who is not signed in gets the sign-in page first, and for a client ' +
      'with `firstParty: false` the consent page. Nothing is stored before somebody has signed ' +
      'in: the request is carried in the addresses of the pages, so any number of tabs work, and ' +
      'pages left open.\n\n`redirect_uri` is compared character by character; only the port of a ' +
      "loopback address may be another (RFC 8252 §7.3). What of `scope` can't be granted is left " +
      'out; without `scope` it is `openid`. `max_age`, `prompt`, `id_token_hint` and a `sub` of ' +
      'the `claims` parameter can ask for a new sign-in or another person. `prompt=create` leads ' +
      'to the sign-up page, whoever is signed in, and is an `invalid_request` where nobody can ' +
      'sign up (Initiating User Registration via OpenID Connect 1.0); `screen_hint=signup` leads ' +
      'there in place of the sign-in page. Parameters that are unknown are ignored.',
    success:
      '303 to the redirect URI, or to the sign-in or consent page; with ' +
      '`response_mode=form_post` 200, a page whose form posts there',
    failures:
      'to the redirect URI, with `error`: `invalid_request`, `invalid_scope`, ' +
      '`unauthorized_client`, `unsupported_response_type`, `login_required`, ' +
      '`interaction_required`, `consent_required`, `access_denied`, `request_not_supported`, ' +
      '`request_uri_not_supported`, `registration_not_supported`, ' +
      '`unmet_authentication_requirements`, `temporarily_unavailable`. On a page, and never by a ' +
      'redirect: 400 `invalid_client` or `invalid_request` for an unknown client, a redirect URI ' +
      'that is not registered, or a repeated parameter; 503 `temporarily_unavailable`'
  },
  'POST /auth/authorize': {
    what:
      'The same with the parameters in a form. Answered by a redirect to the GET, for a form of ' +
      'another site brings no session cookie.',
    success: '303 to `GET /auth/authorize`',
    failures: 'on a page: 400, 413, 415 `invalid_request`'
  },
  'GET /auth/logout': {
    what:
      'Signs out (OpenID Connect RP-Initiated Logout 1.0): at once with an `id_token_hint` of ' +
      'this session, else a page asks first. The browser session ends with the tokens that came ' +
      'of it, but for those with `offline_access` of other clients; clients that took part and ' +
      'have a `backchannelLogoutUri` are told. Back to `post_logout_redirect_uri` where it is ' +
      'registered for the client, compared character by character.',
    success: '200, a page that asks, or says that nobody is signed in; 303 to the registered URI',
    failures:
      'on a page, and nobody is signed out: 400 `invalid_request` (a hint that is not ours or ' +
      "another client's, an unknown client, a URI that is not registered); 503 " +
      '`temporarily_unavailable`'
  },
  'POST /auth/logout': {
    what:
      "A client's own form, or its server's request, with the parameters of the GET. With an " +
      '`id_token_hint` of a session that is alive it signs out at once; any other becomes the ' +
      'GET. With `decision=sign_out`, from our own page, it signs out.',
    success: '303 to the GET or to the registered URI; 200, a page',
    failures: 'as with GET; on a page: 403 `access_denied` (a form of another site); 413, 415 `invalid_request`'
  },
  'GET /auth/connect/:id': {
    what:
      'Begins a sign-in at the provider of this connection. A link of a page of this origin, ' +
      "whose address carries the authorization request or `return_to` as the sign-in page's " +
      'does; what comes from elsewhere is led to the sign-in page. What was begun is in a sealed ' +
      'cookie for ten minutes; a browser has two of them at most.',
    success: '303 to the provider',
    failures:
      'on a page: 400 `invalid_request` (the request is too long to be carried), ' +
      '`invalid_client`; 404 `not_found` (unknown or turned off); 503 `temporarily_unavailable` ' +
      "(the provider can't be reached)"
  },
  'GET /auth/connect/:id/callback': {
    what:
      'Where the provider sends the browser back: `<issuer><prefix>/connect/<id>/callback` is ' +
      'the redirect URI to register there. The answer is checked against the cookie of the flow, ' +
      '`state`, `iss`, the connection and the ID token before anybody is looked up. Signs in ' +
      'whom the identity leads to, registers a new person where the connection may, and leads to ' +
      'the confirm page where an account has the address. The cookies are cleared whatever ' +
      'becomes of it.',
    success:
      '303 to where the sign-in came from, or to the confirm page; for an authorization request ' +
      '200, a page that goes on to it',
    failures:
      'on a page with the way back to the sign-in: 400 `invalid_request` (no sign-in has begun ' +
      'in this browser, it took too long, or the answer is to another), `connection_denied`; 403 ' +
      '`access_denied` (a disabled connection or account, closed registration, an address that ' +
      'is not taken, an identity of another user); 404 `not_found`; 429 `too_many_requests`; 502 ' +
      '`connection_failed`; 503 `temporarily_unavailable`'
  },
  'POST /auth/connect/:id/callback': {
    what:
      'The same by `response_mode=form_post`, as Apple answers. Browsers send no `Lax` cookie ' +
      'with the form of another site, so the answer is sealed into a cookie for a minute and ' +
      'nothing is looked at before the browser asks again.',
    success: '303 to the same path with `state` alone',
    failures: 'on a page: 400 `invalid_request`; 404 `not_found`; 413, 415 `invalid_request`'
  },
  'GET /auth/connect/confirm': {
    what:
      'Somebody has signed in at a provider, and an account has the address: says how to sign in ' +
      'as its owner, or, once that is done, asks whether to link the two. Or a new account must ' +
      'have fields that the provider did not say: asks for them.',
    success: '200, a page; 303 to the sign-in page where nothing is waited for',
    failures: '503 `temporarily_unavailable`'
  },
  'POST /auth/connect/confirm': {
    what:
      'The form of that page. Links only the identity that was proved, to the account whose ' +
      'address it has, in a session of its owner that is no older than five minutes. Whatever ' +
      'else was open of the account ends: somebody else may have signed up with the address.',
    success: '303 to where the sign-in came from; 200, the page, where the owner has not signed in',
    failures:
      "on a page: 400 `invalid_request` (a field); 403 `access_denied` (another site's form; as " +
      'with the callback); 413, 415 `invalid_request`; 429 `too_many_requests`'
  },
  'POST /auth/connect/:id/link': {
    what:
      'Begins a sign-in that is linked to who is signed in, by a session of at most five ' +
      'minutes; it has to come back to the same session. From a form of this origin alone.',
    success: '200, a page that goes on to the provider; 303 to the sign-in page where the session is older',
    failures:
      "on a page: 403 `access_denied` (another site's form); 404 `not_found`; 413, 415 " +
      '`invalid_request`; 503 `temporarily_unavailable`'
  },
  'GET /auth/login': {
    what:
      'The sign-in page. Its address carries the authorization request, or `return_to`, a path ' +
      "of this origin. With `pages.loginUrl` it leads to the host's own page instead, which gets " +
      '`return_to`, and `login_hint` and `ui_locales` where they were sent; it goes on there ' +
      'after `app.authority.signIn`.',
    success: '200, a page; with `pages.loginUrl` 303',
    failures: '400 `invalid_client`, `invalid_request`, as at the authorization endpoint'
  },
  'POST /auth/login': {
    what:
      'Signs in by the form of that page: a session cookie, a new one each time, and on to where ' +
      'the sign-in came from, else to `pages.home`. Exists where there is no `pages.loginUrl`. ' +
      'Shares the limits of the password grant. Where the e-mail address must be confirmed ' +
      'first, the page says so after the right password and has a second form, with `token` and ' +
      '`decision=resend`, that sends the message again. Where passkeys are on, a third form ' +
      'signs in by `credential` alone, what a passkey answered; wrong ones count under the rule ' +
      '`refresh`.',
    success: '303 onward',
    failures:
      'shown on the page, with the name kept: 400 `invalid_grant`, `invalid_request`; 429 ' +
      '`too_many_requests` (rules `login` and `account`); 503 `temporarily_unavailable`. On a ' +
      'page of their own: 403 `access_denied` (a form of another site); 413, 415 ' +
      '`invalid_request`'
  },
  'GET /auth/second-factor': {
    what:
      'The page that asks for the second factor, after the right password or a sign-in at ' +
      'another provider: nobody is signed in yet. It asks as well whoever is signed in without ' +
      'it, and adds it to that session, under a new secret. Exists with the option `factors`. ' +
      'Who has given no first factor in the last ten minutes and is not signed in is led to the ' +
      'sign-in page.',
    success: '200, a page; 303 to the sign-in page',
    failures: '400 `invalid_client`, `invalid_request`, as at the authorization endpoint; 503 `temporarily_unavailable`'
  },
  'POST /auth/second-factor': {
    what:
      'Signs in by the form of that page: `code`, six digits that an authenticator app shows, ' +
      '`recovery_code`, or `credential`, what a passkey of the person answered. Spaces and ' +
      "hyphens don't count.",
    success: '303 onward',
    failures:
      'shown on the page: 400 `invalid_code` (it can be no code), `invalid_grant` (it is wrong, ' +
      'or was used), `invalid_request`; 429 `too_many_requests` (rule `secondFactor`); 503 ' +
      '`temporarily_unavailable`. On a page of their own: 403 `access_denied` (a form of another ' +
      'site); 413, 415 `invalid_request`'
  },
  'GET /auth/passkey-prompt': {
    what:
      'The page that proposes a passkey after a sign-in by password, in a browser that can make ' +
      'one, to somebody who has none; once in 30 days and browser. Exists with ' +
      '`passkeys.prompt`. Who is not signed in, signed in more than five minutes ago or has a ' +
      'passkey is led on at once.',
    success: '200, a page; 303 onward',
    failures: '400 `invalid_client`, `invalid_request`, as at the authorization endpoint; 503 `temporarily_unavailable`'
  },
  'POST /auth/passkey-prompt': {
    what:
      'Stores the passkey that the browser made with the options of that page: `credential`, ' +
      'with `name` for it. The first second factor of a person ends all their other sign-ins, ' +
      'and the answer shows the recovery codes.',
    success: '303 onward; 200, a page with the recovery codes',
    failures:
      'shown on the page: 400 `invalid_request`, `invalid_credential`; 401 `login_required`; 409 ' +
      '`duplicate_factor`, `factor_limit`; 503 `temporarily_unavailable`. On a page of their ' +
      'own: 403 `access_denied` (a form of another site); 413, 415 `invalid_request`'
  },
  'GET /auth/reauthenticate': {
    what:
      'The page on which somebody who is signed in proves anew that it is them, for what takes a ' +
      'sign-in of just now, and goes on to `return_to`, a path of this origin. ' +
      "`app.authority.requireSession` and the account pages lead here. The name can't be " +
      'changed. A passkey of the person is asked for, too; whoever signs in through other ' +
      'providers gets their buttons, and whoever has no password, where there is `emailSignIn`, ' +
      'a code to the address of the account. Each is good for this person alone: somebody else ' +
      'who signs in at the provider is refused (403 `access_denied`, on a page with the way ' +
      "back), and so is somebody else's passkey. Whoever has none of these is led to the sign-in " +
      'page with `prompt=login`, as is everybody where there is `pages.loginUrl`, without this ' +
      'page.',
    success: '200, a page; 303 to the sign-in page where nobody is signed in',
    failures: '400 `invalid_client`, `invalid_request`, as at the authorization endpoint; 503 `temporarily_unavailable`'
  },
  'POST /auth/reauthenticate': {
    what:
      'Proves it by the form of that page: `current_password`, `credential` (the answer of a ' +
      'passkey, as on the sign-in page), or `decision=email`, which sends the code and leads to ' +
      '`/auth/email-code`. After a password or a code comes the second factor on its own page ' +
      'where the account has one, also in a browser that is remembered. The session goes on ' +
      'under a new secret, and rests on these proofs.',
    success: '303 onward',
    failures:
      'shown on the page: 400 `invalid_grant`, `invalid_request`; 429 `too_many_requests` (rules ' +
      '`login`, `account` and `emailCode`); 503 `temporarily_unavailable`. On a page of their ' +
      'own: 403 `access_denied` (a form of another site); 413, 415 `invalid_request`'
  },
  'GET /auth/email-code': {
    what:
      'The page of sign-in codes: it asks for an address, then for the code that was sent there, ' +
      'and where nobody has the address and `emailSignIn.signUp` is set for what an account must ' +
      'have. Exists with the option `emailSignIn`.',
    success: '200, a page',
    failures: '400 `invalid_client`, `invalid_request`, as at the authorization endpoint'
  },
  'POST /auth/email-code': {
    what:
      'Sends a code to the account of `username`, or takes the `code`, which is good in the ' +
      'browser alone that asked for it. White space in it does not count. A `decision` of ' +
      '`resend` sends another one, and `other` begins again. The answer tells nothing of whether ' +
      'there is such an account. Whoever has a second factor is asked for it then.',
    success: '303 to the same page, or onward',
    failures:
      'shown on the page: 400 `invalid_code` (it is wrong, was used, has expired, or five wrong ' +
      'ones were entered), `invalid_request`; 429 `too_many_requests` (rules `emailCode`, ' +
      '`login` and `register`); 503 `temporarily_unavailable`. On a page of their own: 403 ' +
      '`access_denied` (a form of another site); 413, 415 `invalid_request`'
  },
  'GET /auth/email-link': {
    what:
      'Where the link of a `sign_in_code` message leads: a page with a button in the browser ' +
      'that asked for it, and in any other one that says so. Opening it uses nothing up and ' +
      'signs nobody in; `HEAD` works too. Exists with the option `emailSignIn`.',
    success: '200, a page',
    failures: '400 `invalid_token` (it is none, or has expired)'
  },
  'POST /auth/email-link': {
    what: 'Signs in by the button of that page.',
    success: '303 onward; 200, the page, in another browser',
    failures:
      'shown on the page: 400 `invalid_code`; 429 `too_many_requests` (rule `login`); 503 ' +
      '`temporarily_unavailable`. On a page of their own: 400 `invalid_token`; 403 ' +
      '`access_denied` (a form of another site); 413, 415 `invalid_request`'
  },
  'GET /auth/second-factor/link': {
    what:
      'Where a link of `app.authority.startEnrolment` leads: a page with a button. Opening it ' +
      'uses nothing up; `HEAD` works too. Exists with the option `factors`.',
    success: '200, a page',
    failures:
      '400 `invalid_token` (it is none, was used, has expired after 24 hours, or the account is ' +
      'not as it was: another password, a second factor, another link, disabled); 503 ' +
      '`temporarily_unavailable`'
  },
  'POST /auth/second-factor/link': {
    what:
      'Uses the link up by the button of that page. Nobody is signed in: for an hour, whoever ' +
      'signs in in this browser as the user of the link is led to `/auth/second-factor/set-up` ' +
      'before there is a session.',
    success: '303 to the sign-in page, with a cookie',
    failures:
      'shown on the page: 429 `too_many_requests` (rule `refresh`); 503 ' +
      '`temporarily_unavailable`. On a page of their own: 400 `invalid_token`; 403 ' +
      '`access_denied` (a form of another site); 413, 415 `invalid_request`'
  },
  'GET /auth/second-factor/set-up': {
    what:
      'The page that a sign-in leads to where `mfa.required`, or a link of ' +
      '`app.authority.startEnrolment`, wants a second factor and the person has none: a new key ' +
      'for an authenticator app, as QR code, as text and as a link, and a form that makes a ' +
      'passkey in its place where `mfa.methods` has `passkey` and passkeys are on. Nobody is ' +
      'signed in yet, and nothing is stored. Where the address of the account is to be confirmed ' +
      'first, it says so, but not to who comes by the link. Whoever has given no first factor in ' +
      'the last ten minutes and has no session of the last five, or has a second factor by now, ' +
      'is led to the sign-in page. Exists with the option `factors`.',
    success: '200, a page; 303 to the sign-in page',
    failures: '400 `invalid_client`, `invalid_request`, as at the authorization endpoint; 503 `temporarily_unavailable`'
  },
  'POST /auth/second-factor/set-up': {
    what:
      'Sets up the app by the form of that page: `code`, six digits that the app shows now, ' +
      '`enrolment` from the page and a `name`; or makes a passkey by `credential`, what the ' +
      'browser answered. Then the person is signed in, with both factors, and all other sign-ins ' +
      'of theirs end. `decision=resend` sends the message that confirms the address again.',
    success:
      '200, a page with the recovery codes, which are shown once, and the way on; 303 onward where there are none',
    failures:
      'shown on the page: 400 `invalid_code`, `invalid_credential`, `invalid_token` (the ' +
      'enrolment), `invalid_request`; 401 `login_required`; 403 `access_denied` (the address is ' +
      'not confirmed); 503 `temporarily_unavailable`. On a page of their own: 403 ' +
      '`access_denied` (a form of another site); 413, 415 `invalid_request`'
  },
  'GET /auth/signup': {
    what:
      'The sign-up page, with the fields of `registration.fields` that a form can hold. Exists ' +
      'where `POST /auth/register` does and there is no `pages.loginUrl`.',
    success: '200, a page',
    failures: '400 `invalid_client`, `invalid_request`, as at the authorization endpoint'
  },
  'POST /auth/signup': {
    what:
      'Creates an account as `POST /auth/register` does, and signs the new user in. With ' +
      '`registration.verifyEmail` nobody is signed in, and the page says that a message is on ' +
      'its way, whoever asks.',
    success: '303 onward; with `registration.verifyEmail` 202, the page',
    failures:
      'shown on the page, with what was typed kept but for the password: 400 `invalid_request`, ' +
      '`invalid_password`; 409 `username_taken`; 429 `too_many_requests` (rule `register`); 503 ' +
      '`temporarily_unavailable`. On a page of their own: 403 `access_denied` (a form of another ' +
      'site); 413, 415 `invalid_request`'
  },
  'GET /auth/account': {
    what:
      "The page of a person's own account: who is signed in, and the ways to the pages below. " +
      'Who is not signed in in this browser is led to the sign-in page and back; access tokens ' +
      "don't count here. `return_to`, a path of the issuer's origin, is where its way back " +
      'leads. Exists unless `pages.account` is `false`.',
    success: '200, a page; 303 to the sign-in page',
    failures: '503 `temporarily_unavailable`'
  },
  'GET /auth/account/profile': {
    what:
      'The page of the profile fields that people may change by themselves. Exists where `GET ' +
      '/auth/account` and `PATCH /auth/profile` do. Who is not signed in in this browser is led ' +
      "to the sign-in page and back; access tokens don't count here.",
    success: '200, a page; 303 to the sign-in page',
    failures: '503 `temporarily_unavailable`'
  },
  'POST /auth/account/profile': {
    what:
      'Changes the profile as `PATCH /auth/profile` does. A field that comes back as the page ' +
      'showed it is not changed; one that is empty is removed. The address of the form names the ' +
      'sign-in that the page was shown to: posted under any other it does nothing, and says so.',
    success: '303 to the page',
    failures:
      'shown on the page: 400 `invalid_request`; 503 `temporarily_unavailable`. On a page of ' +
      'their own: 403 `access_denied` (a form of another site); 413, 415 `invalid_request`'
  },
  'GET /auth/account/email': {
    what:
      "The page of the person's e-mail address. Exists where `GET /auth/account` and one of " +
      '`POST /auth/email` and `POST /auth/email/resend` do. Who is not signed in in this browser ' +
      "is led to the sign-in page and back; access tokens don't count here.",
    success: '200, a page; 303 to the sign-in page',
    failures: '503 `temporarily_unavailable`'
  },
  'POST /auth/account/email': {
    what:
      'Asks for another address as `POST /auth/email` does; where the sign-in is more than five ' +
      'minutes old, with `current_password`. With `decision=resend`, sends the confirmation ' +
      'again as `POST /auth/email/resend` does. The address of the form names the sign-in that ' +
      'the page was shown to: posted under any other it does nothing, and says so.',
    success: '303 to the page',
    failures:
      'shown on the page: 400 `invalid_request`, `invalid_grant`; 401 ' +
      '`insufficient_user_authentication`; 429 `too_many_requests` (rules `passwordReset`, ' +
      '`login` and `account`); 503 `temporarily_unavailable`. On a page of their own: 403 ' +
      '`access_denied` (a form of another site); 413, 415 `invalid_request`'
  },
  'GET /auth/account/password': {
    what:
      'The page for a new password. Exists where `GET /auth/account` and `POST /auth/password` ' +
      'do. Who is not signed in in this browser is led to the sign-in page and back; access ' +
      "tokens don't count here.",
    success:
      '200, a page; 303 to the sign-in page, or to `/auth/account` for an account without a ' +
      'password to which no link can be sent',
    failures: '503 `temporarily_unavailable`'
  },
  'POST /auth/account/password': {
    what:
      'Changes the password as `POST /auth/password` does, under one limit with it. With ' +
      '`decision=first`, for an account without a password, sends the link of a password reset, ' +
      'under the rule `passwordReset`. The address of the form names the sign-in that the page ' +
      'was shown to: posted under any other it does nothing, and says so.',
    success: '303 to the page',
    failures:
      'shown on the page: 400 `invalid_request`, `invalid_grant`, `invalid_password`; 429 ' +
      '`too_many_requests` (rules `login` and `account`); 503 `temporarily_unavailable`. On a ' +
      'page of their own: 403 `access_denied` (a form of another site); 413, 415 ' +
      '`invalid_request`'
  },
  'GET /auth/account/connections': {
    what:
      'The accounts at other providers that the person signs in with, and the ways to connect ' +
      'another. Exists where `GET /auth/account` does and there are `connections`. Who is not ' +
      "signed in in this browser is led to the sign-in page and back; access tokens don't count " +
      'here.',
    success: '200, a page; 303 to the sign-in page',
    failures: '503 `temporarily_unavailable`'
  },
  'POST /auth/account/connections': {
    what:
      'Disconnects the account of the id `link`, as `DELETE /auth/connections/:id` does; with a ' +
      'sign-in that is older than five minutes `current_password` is needed. One that is not ' +
      'there is gone. The address of the form names the sign-in that the page was shown to: ' +
      'posted under any other it does nothing, and says so.',
    success: '303 to the page',
    failures:
      'shown on the page: 400 `invalid_request`, `invalid_grant`; 401 ' +
      '`insufficient_user_authentication`; 409 `last_sign_in_method`; 429 `too_many_requests` ' +
      '(rules `login` and `account`); 503 `temporarily_unavailable`. On a page of their own: 403 ' +
      '`access_denied` (a form of another site); 413, 415 `invalid_request`'
  },
  'GET /auth/account/sessions': {
    what:
      "The person's sign-ins in browsers and apps, with the one of this browser marked. Exists " +
      'where `GET /auth/account` does. Who is not signed in in this browser is led to the ' +
      "sign-in page and back; access tokens don't count here.",
    success: '200, a page; 303 to the sign-in page',
    failures: '503 `temporarily_unavailable`'
  },
  'POST /auth/account/sessions': {
    what:
      'Ends the sign-in of the id `session`; with `decision=end_others` all but that of this ' +
      'browser, with `decision=end_all` that too. One that is not there has ended; those of ' +
      'other people are not touched. The address of the form names the sign-in that the page was ' +
      'shown to: posted under any other it does nothing, and says so.',
    success: '303 to the page; where the sign-in of this browser has ended, to the sign-in page',
    failures:
      'shown on the page: 400 `invalid_request`; 503 `temporarily_unavailable`. On a page of ' +
      'their own: 403 `access_denied` (a form of another site); 413, 415 `invalid_request`'
  },
  'GET /auth/account/access': {
    what:
      'The clients of other people that the person has allowed something. Exists where `GET ' +
      '/auth/account` and redirect login do. Who is not signed in in this browser is led to the ' +
      "sign-in page and back; access tokens don't count here.",
    success: '200, a page; 303 to the sign-in page',
    failures: '503 `temporarily_unavailable`'
  },
  'POST /auth/account/access': {
    what:
      'Takes back what `client` was allowed, and ends all that it was given for the person. The ' +
      'address of the form names the sign-in that the page was shown to: posted under any other ' +
      'it does nothing, and says so.',
    success: '303 to the page',
    failures:
      'shown on the page: 400 `invalid_request`; 503 `temporarily_unavailable`. On a page of ' +
      'their own: 403 `access_denied` (a form of another site); 413, 415 `invalid_request`'
  },
  'GET /auth/security': {
    what:
      "The person's authenticator apps and how many recovery codes are left. Exists where `GET " +
      '/auth/account` does and `factors` is set. Who is not signed in in this browser is led to ' +
      'the sign-in page.',
    success: '200, a page; 303 to the sign-in page',
    failures: '503 `temporarily_unavailable`'
  },
  'POST /auth/security': {
    what:
      'With `decision=rename`, `factor` and `name`: another name for an app. With ' +
      '`decision=remove` and `factor`: removes it. With `decision=codes`: new recovery codes, ' +
      'which the answer shows, in place of all that there are. Takes a sign-in of the last five ' +
      'minutes, with the second factor where there is one.',
    success: '303 to the page; 200, a page with the codes',
    failures:
      'shown on the page: 400 `invalid_request`; 401 `insufficient_user_authentication`; 404 ' +
      '`not_found`; 409 `invalid_request`; 503 `temporarily_unavailable`. On a page of their ' +
      'own: 403 `access_denied` (a form of another site); 413, 415 `invalid_request`'
  },
  'GET /auth/security/passkeys': {
    what:
      'The page to add a passkey. Exists where `GET /auth/security` does and passkeys are on. It ' +
      'claims the handle by which authenticators know the person, and stores nothing else. A ' +
      'sign-in that is older than five minutes, or lacks the second factor of the account, is ' +
      'asked for anew.',
    success: '200, a page; 303 to the sign-in page',
    failures: '503 `temporarily_unavailable`'
  },
  'POST /auth/security/passkeys': {
    what:
      'Stores the passkey that the browser made with the options of that page: `credential`, ' +
      'with `name` for it. The first second factor of a person ends all their other sign-ins, ' +
      'and the answer shows the recovery codes.',
    success: '200, a page with the recovery codes; 303 where there were some',
    failures:
      'shown on the page: 400 `invalid_request`, `invalid_credential`; 401 ' +
      '`insufficient_user_authentication`, `login_required`; 409 `duplicate_factor`, ' +
      '`factor_limit`; 503 `temporarily_unavailable`. On a page of their own: 403 ' +
      '`access_denied` (a form of another site); 413, 415 `invalid_request`'
  },
  'GET /auth/security/totp': {
    what:
      'The page to set up an authenticator app, with the key as QR code, as text and as a link. ' +
      'Nothing is stored for it. Exists where `GET /auth/security` does. A sign-in that is older ' +
      'than five minutes, or lacks the second factor of the account, is asked for anew.',
    success: '200, a page; 303 to the sign-in page',
    failures: '503 `temporarily_unavailable`'
  },
  'POST /auth/security/totp': {
    what:
      'Stores the app of that page once `code` is right, with `name` for it. The first one of a ' +
      'person ends all their other sign-ins, and the answer shows the recovery codes.',
    success: '200, a page with the recovery codes; 303 where there were some',
    failures:
      'shown on the page: 400 `invalid_request`, `invalid_code`, `invalid_token` (the page is ' +
      'older than ten minutes); 409 `factor_limit`; 503 `temporarily_unavailable`. On a page of ' +
      'their own: 403 `access_denied` (a form of another site); 413, 415 `invalid_request`'
  },
  'GET /auth/account/remove': {
    what:
      'The page that asks whether to delete the account. Exists where `GET /auth/account` and ' +
      '`DELETE /auth/account` do. Who is not signed in in this browser is led to the sign-in ' +
      "page and back; access tokens don't count here.",
    success: '200, a page; 303 to the sign-in page',
    failures: '503 `temporarily_unavailable`'
  },
  'POST /auth/account/remove': {
    what:
      'Removes the account as `DELETE /auth/account` does. It always takes `current_password`; ' +
      'an account without a password, a sign-in of the last five minutes. The address of the ' +
      'form names the sign-in that the page was shown to: posted under any other it does ' +
      'nothing, and says so.',
    success: '303 to the page, which says that it is done',
    failures:
      'shown on the page: 400 `invalid_request`, `invalid_grant`; 401 ' +
      '`insufficient_user_authentication`; 429 `too_many_requests` (rules `login` and ' +
      '`account`); 503 `temporarily_unavailable`. On a page of their own: 403 `access_denied` (a ' +
      'form of another site); 413, 415 `invalid_request`'
  },
  'GET /auth/forgot-password': {
    what: 'The page for a forgotten password. Exists where `POST /auth/password-reset` does.',
    success: '200, a page',
    failures: '400 `invalid_client`, `invalid_request`, as at the authorization endpoint'
  },
  'POST /auth/forgot-password': {
    what: 'Sends a message with a link, as `POST /auth/password-reset` does. One answer for all who ask.',
    success: '202, the page',
    failures:
      'shown on the page: 400 `invalid_request`; 429 `too_many_requests` (rule `passwordReset`); ' +
      '503 `temporarily_unavailable`. On a page of their own: 403 `access_denied` (a form of ' +
      'another site); 413, 415 `invalid_request`'
  },
  'GET /auth/reset-password': {
    what:
      'Where the link of a reset message leads. To open it uses nothing up, for mail programs do ' +
      'that too. HEAD is answered alike.',
    success: '200, a page',
    failures: 'on a page: 400 `invalid_token`; 503 `temporarily_unavailable`'
  },
  'POST /auth/reset-password': {
    what: 'Sets the new password, as `POST /auth/password-reset/confirm` does. Signs nobody in.',
    success: '200, the page',
    failures:
      'shown on the page: 400 `invalid_password`, `invalid_request`; 429 `too_many_requests` ' +
      '(rule `refresh`); 503 `temporarily_unavailable`. On a page of their own: 400 ' +
      '`invalid_token`; 403 `access_denied` (a form of another site); 413, 415 `invalid_request`'
  },
  'GET /auth/verify-email': {
    what:
      'Where the link of a confirmation message leads: a page with one button. To open it uses ' +
      'nothing up. HEAD is answered alike. Exists where `POST /auth/email/verify` does.',
    success: '200, a page',
    failures: 'on a page: 400 `invalid_token`; 503 `temporarily_unavailable`'
  },
  'POST /auth/verify-email': {
    what:
      'Confirms the e-mail address, as `POST /auth/email/verify` does. With `decision=not_me`, ' +
      "for who did not sign up, it ends the account's password and all its sessions; the address " +
      'stays unconfirmed. For a new address of an account it uses the link up, and the account is told.',
    success: '200, the page',
    failures:
      'on a page: 400 `invalid_token`; 429 `too_many_requests` (rule `refresh`); 503 ' +
      '`temporarily_unavailable`; 403 `access_denied` (a form of another site); 413, 415 ' +
      '`invalid_request`'
  },
  'GET /auth/undo': {
    what:
      'Where "that was not me" leads: the link of the message `factor_added` about the first ' +
      'factor of an account, and of `email_changed`. The link is good for 72 hours. To open it ' +
      'uses nothing up. HEAD is answered alike. Exists where `GET /auth/reset-password` does.',
    success: '200, a page',
    failures: 'on a page: 400 `invalid_token`; 503 `temporarily_unavailable`'
  },
  'POST /auth/undo': {
    what:
      'Takes it back, once, ends all sign-ins and sends a link for a new password. The first factor goes with all ' +
      'factors that were added after it. The address is the former one again, and all links to other providers end.',
    success: '200, the page',
    failures:
      'on a page: 400 `invalid_token`; 429 `too_many_requests` (rule `refresh`); 503 ' +
      '`temporarily_unavailable`; 403 `access_denied` (a form of another site); 413, 415 ' +
      '`invalid_request`'
  },
  'GET /auth/consent': {
    what:
      'What a client with `firstParty: false` may do: its name, the scopes, and for how long. An ' +
      "app on a device (`applicationType: 'native'`) that is the host's own asks here whether to " +
      'continue. Its address carries the authorization request, which is decided anew. A consent ' +
      'is remembered for a year, unless the client asks for more, or it is taken back by ' +
      '`app.authority.revokeConsent`.',
    success: '200, a page; 303 where there is nothing to ask',
    failures: 'as at the authorization endpoint'
  },
  'POST /auth/consent': {
    what:
      'Allows or denies by the form of that page, and answers the client. A decision of somebody ' +
      'who is no longer the one signed in is asked for again.',
    success:
      '303 onward, or back to the client with `access_denied`; with `response_mode=form_post` ' +
      '200, a page whose form posts there',
    failures:
      'as at the authorization endpoint; on a page: 403 `access_denied` (a form of another ' +
      'site); 413, 415 `invalid_request`'
  },
  'GET /auth/pages.css': {
    what: 'The stylesheet of the hosted pages. Kept for a year under the version that the pages ask for.',
    success: '200; 304',
    failures: 'none of its own'
  },
  'GET /auth/pages.js': {
    what: 'Their script, which only adds to what works without.',
    success: '200; 304',
    failures: 'none of its own'
  },
  'GET /auth/passkeys.js': {
    what:
      'The script of the pages that ask for a passkey, at most 1 kB by gzip. Exists where ' +
      'passkeys are on. The policy of the sign-in page lets it load `GET ' +
      '/auth/passkey-challenge` and nothing else.',
    success: '200; 304',
    failures: 'none of its own'
  }
}
