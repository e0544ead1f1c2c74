/** The full example: `npm start`. config.ts reads the environment. */
import { buildApp } from './app.ts'
import { type Config, ConfigError, readConfig } from './config.ts'
import { otherInstance } from './other-instance.ts'

const STOP_WITHIN_MS = 10_000

try {
  const config = readConfig(process.env)
  const app = await buildApp(config)
  if (config.otherPort !== undefined) {
    const other = await otherInstance(config.otherPort, config)
    app.addHook('onClose', async () => {
      await other.close()
    })
    await other.listen({ host: '127.0.0.1', port: config.otherPort })
  }

  let stopping = false
  const stop = (signal: NodeJS.Signals): void => {
    // A second signal does not wait.
    if (stopping) process.exit(1)
    stopping = true
    const drainMs = config.drainSeconds * 1000
    app.log.info({ signal, drainSeconds: config.drainSeconds }, 'stopping')
    app.leave()
    setTimeout(() => {
      process.exit(1)
    }, drainMs + STOP_WITHIN_MS).unref()
    setTimeout(() => {
      app.close().then(
        () => {
          process.exit(0)
        },
        (error: unknown) => {
          app.log.error({ err: error }, 'could not stop cleanly')
          process.exit(1)
        }
      )
    }, drainMs)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)

  await app.listen({ host: config.host, port: config.port })
  console.log(instructions(config, `http://localhost:${config.port}`))
} catch (error) {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const mendable =
    error instanceof ConfigError ||
    (error instanceof Error &&
      ['FST_AUTHORITY_INVALID_OPTIONS', 'FST_AUTHORITY_FOREIGN_STATE', 'EADDRINUSE'].includes(code))
  // Another PORT is another issuer, unless ISSUER is set.
  const hint =
    code === 'FST_AUTHORITY_FOREIGN_STATE'
      ? ' Here: start with the PORT and ISSUER of before, or begin anew without the folder data.'
      : ''
  console.error(mendable ? `The server can't start: ${error.message}${hint}` : error)
  process.exit(1)
}

function instructions({ bypass, capturesMails, issuer, otherPort, smtpUrl }: Config, local: string): string {
  const notes = [
    otherPort === undefined
      ? 'OTHER_PORT=3001 npm start also starts a second instance, to sign in with at this one.'
      : `The sign-in page has "the other instance", on http://127.0.0.1:${otherPort}: sign up there with any address.`,
    smtpUrl === undefined
      ? capturesMails
        ? `Mails are at ${new URL(issuer).origin}/dev/mails, and in this log.`
        : 'Messages are written to this log: open the link in them.'
      : 'Messages are sent by SMTP_URL.',
    ...(bypass.includes('127.0.0.0/8')
      ? [
          'Rate limits per address leave this machine alone (RATE_LIMIT_BYPASS= turns that off); those per account hold.'
        ]
      : []),
    'Stop with Ctrl-C.'
  ]
  return `
Open ${new URL(issuer).origin} in a browser: sign up, sign in, and try the two demo clients. Or try:

  curl -s ${local}/auth/register -H 'content-type: application/json' -d '{"username":"ann@example.com","password":"seven green boats at dawn"}'
  TOKENS=$(curl -s ${local}/auth/token -d grant_type=password -d username=ann@example.com --data-urlencode 'password=seven green boats at dawn')
  ACCESS_TOKEN=$(node -p "($TOKENS).access_token") REFRESH_TOKEN=$(node -p "($TOKENS).refresh_token")
  curl -s ${local}/me -H "authorization: Bearer $ACCESS_TOKEN"
  curl -s -X POST ${local}/auth/refresh -H "authorization: Bearer $REFRESH_TOKEN"
  curl -s ${local}/auth/sessions -H "authorization: Bearer $ACCESS_TOKEN"
  curl -s ${local}/auth/password-reset -H 'content-type: application/json' -d '{"username":"ann@example.com"}'

${notes.join(' ')}
`
}
